import ImgClient
import ImgModel
import ImgSettings
import ImgStore
import ImgSystem
import ImgWire

/// An error as the program reports it: an exit code, a code for scripts, and a sentence for people.
///
/// With `--json`, standard error gets the object `{"error":{"code":…,"message":…}}` instead of the
/// sentence. Standard output contains only results, so a script never reads an error there.
package struct ErrorReport: Encodable {
  package let exitCode: ExitCode
  private let error: Content

  private struct Content: Encodable {
    let code: String
    /// The sentence for people.
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

  /// - Returns: `nil` if the reader closed the output. That ends the command and is no failure.
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
    case let error as InvalidArgumentURL:
      self.init(.wrongUse, code: error.failure.code.rawValue, text)
    case is SystemError: self.init(.wrongUse, code: "system", text)
    default: self.init(.wrongUse, code: "failed", text)
    }
  }

  /// One line for standard error, with a line feed.
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
  /// Whether the coordinator cannot serve any request, rather than refusing this one.
  var meansNoCoordinator: Bool {
    switch self {
    case .stopping, .journal, .unavailable, .notPermitted: true
    case .unknownJob, .wrongState, .invalidRequest: false
    }
  }
}
