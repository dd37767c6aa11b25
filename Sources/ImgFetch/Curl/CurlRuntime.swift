internal import CCurl
internal import Glibc
internal import ImgModel
internal import ImgSystem

/// Proof that libcurl is initialised, which a ``TransferPool`` requires.
package struct CurlRuntime: Sendable {
  private init() {}

  /// Initialises libcurl, and loads the libraries that look up host names. Call it in `main`, before any
  /// other thread starts: curl_global_init(3) sets up libraries whose own initialisation need not be safe
  /// beside other threads. There is no counterpart: the process keeps libcurl until it ends.
  ///
  /// It also sets the kind of characters the process writes to UTF-8, as URLs are: libcurl reads a
  /// host name such as `bücher.example` by the locale, and the one that a program starts with knows
  /// ASCII alone (idn2_lookup_ul(3), setlocale(3)).
  package static func start() throws(CurlError) -> CurlRuntime {
    guard unsafe setlocale(LC_CTYPE, "C.UTF-8") != nil else {
      throw CurlError(operation: "setlocale", reason: "the C library has no C.UTF-8")
    }
    let code = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
    guard code == CURLE_OK else { throw CurlError(operation: "curl_global_init", code: code) }
    NameServices.load()
    return CurlRuntime()
  }
}

/// The libraries by which the C library looks up host names (nsswitch.conf(5)). It loads each at the
/// first look-up that needs it, and a process in the sandbox loads no code any more.
enum NameServices {
  private static let configurationPath = "/etc/nsswitch.conf"
  private static let maximumByteCount = 1 << 16

  /// Loads them. One that is missing is no error: the C library continues with the next service.
  static func load() {
    guard let bytes = try? FileIO.contents(of: configurationPath, upTo: maximumByteCount) else {
      return
    }
    for name in names(in: String(decoding: bytes, as: UTF8.self)) {
      _ = unsafe dlopen("libnss_\(name).so.2", RTLD_NOW)
    }
  }

  /// The services of the line `hosts:`, without what is to be done after each, which stands in
  /// brackets.
  static func names(in configuration: String) -> [String] {
    let lines = configuration.split(separator: "\n").map { $0.prefix { $0 != "#" } }
    guard let line = lines.first(where: { $0.hasPrefix("hosts:") }) else { return [] }
    var names: [String] = []
    var isInBrackets = false
    for word in line.dropFirst("hosts:".count).split(whereSeparator: \.isWhitespace) {
      if word.hasPrefix("[") { isInBrackets = true }
      if !isInBrackets, word.utf8.allSatisfy(isOfName) { names.append(String(word)) }
      if word.hasSuffix("]") { isInBrackets = false }
    }
    return names
  }

  private static func isOfName(_ byte: UInt8) -> Bool {
    byte.isASCIIAlphanumeric || byte == UInt8(ascii: "_")
  }
}

/// libcurl could not be set up: too little memory, or a build without a feature.
///
/// An error of one transfer is a `Failure`.
package struct CurlError: Error, Equatable, CustomStringConvertible {
  /// The C function or option that was refused, in C's spelling.
  package let operation: String
  /// libcurl's words.
  package let reason: String

  package var description: String { "\(operation): \(reason)" }
}

extension CurlError {
  init(operation: String, code: CURLcode) {
    self.init(operation: operation, reason: code.text)
  }

  init(operation: String, code: CURLMcode) {
    self.init(operation: operation, reason: unsafe String(cString: curl_multi_strerror(code)))
  }
}

extension CURLcode {
  /// libcurl's words for the code.
  var text: String { unsafe String(cString: curl_easy_strerror(self)) }
}

extension CURLcode {
  /// The failure that libcurl's code stands for (libcurl-errors(3), libcurl 7.88). What an origin
  /// or the network can cause is never `internal`, which is left for codes that mean a wrong use of
  /// libcurl, and for protocols that are not spoken.
  ///
  /// - Parameters:
  ///   - isAnswered: whether an answer began to come in. The same broken connection is a truncated
  ///     body after that and a failed connection before.
  ///   - words: libcurl's, which alone tell a broken chunk from a broken connection.
  func failureCode(isAnswered: Bool, words: String = "") -> Failure.Code {
    switch self {
    case CURLE_URL_MALFORMAT: .invalidURL
    case CURLE_COULDNT_RESOLVE_HOST: .dnsFailure
    case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED, CURLE_NO_CONNECTION_AVAILABLE:
      .connectFailure
    case CURLE_OPERATION_TIMEDOUT: .timeout
    case CURLE_OUT_OF_MEMORY: .outOfMemory
    case CURLE_FILESIZE_EXCEEDED: .tooLarge
    // The scheme was checked before: it is the answer whose protocol is not HTTP.
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING:
      .invalidResponse
    case CURLE_RECV_ERROR where words.hasSuffix("in chunked-encoding"): .invalidResponse
    // With an answer under way, a trailer that is no field.
    case CURLE_BAD_FUNCTION_ARGUMENT where isAnswered: .invalidResponse
    case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_SEND_FAIL_REWIND, CURLE_GOT_NOTHING,
      CURLE_PARTIAL_FILE, CURLE_HTTP2, CURLE_HTTP2_STREAM:
      isAnswered ? .truncatedBody : .connectFailure
    case _ where Self.tlsCodes.contains(rawValue): .tlsFailure
    default: .internal
    }
  }

  private static let tlsCodes = Set(
    [
      CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_SHUTDOWN_FAILED,
      CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
      CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT, CURLE_SSL_ENGINE_NOTFOUND,
      CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_USE_SSL_FAILED,
    ].map(\.rawValue))

  /// Whether the first bytes of the origin were no TLS. That is how OpenSSL describes it.
  func isWithoutTLS(words: String) -> Bool {
    self == CURLE_SSL_CONNECT_ERROR && words.contains("wrong version number")
  }

  /// What libcurl says of the error, without a full stop or a space at its end, and without the name of its code
  /// behind that, which says the same again.
  func words(_ text: String?) -> String {
    guard let text else { return self.text }
    let name = ": \(self.text)"
    let words = text.hasSuffix(name) ? text.dropLast(name.count) : text[...]
    let last = words.lastIndex { $0 != " " && $0 != "." }
    return last.map { String(words[...$0]) } ?? self.text
  }

  /// Whether the certificate is another host's, or of an unknown issuer. One that has expired is the host's own.
  ///
  /// - Parameter verdict: of OpenSSL (openssl/x509_vfy.h) about the chain of certificates. libcurl 7.88 leaves
  ///   `X509_V_ERR_UNSPECIFIED` if it finds another name in a chain that is trusted.
  func isCertificateForeign(verdict: Int) -> Bool {
    self == CURLE_PEER_FAILED_VERIFICATION && [1, 2, 18, 19, 20, 21].contains(verdict)
  }

  /// Whether the connection ended in the middle of the TLS handshake, which may pass. Where the two
  /// sides cannot agree, OpenSSL names its reason.
  func isTLSBrokenOff(words: String) -> Bool {
    self == CURLE_SSL_CONNECT_ERROR && !words.contains("SSL routines")
  }
}
