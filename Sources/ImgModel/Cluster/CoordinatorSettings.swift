/// The settings of a coordinator except its limits, its socket and its data directory.
package struct CoordinatorSettings: Hashable, Sendable, Codable {
  /// The path of the worker program.
  package let workerExecutable: String
  /// How long the coordinator runs without clients and jobs; `nil` for no limit.
  @OptionalMilliseconds package private(set) var idleExit: Duration?
  /// The networks with non-public addresses that workers may fetch from, in CIDR notation.
  package let allowedNetworks: [String]
  /// The directories whose files `file:` URLs may name.
  package let allowedDirectories: [String]
  /// A PEM file of the trusted certificate authorities; `nil` for those of the system.
  package let authorityFile: String?
  /// The proxies of the workers, without their credentials.
  package let proxies: ProxySettings
  /// Whether decoders must be sandboxed completely to decode.
  package let requiresSandbox: Bool

  package init(
    workerExecutable: String, idleExit: Duration?, allowedNetworks: [String],
    allowedDirectories: [String], authorityFile: String?, proxies: ProxySettings = .none,
    requiresSandbox: Bool
  ) {
    self.workerExecutable = workerExecutable
    self.idleExit = idleExit
    self.allowedNetworks = allowedNetworks
    self.allowedDirectories = allowedDirectories
    self.authorityFile = authorityFile
    self.proxies = proxies.withoutCredentials
    self.requiresSandbox = requiresSandbox
  }

  private enum CodingKeys: String, CodingKey {
    case workerExecutable = "worker_executable"
    case idleExit = "idle_exit_ms"
    case allowedNetworks = "allow_network"
    case allowedDirectories = "allow_directory"
    case authorityFile = "ca_file"
    case proxies = "proxy"
    case requiresSandbox = "require_sandbox"
  }
}
