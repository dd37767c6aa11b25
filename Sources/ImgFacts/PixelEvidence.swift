import ImgModel

/// What the structure of a file tells of its pixels: whether all that it declares are there. It says
/// nothing of damage in the middle.
enum PixelEvidence: Equatable {
  /// The file goes as far as it declares.
  case whole
  /// Frames of an animation, or pages, lie behind the end of the file. Those before them may be whole.
  case framesCut
  /// The file ends before it has all that it declares. A decoder may accept it nevertheless.
  case short
  /// Only a decoder can tell.
  case unknown

  /// Whether the length of a file says something of its pixels. The facts of the others come from a
  /// walk through all of their blocks, which notices a cut.
  static func isSought(in format: ImageFormat) -> Bool { ![.png, .gif, .webp].contains(format) }

  /// - Parameter byteCount: of the file.
  /// - Throws: only ``FactsError/needsBytes(_:)``.
  init(
    in window: ByteWindow, of facts: PictureFacts, byteCount: Int
  ) throws(FactsError) {
    let file = MeasuredFile(window: window, byteCount: byteCount)
    do throws(FactsError) {
      self = try file.evidence(of: facts)
    } catch {
      switch error {
      case .needsBytes: throw error
      case .truncated: self = .short
      case .invalid, .notAnImage, .unsupported: self = .unknown
      }
    }
  }
}

/// A file whose length is known.
private struct MeasuredFile {
  /// How far in front of the end its mark is looked for: programs append to a file.
  private static let endByteCount = 4_096

  let window: ByteWindow
  let byteCount: Int

  func evidence(of facts: PictureFacts) throws(FactsError) -> PixelEvidence {
    switch facts.format {
    case .png, .gif, .webp: .whole
    case .jpeg: try jpeg()
    case .heif, .avif: try heif(isSequence: facts.isAnimated == true)
    case .jxl: try jxl(isAnimated: facts.isAnimated == true)
    case .jp2: try jp2()
    case .svg: try svg()
    case .tiff: try TIFFFacts.evidence(in: window, byteCount: byteCount)
    case .bmp: try BitmapFacts.evidence(in: window, byteCount: byteCount)
    case .ico: try IconFacts.evidence(in: window, byteCount: byteCount)
    case .pnm: try AnymapHeader(in: window).evidence(inFileOf: byteCount)
    }
  }

  /// The last bytes, none of them in front of an offset.
  private func end(notBefore offset: Int = 0) throws(FactsError) -> [UInt8] {
    try window.bytes(at: max(offset, byteCount - Self.endByteCount), upTo: Self.endByteCount)
  }

  // MARK: - Marks at the end

  /// The end of the picture is marked, and no compressed pixels look like the mark (ITU-T T.81 section
  /// B.1.1.2). Where it is missing the pixels may be whole, or more than is searched follows them.
  private func jpeg() throws(FactsError) -> PixelEvidence {
    guard var segments = try JPEGSegments(window) else { return .unknown }
    while let segment = try segments.next() {
      guard segment.marker == JPEGSegments.Marker.scan else { continue }
      let end = try end(notBefore: segments.offset)
      return zip(end, end.dropFirst()).contains { $0 == 0xFF && $1 == 0xD9 } ? .whole : .unknown
    }
    return .unknown
  }

  /// The last tag closes the root element, unless something follows it. What is compressed is not read.
  private func svg() throws(FactsError) -> PixelEvidence {
    let whiteSpace = Set(" \t\r\n".utf8)
    var end = try end()[...]
    while let last = end.last, whiteSpace.contains(last) { end.removeLast() }
    guard end.popLast() == UInt8(ascii: ">"), let start = end.lastIndex(of: UInt8(ascii: "<")),
      end[start...].dropFirst().first == UInt8(ascii: "/")
    else { return .unknown }
    let name = String(decoding: end[start...].dropFirst(2), as: UTF8.self)
    return name.split { " \t\r\n:".contains($0) }.last == "svg" ? .whole : .unknown
  }

  /// A codestream ends with a marker (ITU-T T.800 section A.4.4).
  private func jp2() throws(FactsError) -> PixelEvidence {
    var end = byteCount
    if try window.fields(at: 0, count: 2).u16(0) != 0xFF4F {
      let (boxes, fit) = try boxes()
      guard fit != .short, let stream = boxes.first(where: { $0.box.type == "jp2c" }) else {
        return .short
      }
      end = min(stream.end, byteCount)
    }
    return try window.fields(at: end - 2, count: 2).u16(0) == 0xFFD9 ? .whole : .short
  }

  // MARK: - Boxes

  /// The boxes of the file, where each of them ends, and whether they end with the file.
  private func boxes() throws(FactsError) -> ([(box: ISOMediaBox, end: Int)], fit: PixelEvidence) {
    var found: [(box: ISOMediaBox, end: Int)] = []
    var boxes = ISOMediaBoxes(window)
    while boxes.offset < byteCount, let box = try boxes.next() {
      found.append((box, boxes.offset))
    }
    // The last one may go as far as the file does, however far that is.
    let isOpen = boxes.offset == window.byteCount
    guard boxes.offset != byteCount else { return (found, .whole) }
    return (found, boxes.offset < byteCount || isOpen ? .unknown : .short)
  }

