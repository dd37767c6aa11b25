import ImgModel

/// Contact data in a User-Agent: a mail address or a URL.
enum Contact {
  static let maximumByteCount = 200

  /// - Returns: the text, which is safe inside a comment (RFC 9110 section 5.6.5).
  static func check(_ text: String) throws(InvalidValue) -> String {
    let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"()\\".utf8.contains($0) }
    guard isPlain, text.utf8.count <= maximumByteCount, isURL(text) || isMailAddress(text) else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is neither a mail address nor a URL; write "
          + "name@example.org or https://example.org/bot")
    }
    return text
  }

  private static func isURL(_ text: String) -> Bool {
    (try? ImageURL(parsing: text)).map { !$0.isLocal } ?? false
  }

  private static func isMailAddress(_ text: String) -> Bool {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, !text.contains("/") else { return false }
    return parts[1].split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
      !label.isEmpty && label.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" }
    }
  }
}
