import ImgModel

/// Splits the value of a field that is a list (RFC 9110 section 5.6.1).
enum FieldList {
  /// The members without the white space around them. Empty members are among them, because some
  /// fields allow those and others do not.
  ///
  /// A comma in a quoted string (section 5.6.4) does not split. From a quotation mark without a
  /// partner on, quotation marks are ordinary bytes, so that the time stays linear.
  static func members(of value: String) -> [String] {
    let bytes = Array(value.utf8)
    var members: [String] = []
    var start = 0
    var index = 0
    var hasOpenQuote = false
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: ","):
        members.append(text(bytes[start..<index]))
        start = index + 1
      case UInt8(ascii: "\"") where !hasOpenQuote:
        if let end = endOfQuotedString(from: index, in: bytes) {
          index = end
        } else {
          hasOpenQuote = true
        }
      default: break
      }
      index += 1
    }
    return members + [text(bytes[start...])]
  }

  /// The index of the last quotation mark of the string that begins at `start`.
  private static func endOfQuotedString(from start: Int, in bytes: [UInt8]) -> Int? {
    var index = start + 1
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""): return index
      case UInt8(ascii: "\\"): index += 2
      default: index += 1
      }
    }
    return nil
  }

  private static func text(_ member: ArraySlice<UInt8>) -> String {
    String(decoding: member.withoutOuterWhiteSpace, as: UTF8.self)
  }
}
