package import ImgModel
import ImgStore

extension ImageError {
  init(invalidRequest message: String) {
    self.init(code: .invalidRequest, message: message)
  }

  static func cancelled(_ url: String?) -> ImageError {
    ImageError(code: .cancelled, url: url, message: "the request was cancelled")
  }

  package static func timedOut(_ url: String?, after timeout: Duration) -> ImageError {
    ImageError(Failure.timedOut(after: timeout, in: .queue), url: url)
  }

  /// A failure that is retryable although the request was cancelled is that of a coordinator that stops.
  init(_ failure: Failure, url: String?) {
    let isOfStop = failure.code == .cancelled && failure.isRetryable
    self.init(
      code: isOfStop ? .disconnected : failure.code, url: url, isRetryable: failure.isRetryable,
      httpStatus: failure.httpStatus, retryTime: failure.retryAt, message: failure.detail)
  }

  init(_ error: ClientError, url: String?) {
    self.init(
      code: error.errorCode, url: url, isRetryable: error.isRetryable,
      message: error.libraryDescription)
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
      retryTime: retryTime, message: message)
  }

  /// The same error with other advice. Advice follows the first sentence.
  package func advising(_ advice: String) -> ImageError {
    let end = message.firstRange(of: "; ")?.lowerBound ?? message.endIndex
    return ImageError(
      code: code, url: url, isRetryable: isRetryable, httpStatus: httpStatus, retryTime: retryTime,
      message: "\(message[..<end]); \(advice)")
  }

  init(_ error: StoreError, url: String?) {
    // The other codes of a store speak of the store in any case.
    let code = error.errorCode.meansNoCoordinator ? .storeFailure : error.errorCode
    self.init(code: code, url: url, isRetryable: true, message: "\(error)")
  }
}

/// An error that has a code for scripts, apart from its sentence.
package protocol CodedError: Error {
  var errorCode: ImageError.Code { get }
  /// Whether no coordinator could be reached or started, or none that can serve requests.
  var meansNoCoordinator: Bool { get }
}

extension CodedError {
  package var meansNoCoordinator: Bool { errorCode.meansNoCoordinator }
}

extension ImageError: CodedError {
  package var errorCode: Code { code }
}

extension Failure: CodedError {
  package var errorCode: Code { code }
}

extension ClientError: CodedError {
  package var errorCode: ImageError.Code {
    switch self {
    case .unreachable, .notAutostarted, .copy, .absent: .unreachable
    case .denied: .notPermitted
    case .untrusted: .unsafeSocket
    case .notListening, .listensElsewhere: .notListening
    case .otherStore: .otherDataDirectory
    case .notStarted: .notStarted
    case .otherVersion: .versionMismatch
    case .refused(let code, _): code
    case .connection, .submission: .disconnected
    }
  }

  fileprivate var isRetryable: Bool {
    switch self {
    case .listensElsewhere, .copy: false
    // The same list may be a job already.
    case .submission(let isComplete, _): !isComplete
    default: errorCode.isRetryable(httpStatus: nil)
    }
  }
}

extension StoreError: CodedError {
  package var errorCode: ImageError.Code {
    switch reason {
    case .absent: .storeAbsent
    case .full, .tooLarge, .pinned: .storeFull
    case .notPermitted: .notPermitted
    case .newerVersion, .olderVersion: .versionMismatch
    case .damaged: .storeDamaged
    case .tooManyReaders, .replaced, .failed: .storeFailure
    }
  }

  package var meansNoCoordinator: Bool { false }
}
