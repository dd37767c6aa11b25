import FoundationEssentials
import ImgModel
import ImgStore
import ImgWire

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
