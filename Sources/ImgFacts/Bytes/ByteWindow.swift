/// A part of a file that has offsets of its own, such as the metadata in it. It may consist of
/// several runs of bytes, such as a colour profile in several segments.
package struct ByteWindow {
  /// Larger files do not exist, so that sums of two offsets never overflow.
  static let maximumFileByteCount = 1 << 40

  private let source: any ByteSource
  /// Where its bytes lie in the file.
  private let runs: [Range<Int>]
  /// Of a file that may be cut, only an upper bound.
  package let byteCount: Int
  /// Whether a read behind its end is one behind the end of the file.
  private let isFile: Bool

  /// A whole file. A part of it may lie behind its end: to read that says that the file is cut.
  package init(_ source: any ByteSource) {
    self.source = source
    byteCount = Self.maximumFileByteCount
    runs = [0..<byteCount]
    isFile = true
  }

  /// Bytes that a file holds in another form, such as a decompressed profile.
  init(decoded bytes: [UInt8]) {
    self.init(source: WholeBytes(bytes), runs: [0..<bytes.count])
  }

  private init(source: any ByteSource, runs: [Range<Int>]) {
    self.source = source
    self.runs = runs
    byteCount = runs.reduce(0) { $0 + $1.count }
    isFile = false
  }

  /// Several windows of one file, one behind the other; `nil` for none.
  init?(joining windows: [ByteWindow]) {
    guard let first = windows.first else { return nil }
    self.init(source: first.source, runs: windows.flatMap(\.runs))
  }

  /// A part of this window. What would lie behind the window's end is left out.
  func part(at offset: Int, count: Int) -> ByteWindow {
    ByteWindow(source: source, runs: fileRanges(at: offset, count: count))
  }

  /// What lies behind an offset.
  func part(from offset: Int) -> ByteWindow {
    part(at: offset, count: max(0, byteCount - max(0, offset)))
  }

  /// - Returns: `nil` when some of the bytes lie outside of the window.
  /// - Throws: ``FactsError/needsBytes(_:)``, or ``FactsError/truncated`` when they lie behind the
  ///   end of the file.
  package func bytes(at offset: Int, count: Int) throws(FactsError) -> [UInt8]? {
    guard offset >= 0, count >= 0, offset <= byteCount, count <= byteCount - offset else {
      if isFile, offset >= 0, count >= 0 { throw .truncated }
      return nil
    }
    var bytes: [UInt8] = []
    for range in fileRanges(at: offset, count: count) {
      if let end = source.knownByteCount, range.upperBound > end { throw .truncated }
      guard let found = source.bytes(in: range) else { throw .needsBytes(range) }
      if bytes.isEmpty { bytes = found } else { bytes += found }
    }
    return bytes
  }

  /// At most so many bytes: fewer at the window's end.
  func bytes(at offset: Int, upTo count: Int) throws(FactsError) -> [UInt8] {
    let end = isFile ? min(source.knownByteCount ?? byteCount, byteCount) : byteCount
    guard offset >= 0, offset < end else { return [] }
    return try bytes(at: offset, count: min(count, end - offset)) ?? []
  }

  /// Whether a file is known to end at an offset.
  func isEndOfFile(_ offset: Int) -> Bool { isFile && source.knownByteCount == offset }

  /// Numbers at an offset.
  ///
  /// - Throws: also ``FactsError/invalid(_:)`` when they lie outside of the window.
  func fields(
    at offset: Int, count: Int, order: ByteOrder = .bigEndian
  ) throws(FactsError) -> BinaryFields {
    guard let bytes = try bytes(at: offset, count: count) else {
      throw .invalid("a part of the file is shorter than its header")
    }
    return BinaryFields(bytes, order)
  }

  /// Numbers at an offset; `nil` when they lie outside of the window.
  func fieldsIfInside(
    at offset: Int, count: Int, order: ByteOrder = .bigEndian
  ) throws(FactsError) -> BinaryFields? {
    try bytes(at: offset, count: count).map { BinaryFields($0, order) }
  }

  /// Where bytes lie in the file, if they lie in one run of it.
  func fileRange(at offset: Int, count: Int) -> Range<Int>? {
    let ranges = fileRanges(at: offset, count: count)
    guard let range = ranges.first, ranges.count == 1, range.count == count else { return nil }
    return range
  }

  private func fileRanges(at offset: Int, count: Int) -> [Range<Int>] {
    guard offset >= 0, count > 0, offset < byteCount else { return [] }
    var ranges: [Range<Int>] = []
    var (skipped, rest) = (offset, min(count, byteCount - offset))
    for run in runs where rest > 0 {
      guard skipped < run.count else {
        skipped -= run.count
        continue
      }
      let start = run.lowerBound + skipped
      let taken = min(rest, run.upperBound - start)
      ranges.append(start..<start + taken)
      (skipped, rest) = (0, rest - taken)
    }
    return ranges
  }
}
