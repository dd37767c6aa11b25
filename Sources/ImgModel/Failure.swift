public import FoundationEssentials

/// Why there is no thumbnail, or why something else was not done.
public struct ImageError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The reason. The raw value is the code in `imgctl`'s JSON, such as `http_status`. The guide "Failure
  /// codes" of `imgctl` explains those of pictures and origins.
  ///
  /// A code never changes its meaning. Decoding is strict: an older peer cannot read a new code, so a new code
  /// raises the version of the protocol. Later versions may add codes, so a `switch` over them needs an
  /// `@unknown default`.
  @nonexhaustive
  public enum Code: String, CaseIterable, Hashable, Sendable, Codable {
    // MARK: - The request and the client

    /// The job or the task was cancelled, or a later request of the same viewer replaced this one.
    case cancelled
    /// A value of the request is out of range.
    case invalidRequest = "invalid_request"
    /// The text is not a URL of at most 8,192 bytes with its escapes.
    case invalidURL = "invalid_url"
    /// The scheme of the URL is none of `http`, `https`, `data` and `file`.
    case unsupportedScheme = "unsupported_scheme"
    /// It took longer than the request or the cluster permits.
    case timeout
    /// The transport of the client cannot do that.
    case unsupportedOperation = "unsupported_operation"
    /// The store has no thumbnail, and the request forbids to make one.
    case notCached = "not_cached"

    // MARK: - The coordinator

    /// No coordinator answers, and none could be started.
    case unreachable = "no_coordinator"
    /// A coordinator was to be started, and did not come up.
    case notStarted = "not_started"
    /// A coordinator runs, but listens at no socket, or at another one.
    case notListening = "not_listening"
    /// The socket, a directory or the store belongs to another user.
    case notPermitted = "not_permitted"
    /// Another user listens at the socket, or could.
    case unsafeSocket = "unsafe_socket"
    /// The coordinator keeps its thumbnails elsewhere than this client looks for them.
    case otherDataDirectory = "other_data_directory"
    /// The coordinator or the store is of another version.
    case versionMismatch = "other_version"
    /// The coordinator is stopping, or the connection to it broke and the request was not sent again. It was
    /// not, because that happened too often, or because the request changes something. Or this process has no
    /// descriptors left for a connection.
    case disconnected = "connection_lost"
    /// The coordinator cannot serve any client, or has too many.
    case unavailable
    /// The coordinator is stopping and accepts no more requests.
    case stopping
    /// The coordinator cannot read or write the journal of its jobs.
    case journal
    /// No job has that number.
    case unknownJob = "unknown_job"
    /// The state of the job does not permit the change.
    case wrongState = "wrong_state"

    // MARK: - The store

    /// There is no store.
    case storeAbsent = "store_absent"
    /// The store or its disk has no room.
    case storeFull = "store_full"
    /// The files of the store are damaged.
    case storeDamaged = "store_damaged"
    /// The store cannot be read or changed.
    case storeFailure = "store_failed"

    // MARK: - The origin

    /// The address of the host is not public, and the cluster does not permit it.
    case blockedAddress = "blocked_address"
    /// The origin redirects to a URL that the request does not permit.
    case blockedOrigin = "blocked_origin"
    /// The name of the host has no address.
    case dnsFailure = "dns_failure"
    /// The origin does not accept connections.
    case connectFailure = "connect_failure"
    /// The proxy of the coordinator cannot be reached, or refuses to work.
    case proxyFailure = "proxy_failure"
    /// The origin has no trusted certificate, or does not speak TLS.
    case tlsFailure = "tls_failure"
    /// The origin redirects too often.
    case tooManyRedirects = "too_many_redirects"
    /// The status of the response is an error. See ``ImageError/httpStatus``.
    case httpStatus = "http_status"
    /// The response is not HTTP, or breaks its rules.
    case invalidResponse = "invalid_response"
    /// The picture or its thumbnail has more bytes than the cluster permits.
    case tooLarge = "too_large"
    /// The body, or the compressed data in it, ended early.
    case truncatedBody = "truncated_body"
    /// The origin forbids the use by `X-Robots-Tag` or robots.txt, and the request respects that.
    case optedOut = "opted_out"
    /// The file is not below a permitted directory.
    case blockedPath = "blocked_path"
    /// The file is missing, not a regular file, or not readable.
    case unreadableFile = "unreadable_file"

    // MARK: - The picture

    /// The first bytes match no known format.
    case notAnImage = "not_an_image"
    /// The format, or a part of it, is not decoded.
    case unsupportedFormat = "unsupported_format"
    /// The picture has more pixels than the cluster permits.
    case tooManyPixels = "too_many_pixels"
    /// The file has more frames than the cluster permits.
    case tooManyFrames = "too_many_frames"
    /// The picture has no such frame.
    case frameOutOfRange = "frame_out_of_range"
    /// The frames cannot be decoded. A still of the picture can, if it has one.
    case unsupportedAnimation = "unsupported_animation"
    /// The picture is damaged.
    case corruptImage = "corrupt_image"
    /// The decoder took too long.
    case decodeTimeout = "decode_timeout"
    /// The decoder ended.
    case decodeCrash = "decode_crash"
    /// The decoder needs more memory than it may have.
    case outOfMemory = "out_of_memory"
    /// A fault of the cluster.
    case `internal`
  }

  /// Which kind of error it is.
  public let code: Code
  /// The URL as it was requested; `nil` if the error is not about one.
  public let url: String?
  /// Whether the same request may succeed later.
  public let isRetryable: Bool
  /// The status of the origin's response, if that is the reason.
  public let httpStatus: Int?
  package let retryTime: WallTime?
  /// What went wrong and, where something can be done about it, what to do. For people.
  public let message: String

  package init(
    code: Code, url: String?, isRetryable: Bool, httpStatus: Int?, retryTime: WallTime?,
    message: String
  ) {
    self.code = code
    self.url = url
    self.isRetryable = isRetryable
    self.httpStatus = httpStatus
    self.retryTime = retryTime
    self.message = message
  }

  /// An error, such as one for a test.
  public init(
    code: Code, url: String? = nil, isRetryable: Bool = false, httpStatus: Int? = nil,
    retryAt: Date? = nil, message: String
  ) {
    self.init(
      code: code, url: url, isRetryable: isRetryable, httpStatus: httpStatus,
      retryTime: retryAt.map { WallTime($0) }, message: message)
  }

  /// When the origin permits the next request, if it has named a time by Retry-After.
  public var retryAt: Date? { retryTime.map { Date($0) } }

  /// The code and the message.
  public var description: String { "\(code.rawValue): \(message)" }
}

