public import FoundationEssentials
import ImgModel
import ImgStore
package import ImgWire

/// Why there is no thumbnail.
public struct ImageError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The reason. Later versions may add codes, so a `switch` over them needs a `default`; a code never
  /// changes its meaning. The guide "Failure codes" of `imgctl` explains those of pictures and origins.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The code in `imgctl`'s JSON, such as `http_status`.
    public let rawValue: String

    /// A code by its name.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// The name, see ``rawValue``.
    public var description: String { rawValue }
  }

  /// Which kind of error it is.
  public let code: Code
  /// The URL as it was requested; `nil` if the error is not about one.
  public let url: String?
  /// Whether the same request may succeed later.
  public let isRetryable: Bool
  /// The status of the origin's response, if that is the reason.
  public let httpStatus: Int?
  /// When the origin permits the next request, if it has named a time by Retry-After.
  public let retryAt: Date?
  /// What went wrong and, where something can be done about it, what to do. For people.
  public let message: String

  /// An error, such as one for a test.
  public init(
    code: Code, url: String? = nil, isRetryable: Bool = false, httpStatus: Int? = nil,
    retryAt: Date? = nil, message: String
  ) {
    self.code = code
    self.url = url
    self.isRetryable = isRetryable
    self.httpStatus = httpStatus
    self.retryAt = retryAt
    self.message = message
  }

  /// The code and the message.
  public var description: String { "\(code): \(message)" }
}

extension ImageError.Code {
  // MARK: - The request and the client

  /// The task was cancelled, or the request was replaced by a later one of its viewer.
  public static let cancelled = Self(rawValue: "cancelled")
  /// A value of the request is out of range.
  public static let invalidRequest = Self(rawValue: "invalid_request")
  /// The text is no URL.
  public static let invalidURL = Self(rawValue: "invalid_url")
  /// The URL is not `http`, `https`, `data` or `file`.
  public static let unsupportedScheme = Self(rawValue: "unsupported_scheme")
  /// The load took longer than ``ImageRequest/timeout``, or the origin longer than the cluster permits.
  public static let timeout = Self(rawValue: "timeout")
  /// The transport of the client cannot do that, see ``CacheTransport`` and ``JobTransport``.
  public static let unsupportedOperation = Self(rawValue: "unsupported_operation")
  /// The store has no thumbnail, and ``ImageRequest/CachePolicy/cacheOnly`` forbids to make one.
  public static let notCached = Self(rawValue: "not_cached")

  // MARK: - The cluster

  /// No coordinator answers, and none could be started.
  public static let unreachable = Self(rawValue: "unreachable")
  /// The coordinator is of another version than this library.
  public static let versionMismatch = Self(rawValue: "version_mismatch")
  /// The coordinator is stopping, or the connection to it broke and the request was not sent again: because
  /// that happened too often, or because it changes something. Or this process has no descriptors left for a
  /// connection.
  public static let disconnected = Self(rawValue: "disconnected")
  /// No job has that number.
  public static let unknownJob = Self(rawValue: "unknown_job")
  /// The state of the job does not permit the change.
  public static let wrongState = Self(rawValue: "wrong_state")
  /// The coordinator does not do what was asked.
  public static let refused = Self(rawValue: "refused")
  /// The store cannot be read.
  public static let storeFailure = Self(rawValue: "store_failure")
  /// A fault of the cluster.
  public static let `internal` = Self(rawValue: "internal")

  // MARK: - The origin

