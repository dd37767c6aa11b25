/// Finds the root element of an XML document behind all that may stand before it (XML 1.0 section
/// 2.8), to tell an SVG from a web page that merely holds one. Reads UTF-8 only.
enum XMLPrologue {
  /// Whether the root element is `svg`. One with a namespace prefix is not known to libvips.
  static func isSVG(_ head: ArraySlice<UInt8>) -> Bool {
    var rest = head
    if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
    while true {
      rest = rest.drop(while: isWhiteSpace)
      if rest.starts(with: "<!--".utf8) {
        guard let end = end(of: "-->", in: rest.dropFirst(4)) else { return false }
        rest = rest[end...]
      } else if rest.starts(with: "<?".utf8) {
        guard let end = end(of: "?>", in: rest.dropFirst(2)) else { return false }
        rest = rest[end...]
      } else if rest.starts(with: "<!DOCTYPE".utf8) {
        guard let end = endOfDocumentType(in: rest) else { return false }
        rest = rest[end...]
      } else {
        return isRootElementSVG(rest)
      }
    }
  }

  private static func isRootElementSVG(_ rest: ArraySlice<UInt8>) -> Bool {
    guard rest.first == UInt8(ascii: "<") else { return false }
    let name = rest.dropFirst().prefix { byte in
      !isWhiteSpace(byte) && byte != UInt8(ascii: ">") && byte != UInt8(ascii: "/")
    }
    return name.elementsEqual("svg".utf8)
  }

  /// A document type may hold an internal subset in brackets, with declarations of its own.
  private static func endOfDocumentType(in rest: ArraySlice<UInt8>) -> Int? {
    var isInSubset = false
    for index in rest.indices {
      switch rest[index] {
      case UInt8(ascii: "["): isInSubset = true
      case UInt8(ascii: "]"): isInSubset = false
      case UInt8(ascii: ">") where !isInSubset: return index + 1
      default: break
      }
    }
    return nil
  }

  /// The index after the first occurrence of `mark`.
  private static func end(of mark: StaticString, in rest: ArraySlice<UInt8>) -> Int? {
    let wanted = Array(mark.description.utf8)
    return rest.indices.first { rest[$0...].starts(with: wanted) }.map { $0 + wanted.count }
  }

  private static func isWhiteSpace(_ byte: UInt8) -> Bool {
    " \t\r\n".utf8.contains(byte)
  }
}
