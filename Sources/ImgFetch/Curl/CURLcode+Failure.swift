internal import CCurl
internal import ImgModel

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

  /// Whether the connection ended in the middle of the TLS handshake, which may pass. Where the two
  /// sides cannot agree, OpenSSL names its reason.
  func isTLSBrokenOff(words: String) -> Bool {
    self == CURLE_SSL_CONNECT_ERROR && !words.contains("SSL routines")
  }
}