  /// A sequence has its frames where its tracks say. Each may lie anywhere in the file.
  private func heif(isSequence: Bool) throws(FactsError) -> PixelEvidence {
    let (boxes, fit) = try boxes()
    guard isSequence, let movie = boxes.first(where: { $0.box.type == "moov" })?.box else {
      return fit
    }
    for track in try ISOMediaTrack.all(in: movie)
    where track.showsPictures || track.handler == "auxv" {
      let samples = try SampleTable(of: track).samples
      if samples.contains(where: { $0.upperBound > byteCount }) { return .framesCut }
    }
    return fit
  }

  /// How long a codestream is shows only to a decoder. A box says it for one that is in it (ISO/IEC
  /// 18181-2 annex B); the frames of an animation are counted by a decoder in any case.
  private func jxl(isAnimated: Bool) throws(FactsError) -> PixelEvidence {
    guard try window.fields(at: 0, count: 2).u16(0) != 0xFF0A, !isAnimated else { return .unknown }
    let (boxes, fit) = try boxes()
    guard fit == .whole else { return fit }
    for (box, _) in boxes {
      // The highest bit of its number marks the last part.
      if box.type == "jxlc" { return .whole }
      if box.type == "jxlp", try box.payload.fields(at: 0, count: 1).u8(0) & 0x80 != 0 {
        return .whole
      }
    }
    return .short
  }
}

extension TIFFFacts {
  private enum Tag {
    static let compression = 259
    static let strips = (offsets: 273, byteCounts: 279)
    static let tiles = (offsets: 324, byteCounts: 325)
  }

  private static let oldJPEG = 6
  /// Of one page.
  private static let maximumStripCount = 1 << 20

  /// The first page is the picture; the others are what an animation has as frames.
  fileprivate static func evidence(
    in window: ByteWindow, byteCount: Int
  ) throws(FactsError) -> PixelEvidence {
    guard let file = try TIFFFile(window),
      let first = try file.directory(at: file.firstDirectoryOffset)
    else { return .unknown }
    let evidence = try evidence(of: first, byteCount: byteCount)
    guard evidence == .whole else { return evidence }
    for offset in try file.directoryOffsets().dropFirst() {
      if let page = try file.directory(at: offset),
        try self.evidence(of: page, byteCount: byteCount) == .short
      {
        return .framesCut
      }
    }
    return .whole
  }

  private static func evidence(
    of page: TIFFDirectory, byteCount: Int
  ) throws(FactsError) -> PixelEvidence {
    guard try page.firstNumber(Tag.compression) != oldJPEG else { return .unknown }
    let tags = page.entry(Tag.tiles.offsets) == nil ? Tag.strips : Tag.tiles
    guard let offsets = try numbers(tags.offsets, of: page),
      let byteCounts = try numbers(tags.byteCounts, of: page), offsets.count == byteCounts.count
    else { return .unknown }
    let isInside = zip(offsets, byteCounts).allSatisfy { $0 <= byteCount && $1 <= byteCount - $0 }
    return isInside ? .whole : .short
  }

  /// - Returns: `nil` for other values than offsets have, and for too many of them.
  private static func numbers(
    _ tag: Int, of page: TIFFDirectory
  ) throws(FactsError) -> [Int]? {
    guard let entry = page.entry(tag), (1...maximumStripCount).contains(entry.count),
      let type = entry.type, [.short, .long, .long8].contains(type),
      let fields = try page.fields(of: entry, upTo: entry.count)
    else { return nil }
    return (0..<entry.count).map { fields.unsigned($0 * type.byteCount, count: type.byteCount) }
  }
}

extension BitmapFacts {
  /// What runs or an embedded picture hold shows only to a decoder. So does where the pixels begin if
  /// the file does not say it.
  fileprivate static func evidence(
    in window: ByteWindow, byteCount: Int
  ) throws(FactsError) -> PixelEvidence {
    let offset = try window.fields(
      at: 0, count: fileHeaderByteCount, order: .littleEndian
    ).u32(10)
    let bitmap = try BitmapFacts(window.part(from: fileHeaderByteCount), isInIcon: false)
    guard bitmap.isUncompressed, offset >= fileHeaderByteCount + bitmap.headerByteCount else {
      return .unknown
    }
    // No file has more.
    let maximumRowByteCount = ByteWindow.maximumFileByteCount / bitmap.height
    guard bitmap.width * bitmap.bitCount / 8 <= maximumRowByteCount else { return .short }
    let rows = BitmapRows(
      at: offset, width: bitmap.width, bitCount: bitmap.bitCount, height: bitmap.height,
      inFileOf: byteCount)
    let profileEnd = bitmap.profile?.upperBound ?? 0
    return rows.presentCount == bitmap.height && profileEnd <= byteCount ? .whole : .short
  }
}

extension IconFacts {
  /// The directory says how long each picture is.
  fileprivate static func evidence(
    in window: ByteWindow, byteCount: Int
  ) throws(FactsError) -> PixelEvidence {
    try entries(in: window).allSatisfy { $0.offset + $0.byteCount <= byteCount } ? .whole : .short
  }
}

extension AnymapHeader {
  /// Numbers that are written as text have no fixed length.
  fileprivate func evidence(inFileOf byteCount: Int) -> PixelEvidence {
    // No file has more.
    guard width * storedBandCount <= ByteWindow.maximumFileByteCount else { return .short }
    switch samples {
    case .textBits, .text: return .unknown
    case .bits, .numbers, .floats:
      return possibleRowCount(inFileOf: byteCount) == height ? .whole : .short
    }
  }
}
