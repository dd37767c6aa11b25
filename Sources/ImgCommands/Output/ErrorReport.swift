import ImgClient
import ImgModel
import ImgSettings
import ImgSystem

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
    error = Content(code: code, text: text.withoutPasswords.printableLines)
  }

  /// - Returns: `nil` if the reader closed the output. That ends the command and is no failure.
  package init?(_ error: any Error) {
    let text = "imgctl: \((error as? ImageError)?.message ?? "\(error)")"
    switch error {
    case OutputError.readerLeft: return nil
    case OutputError.failed(let error):
      self.init(.wrongUse, code: "output", "imgctl: the output cannot be written: \(error)")
    case let error as UsageError: self.init(.wrongUse, code: "usage", error.description)
    case let failure as Failure: self.init(.wrongUse, code: failure.code.rawValue, text)
    case let error as InvalidArgumentURL:
      self.init(.wrongUse, code: error.failure.code.rawValue, text)
    case is SystemError: self.init(.wrongUse, code: "system", text)
    default:
      let summary = ErrorSummary(error)
      self.init(
        summary?.meansNoCoordinator == true ? .noCoordinator : .wrongUse,
        code: summary?.code ?? "failed", text)
    }
  }

  /// One line for standard error, with a line feed.
  package func line(isJSON: Bool) -> String {
    guard isJSON, let json = try? Output.json(of: self) else { return error.text + "\n" }
    return json
  }
}
