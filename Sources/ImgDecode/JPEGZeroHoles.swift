/// Finds zeros in place of a JPEG's data, as a lost disk block or a lost part of a download leaves
/// them.
///
/// The shortest code of a Huffman table consists of zeros (ITU-T T.81 annex C), so zeros are its
/// symbol over and over. Where that symbol ends a block, zeros are an even area. Where it is a
/// coefficient, they are blocks of equal coefficients up to the highest frequency, which no picture
/// has. libjpeg does not notice them if as many blocks come out as were lost.
struct JPEGZeroHoles {
  private enum Marker {
    static let huffmanTables: UInt8 = 0xC4
    static let frames: ClosedRange<UInt8> = 0xC0...0xC2
    static let progressiveFrame: UInt8 = 0xC2
    static let scan: UInt8 = 0xDA
    static let end: UInt8 = 0xD9
  }

  /// The code of a table that consists of zeros.
  private struct ZeroCode {
    let bitCount: Int
    let symbol: UInt8
    /// Of an AC symbol: coefficients that are 0 before the one with so many bits.
    var run: Int { Int(symbol >> 4) }
    var valueBitCount: Int { Int(symbol & 0x0F) }
  }

  /// Shorter runs are not looked at.
  private static let minimumByteCount = 64
  /// Fewer equal coefficients in each of several blocks could be a regular pattern.
  private static let implausibleCoefficientCount = 16
  private static let chunkByteCount = 1 << 16
  /// What follows so many segments is not searched: no picture has them, and each costs a read.
  private static let segmentMaximum = 10_000

  private let input: PictureInput
  /// By class and number, as DHT has them.
  private var zeroCodes: [UInt8: ZeroCode] = [:]
  /// Of each component, its blocks in a unit of several components.
  private var blockCounts: [UInt8: Int] = [:]
  private var isProgressive = false

  /// - Parameter input: a JPEG that libjpeg has decoded without complaint.
  static func exist(in input: PictureInput) -> Bool {
    var search = JPEGZeroHoles(input: input)
    return search.findsHole()
  }

  private init(input: PictureInput) {
    self.input = input
  }

  private mutating func findsHole() -> Bool {
    var offset = 2
    var isFirstScan = true
    var segmentCount = 0
    while segmentCount < Self.segmentMaximum, let (marker, content) = segment(after: offset) {
      offset = content.upperBound
      segmentCount += 1
      switch marker {
      case Marker.huffmanTables: readTables(bytes(in: content))
      case Marker.frames:
        isProgressive = marker == Marker.progressiveFrame
        readFrame(bytes(in: content))
      case Marker.end: return false
      case Marker.scan:
        // Nearly always there is nothing to look for, wherever the scans end.
        if isFirstScan, !hasZeros(Self.minimumByteCount, in: offset..<Int.max) { return false }
        isFirstScan = false
        let end = nextMarker(from: offset) ?? Int.max
        if let byteCount = holeByteCount(ofScan: bytes(in: content)),
          hasZeros(max(byteCount, Self.minimumByteCount), in: offset..<end)
        {
          return true
        }
      default: break
      }
    }
    return false
  }

  /// How many zeros cannot be data of a scan; `nil` where any number can. Two units hold a whole
  /// one, wherever they begin.
  private func holeByteCount(ofScan header: [UInt8]) -> Int? {
    guard let count = header.first.map(Int.init), header.count == 4 + 2 * count else { return nil }
    let starts = stride(from: 1, to: 1 + 2 * count, by: 2)
    let components = starts.map { (id: header[$0], tables: header[$0 + 1]) }
    let unit =
      isProgressive
      ? bandBitCount(
        components, first: Int(header[1 + 2 * count]), last: Int(header[2 + 2 * count]))
      : unitBitCount(components)
    return unit.map { 2 * $0 / 8 + 1 }
  }

  /// The bits of a block in a scan of one component's band; `nil` where zeros are plausible. Of the
  /// average of a block they always are.
  private func bandBitCount(
    _ components: [(id: UInt8, tables: UInt8)], first: Int, last: Int
  ) -> Int? {
    guard first > 0, first <= last, let tables = components.first?.tables,
      let code = zeroCodes[0x10 | tables & 0x0F]
    else { return nil }
    return implausibleBitCount(of: code, coefficientCount: last - first + 1)
  }