  /// The address of the host is private or reserved, and the cluster does not permit it.
  public static let blockedAddress = Self(rawValue: "blocked_address")
  /// The origin redirects to a URL that the request does not permit.
  public static let blockedOrigin = Self(rawValue: "blocked_origin")
  /// The name of the host has no address.
  public static let dnsFailure = Self(rawValue: "dns_failure")
  /// The origin does not accept connections.
  public static let connectFailure = Self(rawValue: "connect_failure")
  /// The proxy of the coordinator cannot be reached, or refuses to work.
  public static let proxyFailure = Self(rawValue: "proxy_failure")
  /// The origin has no valid certificate, or does not speak TLS.
  public static let tlsFailure = Self(rawValue: "tls_failure")
  /// The origin redirects too often.
  public static let tooManyRedirects = Self(rawValue: "too_many_redirects")
  /// See ``ImageError/httpStatus``.
  public static let httpStatus = Self(rawValue: "http_status")
  /// The response is not HTTP.
  public static let invalidResponse = Self(rawValue: "invalid_response")
  /// The picture has more bytes than the cluster permits.
  public static let tooLarge = Self(rawValue: "too_large")
  /// The connection ended before the picture did.
  public static let truncatedBody = Self(rawValue: "truncated_body")
  /// The origin opts out in an `X-Robots-Tag`.
  public static let optedOut = Self(rawValue: "opted_out")
  /// The origin's robots.txt disallows the path.
  public static let blockedPath = Self(rawValue: "blocked_path")
  /// The file cannot be read, or its directory is not permitted.
  public static let unreadableFile = Self(rawValue: "unreadable_file")

  // MARK: - The picture

  /// The bytes are those of no known format.
  public static let notAnImage = Self(rawValue: "not_an_image")
  /// The format, or a part of it, is not decoded.
  public static let unsupportedFormat = Self(rawValue: "unsupported_format")
  /// The picture has more pixels than the cluster permits.
  public static let tooManyPixels = Self(rawValue: "too_many_pixels")
  /// The animation has more frames than the cluster permits.
  public static let tooManyFrames = Self(rawValue: "too_many_frames")
  /// The picture has no such frame.
  public static let frameOutOfRange = Self(rawValue: "frame_out_of_range")
  /// The frames cannot be decoded; the still can.
  public static let unsupportedAnimation = Self(rawValue: "unsupported_animation")
  /// The picture is damaged.
  public static let corruptImage = Self(rawValue: "corrupt_image")
  /// The decoder took too long.
  public static let decodeTimeout = Self(rawValue: "decode_timeout")
  /// The decoder ended.
  public static let decodeCrash = Self(rawValue: "decode_crash")
  /// The decoder needs more memory than it may have.
  public static let outOfMemory = Self(rawValue: "out_of_memory")
  /// The store has no room.
  public static let storeFull = Self(rawValue: "store_full")
}

extension ImageError {
  init(invalidRequest message: String) {
    self.init(code: .invalidRequest, message: message)
  }

  static func cancelled(_ url: String?) -> ImageError {
    ImageError(code: .cancelled, url: url, message: "the request was cancelled")
  }

  package static func timedOut(_ url: String?, after timeout: Duration) -> ImageError {
    ImageError(
      code: .timeout, url: url, isRetryable: true,
      message: "the request took longer than its timeout of \(timeout)")
  }

  /// A failure that is retryable although the request was cancelled is that of a coordinator that stops.
  init(_ failure: Failure, url: String?) {
    guard failure.code != .cancelled || !failure.isRetryable else {
      self.init(code: .disconnected, url: url, isRetryable: true, message: failure.detail)
      return
    }
    self.init(
      code: Code(rawValue: failure.code.rawValue), url: url, isRetryable: failure.isRetryable,
      httpStatus: failure.httpStatus, retryAt: failure.retryAt.map { Date($0) },
      message: failure.detail)
  }

  init(_ error: StoreError, url: String?) {
    self.init(code: .storeFailure, url: url, isRetryable: true, message: "\(error)")
  }

  init(_ error: ClientError, url: String?) {
    let (code, isRetryable): (Code, Bool) =
      switch error {
      case .unreachable, .notListening, .notAutostarted, .notStarted: (.unreachable, true)
      case .denied, .untrusted, .listensElsewhere, .otherStore: (.unreachable, false)
      case .otherVersion: (.versionMismatch, false)
      case .refused(.unknownJob, _): (.unknownJob, false)
      case .refused(.wrongState, _): (.wrongState, false)
      case .refused(.invalidRequest, _): (.invalidRequest, false)
      case .refused(let code, _): (.refused, [.unavailable, .stopping].contains(code))
      case .connection: (.disconnected, true)
      // The same list may be a job already.
      case .submission(let isComplete, _): (.disconnected, !isComplete)
      }
    self.init(code: code, url: url, isRetryable: isRetryable, message: error.libraryDescription)
  }

