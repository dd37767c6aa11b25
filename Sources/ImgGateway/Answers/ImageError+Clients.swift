import ImgClient

extension ImageError {
  /// Whether the origin redirects to text that is no URL, or to a URL of another scheme, such as file. The URL of
  /// the client was good.
  var isOfRedirect: Bool {
    httpStatus != nil && (code == .invalidURL || code == .unsupportedScheme)
  }

  /// The error as clients of the gateway see it: whether a name leads nowhere or to an address that is not public
  /// has one answer, because the difference would tell which names a private network has.
  var forClients: ImageError {
    guard code == .blockedAddress || code == .dnsFailure else { return self }
    return ImageError(
      code: .dnsFailure, url: url, isRetryable: true,
      message: "the host has no public address that this server permits")
  }

  /// The message for clients of the gateway, who see neither its machine nor its command line.
  /// `/ready` says what is wrong with the cluster, to clients that may see it.
  var messageForClients: String {
    switch code {
    case .unreachable, .versionMismatch, .disconnected, .refused:
      "the server cannot load pictures now; what is stored is served. Ask again later"
    case .storeFailure, .storeFull: "the server cannot store pictures now; ask again later"
    // The message of libcurl names the TLS library and its version.
    case .tlsFailure: "there is no TLS connection to the origin that this server trusts"
    case .outOfMemory: "decoding the picture needs more memory than this server permits"
    default: message
    }
  }
}
