/// In which order a file stores the bytes of a number.
package enum ByteOrder: Sendable {
  case littleEndian, bigEndian
}

/// Numbers in bytes that have been read. Behind the end every byte is 0: a reader asks for the bytes
/// of all fields that it uses.
package struct BinaryFields: Sendable {
  package let bytes: [UInt8]
  package let order: ByteOrder

  package init(_ bytes: [UInt8], _ order: ByteOrder = .bigEndian) {
    self.bytes = bytes
    self.order = order
  }

  var count: Int { bytes.count }

  func u8(_ offset: Int) -> Int {
    bytes.indices.contains(offset) ? Int(bytes[offset]) : 0
  }

  package func u16(_ offset: Int) -> Int { Int(number(at: offset, count: 2)) }
  func u24(_ offset: Int) -> Int { Int(number(at: offset, count: 3)) }
  package func u32(_ offset: Int) -> Int { Int(number(at: offset, count: 4)) }

  /// A number of 64 bits; greater ones than an `Int` holds become the greatest.
  func u64(_ offset: Int) -> Int { Int(clamping: number(at: offset, count: 8)) }

  /// A number of `count` bytes, 0…8.
  func unsigned(_ offset: Int, count: Int) -> Int {
    Int(clamping: number(at: offset, count: count))
  }

  /// The bits of a number of `count` bytes, 0…8.
  func number(at offset: Int, count: Int) -> UInt64 {
    var value: UInt64 = 0
    for index in 0..<count {
      let place = order == .bigEndian ? index : count - 1 - index
      value = value << 8 | UInt64(u8(offset + place))
    }
    return value
  }

  /// Four letters, as chunks, boxes and profiles name their parts.
  func name(_ offset: Int) -> String {
    String(decoding: (0..<4).map { UInt8(u8(offset + $0)) }, as: UTF8.self)
  }
}

/// Bytes of a file, of which some may not be at hand yet.
package protocol ByteSource {
  /// Bytes of the whole file; `nil` while that is unknown.
  var knownByteCount: Int? { get }

  /// The bytes of a range; `nil` unless all of them are at hand.
  func bytes(in range: Range<Int>) -> [UInt8]?
}

/// A file that is at hand as a whole.
package struct WholeBytes: ByteSource, Sendable {
  private let bytes: [UInt8]

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  package var knownByteCount: Int? { bytes.count }

  package func bytes(in range: Range<Int>) -> [UInt8]? {
    guard range.lowerBound >= 0, range.upperBound <= bytes.count else { return nil }
    return Array(bytes[range])
  }
}

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
