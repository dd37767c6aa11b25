import ImgModel

/// Finds URLs with a text in them, as lists show them: without their passwords, which a search would tell letter
/// by letter. Letters of ASCII are equal in either case.
struct URLFilter {
  private let text: [UInt8]

  /// - Parameter text: `nil` finds all URLs.
  init(_ text: String?) {
    self.text = Self.folded(text ?? "")
  }

  func matches(_ url: String) -> Bool {
    guard let first = text.first else { return true }
    var rest = Self.folded(url.withoutPasswords)[...]
    while let index = rest.firstIndex(of: first) {
      rest = rest[index...]
      if rest.starts(with: text) { return true }
      rest.removeFirst()
    }
    return false
  }

  private static func folded(_ text: String) -> [UInt8] {
    text.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
  }
}
