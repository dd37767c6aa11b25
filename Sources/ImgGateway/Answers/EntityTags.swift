/// The entity tags of a field `If-Match` or `If-None-Match` (RFC 9110, sections 13.1.1 and 13.1.2).
struct EntityTags {
  private let tags: [Substring]

  /// - Parameter field: the value of the field.
  init(_ field: String) {
    tags = field.split(separator: ",").map { tag in
      let isSpace = { (character: Character) in character == " " || character == "\t" }
      let start = tag.drop(while: isSpace)
      return start[
        ..<(start.lastIndex { !isSpace($0) }.map(start.index(after:)) ?? start.startIndex)]
    }
  }

  /// Whether one is that of a representation. The comparison is weak (section 8.8.3.2).
  ///
  /// - Parameter tag: strong, with its quotation marks.
  func contain(_ tag: String) -> Bool {
    tags.contains { $0 == "*" || ($0.hasPrefix("W/") ? $0.dropFirst(2) : $0) == tag }
  }

  /// The same with the strong comparison, which no weak tag passes.
  func containStrongly(_ tag: String) -> Bool {
    tags.contains { $0 == "*" || $0 == tag }
  }
}
