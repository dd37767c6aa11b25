/// Why a URL has no thumbnail. Processes exchange failures, the journal stores them, and people read
/// them. Programs use the code; people read the detail.
package struct Failure: Error, Hashable, Sendable {
  /// The stage in which the URL failed.
  package enum Stage: String, CaseIterable, Sendable, FieldValue {
    case queue, fetch, decode, store
  }

  /// The reason. A code never changes its meaning. Decoding is strict: an older peer cannot read a
  /// new code, so a new code raises ``Build/protocolVersion``.
  package enum Code: String, CaseIterable, Sendable, FieldValue {
    case invalidURL = "invalid_url"
    case unsupportedScheme = "unsupported_scheme"
    case blockedAddress = "blocked_address"
    case blockedOrigin = "blocked_origin"
    case dnsFailure = "dns_failure"
    case connectFailure = "connect_failure"
    case proxyFailure = "proxy_failure"
    case tlsFailure = "tls_failure"
    case timeout
    case tooManyRedirects = "too_many_redirects"
    case httpStatus = "http_status"
    case invalidResponse = "invalid_response"
    case tooLarge = "too_large"
    case truncatedBody = "truncated_body"
    case optedOut = "opted_out"
    case blockedPath = "blocked_path"
    case unreadableFile = "unreadable_file"
    case notAnImage = "not_an_image"
    case unsupportedFormat = "unsupported_format"
    case tooManyPixels = "too_many_pixels"
    case tooManyFrames = "too_many_frames"
    case frameOutOfRange = "frame_out_of_range"
    case unsupportedAnimation = "unsupported_animation"
    case corruptImage = "corrupt_image"
    case decodeTimeout = "decode_timeout"
    case decodeCrash = "decode_crash"
    case outOfMemory = "out_of_memory"
    case storeFull = "store_full"
    case notCached = "not_cached"
    case cancelled
    case `internal`
  }

  package let stage: Stage
  package let code: Code
  /// Whether the same request may succeed later.
  package let isRetryable: Bool
  /// The status of the response, if there was one.
  package let httpStatus: Int?
  /// When the origin permits the next request, if it has named a time (Retry-After, RFC 9110 section
  /// 10.2.3).
  package var retryAt: WallTime?
  /// A sentence for people. Programs must not interpret it. It has at most
  /// ``maximumDetailByteCount`` bytes, no passwords of URLs, and nothing that a terminal would obey
  /// (``Swift/String/printable``): origins and files supply parts of it.
  package let detail: String

  package static let maximumDetailByteCount = 300

  /// - Parameter isRetryable: `nil` for the default of the code, see
  ///   ``Code/isRetryable(httpStatus:)``.
  package init(
    stage: Stage, code: Code, httpStatus: Int? = nil, isRetryable: Bool? = nil,
    retryAt: WallTime? = nil, detail: String
  ) {
    self.stage = stage
    self.code = code
    self.httpStatus = httpStatus
    self.isRetryable = isRetryable ?? code.isRetryable(httpStatus: httpStatus)
    self.retryAt = retryAt
    self.detail = String(
      decoding: detail.withoutPasswords.printable.utf8.prefix(Self.maximumDetailByteCount),
      as: UTF8.self)
  }
}

extension Failure {
  /// Whether a stale record may be served instead (RFC 5861 section 4): the origin reported an error
  /// or could not be reached.
  package var permitsStale: Bool {
    switch code {
    case .dnsFailure, .connectFailure, .proxyFailure, .tlsFailure, .timeout, .invalidResponse,
      .truncatedBody:
      true
    case .httpStatus: httpStatus.map(Self.permitsStale(httpStatus:)) ?? false
    default: false
    }
  }

  /// Whether a stale record may be served instead of a response with the status.
  package static func permitsStale(httpStatus: Int) -> Bool {
    [500, 502, 503, 504].contains(httpStatus)
  }
}