  /// - Parameter timeout: that of the request.
  init(_ error: SessionError, url: String?, timeout: Duration? = nil) {
    switch error {
    case .cancelled: self = .cancelled(url)
    case .timedOut: self = .timedOut(url, after: timeout ?? .zero)
    case .client(let error): self.init(error, url: url)
    }
  }

  /// The reason why the store was not read or changed.
  init(cause error: any Error, url: String?) {
    switch error {
    case let error as ImageError: self = error
    case let error as StoreError: self.init(error, url: url)
    case let failure as Failure: self.init(failure, url: url)
    default: self.init(code: .internal, url: url, isRetryable: true, message: "\(error)")
    }
  }

  /// The same error about a URL.
  func about(_ url: String) -> ImageError {
    ImageError(
      code: code, url: self.url ?? url, isRetryable: isRetryable, httpStatus: httpStatus,
      retryAt: retryAt, message: message)
  }
}

/// What a script is told of an error of this library, apart from its sentence.
package struct ErrorSummary: Hashable, Sendable {
  /// The kind of the error, such as `no_coordinator`.
  package let code: String
  /// Whether no coordinator could be reached or started, or none that can serve requests.
  package let meansNoCoordinator: Bool

  /// - Returns: `nil` for an error of another kind than the coordinator's, the store's and
  ///   ``ImageError``.
  package init?(_ error: any Error) {
    switch error {
    case let error as ClientError:
      code = error.scriptCode
      meansNoCoordinator = error.meansNoCoordinator
    case let error as StoreError:
      code = error.scriptCode
      meansNoCoordinator = false
    case let error as ImageError:
      code = error.scriptCode
      meansNoCoordinator = error.meansNoCoordinator
    default: return nil
    }
  }
}

extension ImageError {
  fileprivate var meansNoCoordinator: Bool {
    [.unreachable, .versionMismatch, .disconnected, .refused].contains(code)
  }

  fileprivate var scriptCode: String {
    switch code {
    case .unreachable: "no_coordinator"
    case .disconnected: "connection_lost"
    case .versionMismatch: "other_version"
    case .refused: "unavailable"
    default: code.rawValue
    }
  }
}

extension ClientError {
  fileprivate var meansNoCoordinator: Bool {
    switch self {
    case .refused(let code, _): code.meansNoCoordinator
    case .otherStore: false
    default: true
    }
  }

  fileprivate var scriptCode: String {
    switch self {
    case .unreachable, .notAutostarted: "no_coordinator"
    case .denied: "not_permitted"
    case .untrusted: "unsafe_socket"
    case .notListening, .listensElsewhere: "not_listening"
    case .otherStore: "other_data_directory"
    case .notStarted: "not_started"
    case .otherVersion: "other_version"
    case .refused(let code, _): code.rawValue
    case .connection, .submission: "connection_lost"
    }
  }
}

extension StoreError {
  fileprivate var scriptCode: String {
    switch reason {
    case .absent: "store_absent"
    case .full, .tooLarge, .pinned: "store_full"
    case .notPermitted: "not_permitted"
    case .newerVersion, .olderVersion: "other_version"
    case .damaged: "store_damaged"
    case .tooManyReaders, .replaced, .failed: "store_failed"
    }
  }
}

extension RequestRefusal.Code {
  /// Whether the coordinator cannot serve any request, rather than refusing this one.
  package var meansNoCoordinator: Bool {
    switch self {
    case .stopping, .journal, .unavailable, .notPermitted: true
    case .unknownJob, .wrongState, .invalidRequest: false
    }
  }
}