  /// The bits of a unit in a scan with all frequencies; `nil` where zeros are plausible in it.
  private func unitBitCount(_ components: [(id: UInt8, tables: UInt8)]) -> Int? {
    var bitCount = 0
    var isImplausible = false
    for (id, tables) in components {
      guard let average = zeroCodes[tables >> 4], let code = zeroCodes[0x10 | tables & 0x0F] else {
        return nil
      }
      let blockCount = components.count > 1 ? blockCounts[id, default: 1] : 1
      let implausible = implausibleBitCount(of: code, coefficientCount: 63)
      if implausible != nil { isImplausible = true }
      bitCount +=
        blockCount * (average.bitCount + Int(average.symbol) + (implausible ?? code.bitCount))
    }
    return isImplausible ? bitCount : nil
  }

  /// The bits of a block that zeros fill with equal coefficients.
  private func implausibleBitCount(of code: ZeroCode, coefficientCount: Int) -> Int? {
    guard code.valueBitCount > 0 else { return nil }
    let count = (coefficientCount + code.run) / (code.run + 1)
    guard count >= Self.implausibleCoefficientCount else { return nil }
    return count * (code.bitCount + code.valueBitCount)
  }

  // MARK: - Segments

  /// The tables of T.81 section B.2.4.2: class and number, how many codes each length has, symbols.
  private mutating func readTables(_ content: [UInt8]) {
    var rest = content[...]
    while let place = rest.popFirst(), rest.count >= 16 {
      let counts = rest.prefix(16)
      rest = rest.dropFirst(16)
      if let length = counts.firstIndex(where: { $0 > 0 }), let symbol = rest.first {
        zeroCodes[place] = ZeroCode(bitCount: length - counts.startIndex + 1, symbol: symbol)
      }
      rest = rest.dropFirst(counts.reduce(0) { $0 + Int($1) })
    }
  }

  /// The frame header of section B.2.2: of each component its number and sampling factors.
  private mutating func readFrame(_ content: [UInt8]) {
    for start in stride(from: 6, to: content.count - 2, by: 3) {
      let factors = content[start + 1]
      blockCounts[content[start]] = Int(factors >> 4) * Int(factors & 0x0F)
    }
  }

  /// The next marker from an offset on, and where the content of its segment lies.
  private func segment(after offset: Int) -> (marker: UInt8, content: Range<Int>)? {
    let next = input.bytes(at: offset, upTo: 2)
    let isAtMarker = next.count == 2 && next[0] == 0xFF && Self.isMarker(next[1])
    guard let start = isAtMarker ? offset : nextMarker(from: offset) else { return nil }
    let head = input.bytes(at: start, upTo: 4)
    guard head.count > 1 else { return nil }
    guard head[1] != Marker.end else { return (head[1], start + 2..<start + 2) }
    guard head.count == 4, case let byteCount = Int(head[2]) << 8 | Int(head[3]), byteCount >= 2
    else { return nil }
    return (head[1], start + 4..<start + 2 + byteCount)
  }

  /// Where the next marker begins that is no part of entropy-coded data.
  private func nextMarker(from start: Int) -> Int? {
    var offset = start
    var isAfterFF = false
    while case let chunk = input.bytes(at: offset, upTo: Self.chunkByteCount), !chunk.isEmpty {
      for (index, byte) in chunk.enumerated() {
        if isAfterFF, Self.isMarker(byte) {
          return offset + index - 1
        }
        isAfterFF = byte == 0xFF
      }
      offset += chunk.count
    }
    return nil
  }

  /// Whether a byte behind FF makes a marker that is no part of entropy-coded data.
  private static func isMarker(_ byte: UInt8) -> Bool {
    byte != 0 && byte != 0xFF && !(0xD0...0xD7).contains(byte)
  }

  private func bytes(in range: Range<Int>) -> [UInt8] {
    input.bytes(at: range.lowerBound, upTo: range.count)
  }

  /// Whether so many zeros follow each other. Looks at few of the bytes.
  private func hasZeros(_ byteCount: Int, in range: Range<Int>) -> Bool {
    var offset = range.lowerBound
    while offset < range.upperBound {
      let chunk = input.bytes(
        at: offset, upTo: min(Self.chunkByteCount + byteCount, range.upperBound - offset))
      var first = 0
      while first + byteCount <= chunk.count {
        var last = first + byteCount - 1
        while last >= first, chunk[last] == 0 { last -= 1 }
        if last < first { return true }
        first = last + 1
      }
      guard chunk.count == Self.chunkByteCount + byteCount else { return false }
      // A run may begin here and end in the next chunk.
      offset += first
    }
    return false
  }
}