extension Failure {
  /// The failure of a picture that needs more memory than a decoder may use.
  ///
  /// - Parameter byteCount: the memory limit of a decoder.
  package static func outOfMemory(decoderMemory byteCount: Int64) -> Failure {
    Failure(
      stage: .decode, code: .outOfMemory, isRetryable: false,
      detail: "decoding needs more memory than the decoder's limit of \(byteCount >> 20)M; start "
        + "the coordinator with a larger --decoder-memory")
  }
}

extension Failure: CustomStringConvertible {
  package var description: String { "\(code.rawValue): \(detail)" }
}

extension Failure.Code {
  /// Whether a retry may succeed. Errors of the network and the machine are temporary; errors in the
  /// URL or the picture are permanent. The temporary HTTP statuses are 408, 425, 429 and 5xx
  /// (RFC 9110 section 15, RFC 8470 section 5.2, RFC 6585 section 4).
  package func isRetryable(httpStatus: Int?) -> Bool {
    switch self {
    case .dnsFailure, .connectFailure, .proxyFailure, .timeout, .invalidResponse, .truncatedBody,
      .outOfMemory, .storeFull, .internal:
      true
    case .httpStatus:
      httpStatus.map { [408, 425, 429].contains($0) || (500...599).contains($0) } ?? false
    case .invalidURL, .unsupportedScheme, .blockedAddress, .blockedOrigin, .tlsFailure,
      .tooManyRedirects, .tooLarge, .optedOut, .blockedPath, .unreadableFile, .notAnImage,
      .unsupportedFormat, .tooManyPixels, .tooManyFrames, .frameOutOfRange, .unsupportedAnimation,
      .corruptImage, .decodeTimeout, .decodeCrash, .notCached, .cancelled:
      false
    }
  }
}

extension Failure: Fielded {
  /// The detail of a peer, or of an older journal, is made printable again.
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    let code = try f.field("code", value?.code)
    let detail = try f.field("detail", value?.detail)
    let httpStatus = try f.optional("http_status", value?.httpStatus)
    let retryAt = try f.optional("retry_at", value?.retryAt)
    let isRetryable = try f.field("retryable", value?.isRetryable)
    let stage = try f.field("stage", value?.stage)
    self =
      value
      ?? Failure(
        stage: stage, code: code, httpStatus: httpStatus, isRetryable: isRetryable,
        retryAt: retryAt, detail: detail)
  }
}

extension String {
  /// The text on one line that a terminal shows as it is: U+FFFD takes the place of each
  /// character that is not ``Unicode/Scalar/isPrintable``.
  package var printable: String {
    guard unicodeScalars.contains(where: { !$0.isPrintable }) else { return self }
    return String(UnicodeScalarView(unicodeScalars.map { $0.isPrintable ? $0 : "\u{FFFD}" }))
  }

  /// The same for a text of several lines, whose line feeds stay.
  package var printableLines: String {
    unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
      .map { String($0).printable }.joined(separator: "\n")
  }

  /// JSON with escapes (RFC 8259 section 7) in place of the characters that a terminal would obey. Programs
  /// read the same text.
  ///
  /// - Precondition: the text is JSON on one line, whose encoder has escaped the characters below U+0020.
  package var escapedForTerminals: String {
    guard unicodeScalars.contains(where: { !$0.isPrintable }) else { return self }
    var escaped = UnicodeScalarView()
    for scalar in unicodeScalars {
      if scalar.isPrintable {
        escaped.append(scalar)
      } else {
        let digits = String(scalar.value, radix: 16)
        escaped.append(
          contentsOf: "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)"
            .unicodeScalars)
      }
    }
    return String(escaped)
  }
}

extension Unicode.Scalar {
  /// Whether a terminal shows the character and does nothing else. It obeys control characters (C0, DEL and
  /// C1; ECMA-48). Line and paragraph separators break a line. Bidirectional controls reorder what stands
  /// beside them (Unicode Standard Annex 9, section 2), so that a text reads as another one.
  package var isPrintable: Bool {
    switch value {
    case 0x20...0x7E: true
    case 0x00...0x1F, 0x7F...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: false
    default: true
    }
  }
}
