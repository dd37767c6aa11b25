/// Finds the root element of an XML document behind all that may stand before it (XML 1.0 section
/// 2.8), to tell an SVG from a web page that merely holds one. Reads UTF-8 and UTF-16.
package enum XMLPrologue {
  enum Verdict: Equatable {
    /// The root element is `svg`, under whatever prefix of a namespace.
    case svg
    /// It is another one, or this is no XML.
    case other
    /// The bytes end before the root element, and nothing speaks against one.
    case undecided
  }

  static func verdict(on head: ArraySlice<UInt8>) -> Verdict {
    rootElement(in: head).map { verdict(onElement: $0) } ?? .undecided
  }

  /// The document in UTF-8 from its first element on, or from what stands in its place.
  ///
  /// - Returns: `nil` when the bytes end before it.
  package static func rootElement(in head: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    var rest = text(of: head)
    while true {
      rest = rest.drop(while: isWhiteSpace)
      guard !rest.isEmpty else { return nil }
      if rest.starts(with: "<!--".utf8) {
        guard let end = end(of: "-->", in: rest.dropFirst(4)) else { return nil }
        rest = rest[end...]
      } else if rest.starts(with: "<?".utf8) {
        guard let end = end(of: "?>", in: rest.dropFirst(2)) else { return nil }
        rest = rest[end...]
      } else if rest.starts(with: "<!DOCTYPE".utf8) {
        guard let end = endOfDocumentType(in: rest) else { return nil }
        rest = rest[end...]
      } else {
        return rest
      }
    }
  }

  private static func verdict(onElement rest: ArraySlice<UInt8>) -> Verdict {
    guard rest.first == UInt8(ascii: "<") else { return .other }
    let isEnd = { (byte: UInt8) in
      isWhiteSpace(byte) || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/")
    }
    let name = rest.dropFirst().prefix { !isEnd($0) }
    guard name.endIndex < rest.endIndex else { return .undecided }
    // Names are an optional prefix, a colon and the name itself (Namespaces in XML 1.0 section 4).
    let localName = name.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).last
    return localName?.elementsEqual("svg".utf8) == true ? .svg : .other
  }

  /// The document in UTF-8. One in UTF-16 begins with a byte order mark (XML 1.0 section 4.3.3).
  private static func text(of head: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let bytes = Array(head)
    switch bytes.prefix(2) {
    case [0xFE, 0xFF]: return utf8(units(of: bytes) { UInt16($0) << 8 | UInt16($1) })
    case [0xFF, 0xFE]: return utf8(units(of: bytes) { UInt16($1) << 8 | UInt16($0) })
    default: return bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
    }
  }

  /// The code units behind the byte order mark.
  private static func units(
    of bytes: [UInt8], _ unit: (UInt8, UInt8) -> UInt16
  ) -> [UInt16] {
    stride(from: 2, to: bytes.count - 1, by: 2).map { unit(bytes[$0], bytes[$0 + 1]) }
  }

  private static func utf8(_ units: [UInt16]) -> ArraySlice<UInt8> {
    Array(String(decoding: units, as: UTF16.self).utf8)[...]
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
