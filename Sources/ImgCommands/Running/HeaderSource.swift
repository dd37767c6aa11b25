import ImgModel
import ImgSettings
import ImgSystem

/// Reads the headers of a request from the command line, a file or an environment variable. Other
/// users can see the command line, but not the other two.
enum HeaderSource {
  /// More than all headers of a request may take together.
  private static let maximumByteCount = 8 * HeaderFields.maximumByteCount

  /// - Parameter argument: a header, or `@` and the path of a file.
  static func lines(ofArgument argument: String) throws(InvalidValue) -> [String] {
    guard argument.hasPrefix("@") else { return [argument] }
    let path = String(argument.dropFirst())
    do throws(SystemError) {
      let bytes = try FileIO.contents(of: path, upTo: maximumByteCount)
      return lines(of: String(decoding: bytes, as: UTF8.self))
    } catch {
      throw InvalidValue("\(Spelling.quoted(path)) cannot be read: \(error)")
    }
  }

  /// Also removes the variable, so that child processes do not inherit it.
  static func lines(ofVariable name: String) throws(InvalidValue) -> [String] {
    guard let text = ThisProcess.takeVariable(name) else {
      throw InvalidValue("the variable \(Spelling.quoted(name)) is not set")
    }
    return lines(of: text)
  }

  private static func lines(of text: String) -> [String] {
    text.split(whereSeparator: \.isNewline).map(String.init)
  }
}
