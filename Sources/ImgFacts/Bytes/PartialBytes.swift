/// The parts of a file that have been fetched so far.
package struct PartialBytes: ByteSource, Sendable {
  private struct Part: Sendable {
    let offset: Int
    var bytes: [UInt8]
    var end: Int { offset + bytes.count }
  }

  /// Sorted by offset. Neither do they overlap, nor do they touch each other.
  private var parts: [Part] = []
  package private(set) var knownByteCount: Int?

  /// - Parameter byteCount: bytes of the whole file, if that is known.
  package init(byteCount: Int? = nil) {
    knownByteCount = byteCount.map { max(0, $0) }
  }

  /// Bytes at hand.
  package var heldByteCount: Int { parts.reduce(0) { $0 + $1.bytes.count } }

  /// Records how long the file is. What lies behind its end is removed.
  package mutating func setByteCount(_ count: Int) {
    let count = max(0, count)
    knownByteCount = count
    parts = parts.compactMap { part in
      guard part.end > count else { return part }
      guard part.offset < count else { return nil }
      return Part(offset: part.offset, bytes: Array(part.bytes.prefix(count - part.offset)))
    }
  }

  /// Adds bytes. Where some are at hand already, the earlier ones stay.
  ///
  /// - Parameter offset: of the first byte; negative ones are ignored.
  package mutating func insert(_ bytes: [UInt8], at offset: Int) {
    guard offset >= 0, offset <= ByteWindow.maximumFileByteCount else { return }
    let limit = (knownByteCount ?? ByteWindow.maximumFileByteCount) - offset
    guard limit > 0, !bytes.isEmpty else { return }
    var added = Part(offset: offset, bytes: bytes.count > limit ? Array(bytes[..<limit]) : bytes)
    // Those that overlap or touch the new part become one with it.
    let first = parts.firstIndex { $0.end >= added.offset } ?? parts.endIndex
    let last = parts.lastIndex { $0.offset <= added.end }.map { $0 + 1 } ?? 0
    guard first < last else {
      parts.insert(added, at: first)
      return
    }
    for part in parts[first..<last] { added = Self.union(part, added) }
    parts.replaceSubrange(first..<last, with: [added])
  }

  private static func union(_ earlier: Part, _ added: Part) -> Part {
    var union = earlier
    if added.offset < earlier.offset {
      union = Part(
        offset: added.offset,
        bytes: Array(added.bytes[..<(earlier.offset - added.offset)]) + earlier.bytes)
    }
    if added.end > union.end { union.bytes += added.bytes[(union.end - added.offset)...] }
    return union
  }

  package func bytes(in range: Range<Int>) -> [UInt8]? {
    guard !range.isEmpty else { return [] }
    guard let part = part(holding: range.lowerBound), range.upperBound <= part.end else {
      return nil
    }
    return Array(part.bytes[range.lowerBound - part.offset..<range.upperBound - part.offset])
  }

  /// The first bytes of a range that are missing, up to where some are at hand or the range ends; `nil`
  /// when none is missing.
  package func missing(in range: Range<Int>) -> Range<Int>? {
    let start = part(holding: range.lowerBound)?.end ?? range.lowerBound
    guard start < range.upperBound else { return nil }
    let next = parts.first { $0.offset > start }
    return start..<min(range.upperBound, next?.offset ?? range.upperBound)
  }

  private func part(holding offset: Int) -> Part? {
    var (low, high) = (0, parts.count)
    while low < high {
      let middle = (low + high) / 2
      if parts[middle].end <= offset { low = middle + 1 } else { high = middle }
    }
    guard low < parts.count, parts[low].offset <= offset else { return nil }
    return parts[low]
  }
}
