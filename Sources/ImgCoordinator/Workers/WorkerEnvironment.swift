/// The environment of a worker: the variables of the coordinator that have a use there, and no others,
/// because they may be secrets, such as the tokens of a shell or of a container.
enum WorkerEnvironment {
  private static let inheritedVariables: Set = [
    // Where the loader finds libraries (ld.so(8)).
    "LD_LIBRARY_PATH",
    // The C library: memory (mallopt(3)), texts (locale(7)), time zones (tzset(3)), and names of hosts
    // (resolv.conf(5), host.conf(5), hostname(7)).
    "GLIBC_TUNABLES", "HOSTALIASES", "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LOCALDOMAIN",
    "LOCPATH", "MALLOC_ARENA_MAX", "RESOLV_ADD_TRIM_DOMAINS", "RESOLV_HOST_CONF", "RESOLV_MULTI",
    "RESOLV_OVERRIDE_TRIM_DOMAINS", "RESOLV_REORDER", "RES_OPTIONS", "TZ", "TZDIR",
    // TLS libraries: their configuration, and certificates of authorities (openssl-env(7)).
    "GNUTLS_SYSTEM_PRIORITY_FILE", "NIX_SSL_CERT_FILE", "OPENSSL_CONF", "OPENSSL_ENGINES",
    "OPENSSL_MODULES", "SSL_CERT_DIR", "SSL_CERT_FILE",
  ]

  /// - Parameter environment: the coordinator's.
  static func variables(from environment: [String: String]) -> [String: String] {
    var variables = environment.filter { inheritedVariables.contains($0.key) }
    // The backtracer would keep a crashed worker and its memory for seconds.
    variables["SWIFT_BACKTRACE"] = "enable=no"
    return variables
  }
}
