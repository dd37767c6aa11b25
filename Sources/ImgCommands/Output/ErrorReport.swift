import ImgClient
import ImgModel
import ImgSettings
import ImgStore
import ImgSystem
import ImgWire

/// What an error means for the caller: the exit code of the program, a code that scripts branch on,
/// and a sentence for people.
///
/// With `--json` the object `{"error":{"code":…,"message":…}}` takes the place of the sentence on
/// standard error. Standard output holds results alone, so that a script that reads them never
/// meets an object of another kind.
package struct ErrorReport: Encodable {
  package let exitCode: ExitCode
  private let error: Content

  private struct Content: Encodable {
    let code: String
    /// The sentence as people read it.
    let text: String

    private enum CodingKeys: String, CodingKey {
      case code
      case text = "message"
    }
  }

  private enum CodingKeys: String, CodingKey {
    case error
  }

  package init(_ exitCode: ExitCode, code: String, _ text: String) {
    self.exitCode = exitCode
    error = Content(code: code, text: text.withoutPasswords)
  }

  /// - Returns: `nil` where the reader of the output has left, which is the end of the command and
  ///   no failure of it.
  package init?(_ error: any Error) {
    let text = "imgctl: \(error)"
    switch error {
    case OutputError.readerLeft: return nil
    case OutputError.failed(let error):
      self.init(.wrongUse, code: "output", "imgctl: the output cannot be written: \(error)")
    case let error as UsageError: self.init(.wrongUse, code: "usage", error.description)
    case let error as ClientError: self.init(error.exitCode, code: error.code, text)
    case let error as StoreError: self.init(.wrongUse, code: error.scriptCode, text)
    case let failure as Failure: self.init(.wrongUse, code: failure.code.rawValue, text)
    case is SystemError: self.init(.wrongUse, code: "system", text)
    default: self.init(.wrongUse, code: "failed", text)
    }
  }

  /// One line for standard error, ended.
  package func line(isJSON: Bool) -> String {
    guard isJSON, let json = try? Output.json(of: self) else { return error.text + "\n" }
    return json
  }
}

extension ClientError {
  fileprivate var exitCode: ExitCode {
    switch self {
    case .refused(let code, _): code.meansNoCoordinator ? .noCoordinator : .wrongUse
    case .otherStore: .wrongUse
    default: .noCoordinator
    }
  }

  fileprivate var code: String {
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
    case .full, .tooLarge: "store_full"
    case .notPermitted: "not_permitted"
    case .newerVersion, .olderVersion: "other_version"
    case .damaged: "store_damaged"
    case .tooManyReaders, .replaced, .failed: "store_failed"
    }
  }
}

extension RequestRefusal.Code {
  /// Whether it is the coordinator that cannot serve, rather than the request that makes no sense.
  var meansNoCoordinator: Bool {
    switch self {
    case .stopping, .journal, .unavailable, .notPermitted: true
    case .unknownJob, .wrongState, .invalidRequest: false
    }
  }
}
