import ImgStore
import ImgWire

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
