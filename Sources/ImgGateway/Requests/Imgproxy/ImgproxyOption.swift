/// One option of imgproxy's path: a name and its arguments, `rs:fit:300:200`.
struct ImgproxyOption: Hashable {
  let name: String
  /// Decoded. At least one, which may be empty.
  let arguments: [String]

  /// - Parameter segment: of a path, with its escapes, and with at least one colon. An escaped colon is one, too:
  ///   some proxies escape them, and imgproxy reads them so.
  /// - Throws: 400 for invalid escapes.
  init(_ segment: Substring) throws(RequestRejection) {
    var parts: [String] = []
    let text = EscapedText.restoringColons(in: segment)
    for part in text.split(separator: ":", omittingEmptySubsequences: false) {
      parts.append(try EscapedText.decoded(part))
    }
    name = parts[0]
    arguments = Array(parts.dropFirst())
  }

  /// An argument as a value of the option. An argument that is not there is empty, which means its default.
  func value(_ index: Int) -> OptionValue {
    OptionValue(name: name, text: index < arguments.count ? arguments[index] : "")
  }

  /// Refuses more arguments than the option has.
  func requireArguments(atMost count: Int) throws(RequestRejection) {
    guard arguments.count <= count else {
      throw .invalidOption(
        name, "has \(arguments.count) arguments; write at most \(count), separated by colons")
    }
  }
}
