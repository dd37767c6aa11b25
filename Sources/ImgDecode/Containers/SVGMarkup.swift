/// What stands in the text of an SVG, without a look at its structure. Comments and other text may look
/// like markup and then count, too.
struct SVGMarkup {
  /// Some programs declare the names of namespaces as entities, each a URL.
  private static let maximumEntityByteCount = 256
  /// Of the declaration of an entity, so that a long one is not read again and again.
  private static let examinedByteCount = 1_024

  private(set) var elementCount = 0
  /// Whether all entities (XML 1.0 section 4) are short text: none refers to another one, to a file or
  /// to markup, so their use makes a document only a little longer.
  private(set) var hasPlainEntities = true
  /// The text of each `data:` URL in an attribute.
  private(set) var dataURLs: [[UInt8]] = []

  init(_ text: [UInt8]) {
    let dataURLStart = Array("data:".utf8)
    for index in text.indices {
      switch text[index] {
      case UInt8(ascii: "<"):
        examineMarkup(text[(index + 1)...])
      case UInt8(ascii: "\""), UInt8(ascii: "'"):
        let value = text[(index + 1)...].drop(while: Self.isWhiteSpace)
        guard value.starts(with: dataURLStart) else { continue }
        dataURLs.append(Array(value.prefix { $0 != text[index] }))
      default: break
      }
    }
  }

  /// - Parameter rest: the text behind a "<".
  private mutating func examineMarkup(_ rest: ArraySlice<UInt8>) {
    switch rest.first {
    case UInt8(ascii: "/"), UInt8(ascii: "?"), nil: break
    case UInt8(ascii: "!"):
      let head = rest.prefix(Self.examinedByteCount)
      guard hasPlainEntities, head.starts(with: "!ENTITY".utf8) else { return }
      hasPlainEntities = Self.isPlainEntity(head.dropFirst(7))
    default: elementCount += 1
    }
  }

  /// - Parameter declaration: the name and the value (XML 1.0 production 71).
  private static func isPlainEntity(_ declaration: ArraySlice<UInt8>) -> Bool {
    let name = declaration.drop(while: isWhiteSpace)
    // A parameter entity has a "%" before its name, and an external one a word in place of the value.
    guard name.first != UInt8(ascii: "%") else { return false }
    let value = name.drop { !isWhiteSpace($0) }.drop(while: isWhiteSpace)
    guard let quote = value.first, "\"'".utf8.contains(quote) else { return false }
    let text = value.dropFirst().prefix { $0 != quote }
    return text.count <= maximumEntityByteCount && !text.contains { "&%<".utf8.contains($0) }
  }

  private static func isWhiteSpace(_ byte: UInt8) -> Bool {
    " \t\r\n".utf8.contains(byte)
  }
}