@_spi(Coding) extension ImageError.Code: FieldValue {}

/// Why a URL has no thumbnail. Processes exchange failures, the journal stores them, and people read
/// them. Programs use the code; people read the detail.
package struct Failure: Error, Hashable, Sendable {
  /// The stage in which the URL failed.
  package enum Stage: String, CaseIterable, Sendable, FieldValue {
    case queue, fetch, decode, store
  }

  package typealias Code = ImageError.Code

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
  /// The failure of a request whose time is over. The picture may come for others.
  ///
  /// - Parameters:
  ///   - limit: of the request.
  ///   - stage: that the picture had reached.
  package static func timedOut(after limit: Duration, in stage: Stage) -> Failure {
    Failure(
      stage: stage, code: .timeout, detail: "the request took longer than its timeout of \(limit)")
  }

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

/// Transfers that were ended because too little came.
extension Failure {
  private static let tooSlowWords = "less than 1 KiB/s came"
  private static let cutOffWords = "the transfer took longer than --transfer-timeout "
  private static let needWords = "which needs --transfer-timeout "

  /// What is said of a host that has sent nothing since it was connected to.
  package static func silence(seconds: Int) -> String {
    "the host has sent nothing for \(seconds) s (--stall-timeout)"
  }

  /// The same at the end of the whole time.
  package static func silence(within limit: Duration) -> String {
    "the host has sent nothing within --transfer-timeout \(settingText(limit))"
  }

  /// What is said of a transfer whose bytes came too slowly.
  package static func tooSlow(seconds: Int) -> String {
    "\(tooSlowWords) for \(seconds) s (--stall-timeout)"
  }

  /// What is said of a transfer whose time was over while its bytes came.
  ///
  /// - Parameter length: of the whole; `nil` if the origin has not declared it.
  package static func cutOff(
    after limit: Duration, receivedByteCount: Int, of length: Int?
  ) -> String {
    let cause = "\(cutOffWords)\(settingText(limit))"
    guard receivedByteCount > 0, let length, length > receivedByteCount else {
      return "\(cause); bytes of the picture: \(receivedByteCount)"
    }
    let seconds = limit / .seconds(1) * Double(length) / Double(receivedByteCount)
    let margin = min(seconds * neededShare, 1e9)
    let needed = Int((margin / neededStep).rounded(.up) * neededStep)
    return
      "\(cause); \(receivedByteCount) of \(length) bytes came, \(needWords)\(needed)s at this rate"
  }

  /// The time that is advised is longer than the one that would have sufficed, and a multiple of some seconds.
  private static let neededShare = 1.2
  private static let neededStep = 10.0

  private static func settingText(_ time: Duration) -> String {
    time.milliseconds % 1_000 == 0 ? "\(time.milliseconds / 1_000)s" : "\(time.milliseconds)ms"
  }

  /// Whether a transfer ended because its bytes came too slowly.
  package static func isTooSlow(_ code: Code, _ detail: String) -> Bool {
    code == .timeout && [tooSlowWords, cutOffWords].contains { detail.contains($0) }
  }

  /// The seconds of `--transfer-timeout` that a transfer would have needed; `nil` if that is not said.
  package static func neededSeconds(in detail: String) -> Int? {
    detail.firstRange(of: needWords).flatMap {
      Int(detail[$0.upperBound...].prefix { $0.isWholeNumber })
    }
  }
}

extension Failure {

  /// What is said of a host behind its name if a URL was not requested because of the host's failures.
  package static let notAskedWords = "failed too often and was not asked again"

  /// What is said then before what the URL itself failed with earlier.
  package static let formerWords = ", and the URL itself failed before: "

  /// What the failure of an earlier request ends with, behind its time.
  package static let rememberedWords = ", and was not asked again"

  /// What a failure of a robots.txt begins with, before the origin.
  package static let robotsWords = "the robots.txt of "
}

/// Web pages in place of pictures.
extension Failure {
  /// What is said of one, before all else.
  package static let pageDetail = "the body is an HTML page"

  /// Whether the answer was one, or that of a network that wants a login (RFC 6585 section 6).
  package var isPage: Bool {
    code == .notAnImage && detail.hasPrefix(Self.pageDetail) || httpStatus == 511
  }
}

/// What the end of a transfer says of the network of this machine, beside what it says of its URL.
package enum NetworkSign: String, CaseIterable, Sendable, FieldValue {
  /// Neither the resolver nor the host answered, nor the host that had answered last.
  case silent
  /// The same, and this machine has no route to any network, or only one by a proxy that cannot be reached, asks for
  /// other credentials or has no TLS that is trusted. Or its resolver does not answer any question.
  case unrouted
  /// The resolver said that there is no such name, the host refused the connection, or the host that had answered
  /// last still does.
  case answered
  /// The host was connected to, and nothing came from it or from any other host since, or for a while.
  case noData = "no_data"
  /// A web page came where a picture was expected.
  case page
  /// The certificate that came is another host's, or of an issuer that is not known here.
  case foreignCertificate = "foreign_certificate"
}

/// What a transfer does at the moment.
package enum TransferPhase: String, CaseIterable, Sendable, FieldValue {
  case resolving
  /// The handshake of TLS belongs to it.
  case connecting
  case awaitingAnswer = "awaiting_answer"
  /// The first byte of the answer has come.
  case receiving
}

extension Failure: CustomStringConvertible {
  package var description: String { "\(code.rawValue): \(detail)" }
}

extension ImageError.Code: CustomStringConvertible {
  /// The name, see `rawValue`.
  public var description: String { rawValue }
}

extension ImageError.Code {
  /// Whether a retry may succeed. Errors of the network and the machine are temporary; errors in the
  /// URL or the picture are permanent. The temporary HTTP statuses are 408, 425, 429 and 5xx
  /// (RFC 9110 section 15, RFC 8470 section 5.2, RFC 6585 section 4).
  package func isRetryable(httpStatus: Int?) -> Bool {
    switch self {
    case .dnsFailure, .connectFailure, .proxyFailure, .timeout, .invalidResponse, .truncatedBody,
      .outOfMemory, .unreachable, .notStarted, .notListening, .disconnected, .unavailable,
      .stopping,
      .storeAbsent, .storeFull, .storeDamaged, .storeFailure, .internal:
      true
    case .httpStatus:
      httpStatus.map { [408, 425, 429].contains($0) || (500...599).contains($0) } ?? false
    case .invalidURL, .unsupportedScheme, .blockedAddress, .blockedOrigin, .tlsFailure,
      .tooManyRedirects, .tooLarge, .optedOut, .blockedPath, .unreadableFile, .notAnImage,
      .unsupportedFormat, .tooManyPixels, .tooManyFrames, .frameOutOfRange, .unsupportedAnimation,
      .corruptImage, .decodeTimeout, .decodeCrash, .notCached, .cancelled, .invalidRequest,
      .unsupportedOperation, .notPermitted, .unsafeSocket, .otherDataDirectory, .versionMismatch,
      .journal, .unknownJob, .wrongState:
      false
    }
  }

  /// Whether no coordinator could be reached or started, or none that can serve requests.
  package var meansNoCoordinator: Bool {
    switch self {
    case .unreachable, .notStarted, .notListening, .notPermitted, .unsafeSocket, .versionMismatch,
      .disconnected, .unavailable, .stopping:
      true
    default: false
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

extension String {
  /// The text as a word of a command line of sh(1).
  package var shellWord: String {
    let isPlain = allSatisfy { $0.isLetter || $0.isNumber || "/._-+:=@,%".contains($0) }
    guard !isPlain || isEmpty else { return self }
    return "'\(replacing("'", with: "'\\''"))'"
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

/// The value of an expression whose error becomes another one:
///
///     let reply = try rethrowing(try channel.next(until: deadline), as: ClientError.connection)
@discardableResult
package func rethrowing<Value: ~Copyable, Cause: Error, Reason: Error>(
  _ value: @autoclosure () throws(Cause) -> Value, as reason: (Cause) -> Reason
) throws(Reason) -> Value {
  do throws(Cause) {
    return try value()
  } catch {
    throw reason(error)
  }
}
