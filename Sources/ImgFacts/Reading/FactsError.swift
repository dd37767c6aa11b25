/// Why facts cannot be told.
package enum FactsError: Error, Hashable, Sendable {
  /// A range of the file is missing. It is never empty, and it ends at or before the end of a file
  /// whose length is known. With more of it at hand, the same call comes further.
  case needsBytes(Range<Int>)
  /// The file ends before the facts do.
  case truncated
  /// No image format begins like the file. The text is for people.
  case notAnImage(String)
  /// The file breaks the rules of its format. The text is for people.
  case invalid(String)
  /// A format, or a kind of it, that is not read. The text is for people.
  case unsupported(String)
}
