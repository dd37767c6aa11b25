/// Writes colour profiles that have only a description (ICC.1).
struct ProfileMaker {
  /// As version 2 writes it.
  static func described(_ text: String) -> [UInt8] {
    profile(ascii("desc") + zeros(4) + big(text.utf8.count + 1, 4) + ascii(text) + zeros(80))
  }

  /// As version 4 writes it, by language.
  static func localized(_ texts: [(language: String, text: String)]) -> [UInt8] {
    var records: [UInt8] = []
    var strings: [UInt8] = []
    for (language, text) in texts {
      let units = text.utf16.flatMap { big(Int($0), 2) }
      records += ascii(language) + big(units.count, 4)
      records += big(16 + texts.count * 12 + strings.count, 4)
      strings += units
    }
    return profile(ascii("mluc") + zeros(4) + big(texts.count, 4) + big(12, 4) + records + strings)
  }

  private static func profile(_ tag: [UInt8]) -> [UInt8] {
    let tags = ascii("wtpt") + big(0, 4) + big(0, 4) + ascii("desc") + big(156, 4)
    let head = zeros(128) + big(2, 4)
    return head + tags + big(tag.count, 4) + tag
  }
}
