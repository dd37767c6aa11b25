import ImgHTTP
import ImgSettings

extension RequestRejection {
  /// The request target is not one that a client should send.
  static func malformedTarget(_ message: String) -> RequestRejection {
    RequestRejection(.badRequest, code: "malformed_target", message)
  }

  /// There is nothing of the name.
  static func notFound(_ message: String) -> RequestRejection {
    RequestRejection(.notFound, code: "not_found", message)
  }

  /// The address of the picture is missing or is no URL.
  static func invalidURL(_ message: String) -> RequestRejection {
    RequestRejection(.badRequest, code: "invalid_url", message)
  }

  /// The value of an option is not one that it takes.
  ///
  /// - Parameter reason: the end of a sentence that begins with the name of the option.
  static func invalidOption(_ name: String, _ reason: String) -> RequestRejection {
    RequestRejection(
      .unprocessableContent, code: "invalid_option", "the option \(shown(name)) \(reason)")
  }

  /// The option exists elsewhere, and this server does not have it.
  static func unsupportedOption(_ name: String) -> RequestRejection {
    RequestRejection(
      .unprocessableContent, code: "unsupported_option",
      "the option \(shown(name)) is not supported; leave it out")
  }

  /// There is no such option.
  ///
  /// - Parameter known: the names of all options.
  static func unknownOption(_ name: String, among known: [String]) -> RequestRejection {
    guard !name.isEmpty else {
      return .malformedTarget("an option has no name; write its name before its value")
    }
    return unknownOption(name, advice: Spelling.suggestion(for: name, among: known))
  }

  /// The same for an option that may be meant otherwise.
  ///
  /// - Parameter advice: the end of a sentence, from its semicolon on; it may be empty.
  static func unknownOption(_ name: String, advice: String) -> RequestRejection {
    RequestRejection(
      .unprocessableContent, code: "unknown_option", "there is no option \(shown(name))\(advice)")
  }

  private static func shown(_ name: String) -> String { Spelling.quoted(name) }
}
