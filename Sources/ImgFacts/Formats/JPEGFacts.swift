import ImgModel

/// Reads the segments of a JPEG in their order.
struct JPEGFacts {
  private static let maximumEXIFSegmentCount = 16

  private let extent: FactsExtent
  private var header: JPEGHeader?
  private var isJFIF = false
  /// How Adobe's programs have encoded the colours.
  private var adobeTransform: Int?
  private var orientation: Int?
  private var exif: EXIFBlock?
  /// Programs that change a file leave an earlier segment where it is.
  private var exifSegmentCount = 0
  private var xmp: ByteWindow?
  private var photoshop: [ByteWindow] = []
  /// Parts of the colour profile by their numbers.
  private var profile: [Int: ByteWindow] = [:]

  static func facts(
    in window: ByteWindow, _ extent: FactsExtent
  ) throws(FactsError) -> PictureFacts {
    guard var segments = try JPEGSegments(window) else { throw .invalid("no JPEG") }
    var reader = JPEGFacts(extent)
    while let segment = try segments.next(), segment.marker != JPEGSegments.Marker.scan {
      try reader.read(segment)
      if extent == .header, reader.header != nil { break }
    }
    return try reader.facts()
  }

  private init(_ extent: FactsExtent) {
    self.extent = extent
  }

  private mutating func read(_ segment: JPEGSegments.Segment) throws(FactsError) {
    typealias Marker = JPEGSegments.Marker
    switch segment.marker {
    case 0xE0: if try segment.content(behind: "JFIF\0") != nil { isJFIF = true }
    case Marker.application1: try readApplication1(segment)
    case Marker.application2 where extent > .header:
      if let part = try segment.content(behind: "ICC_PROFILE\0"),
        let number = try part.fieldsIfInside(at: 0, count: 2)?.u8(0), profile[number] == nil
      {
        profile[number] = part.part(from: 2)
      }
    case Marker.application13 where extent > .header:
      if let part = try segment.content(behind: "Photoshop 3.0\0") { photoshop.append(part) }
    case Marker.application14:
      // Two flags come before the transform (Adobe Technical Note 5116 section 18).
      if let part = try segment.content(behind: "Adobe") {
        adobeTransform = try part.fieldsIfInside(at: 6, count: 1)?.u8(0)
      }
    default: if header == nil { header = try JPEGHeader(segment) }
    }
  }

  private mutating func readApplication1(_ segment: JPEGSegments.Segment) throws(FactsError) {
    if exifSegmentCount < Self.maximumEXIFSegmentCount, exif == nil || orientation == nil,
      let part = try segment.content(behind: "Exif\0")
    {
      exifSegmentCount += 1
      // The name ends with two zeros; of the second one some programs make something else.
      guard let block = try EXIFBlock(part.part(from: 1)) else { return }
      if exif == nil { exif = block }
      if orientation == nil { orientation = try block.orientation() }
    } else if extent > .header, xmp == nil {
      // The rest of a packet that is too long for one segment has another name, and is left out.
      xmp = try segment.content(behind: "http://ns.adobe.com/xap/1.0/\0")
    }
  }

  // MARK: - Facts

  private func facts() throws(FactsError) -> PictureFacts {
    guard let header else { throw .invalid("no frame before the first scan") }
    var facts = PictureFacts(format: .jpeg, width: header.width, height: header.height)
    facts.setOrientation(orientation)
    facts.bands = header.components.count
    facts.bitsPerSample = header.bitsPerSample
    facts.hasAlpha = false
    facts.encoding = header.encoding
    facts.isInterlaced = header.isProgressive
    facts.colourModel = colourModel(of: header)
    facts.isAnimated = false
    facts.frameCount = 1
    if extent > .header { try addMetadata(to: &facts) }
    return facts
  }

  private func addMetadata(to facts: inout PictureFacts) throws(FactsError) {
    try exif?.read(into: &facts)
    facts.thumbnail = try exif?.thumbnail()
    if let xmp { facts.xmp = try XMPFacts(in: xmp) }
    if let all = ByteWindow(joining: photoshop),
      let record = try PhotoshopResources.iptcRecord(in: all)
    {
      facts.iptc = try IPTCRecord.datasets(in: record)
    }
    // Without one of its parts the profile is not whole.
    let numbers = profile.keys.sorted()
    if numbers == Array(1..<numbers.count + 1),
      let whole = ByteWindow(joining: numbers.compactMap { profile[$0] })
    {
      facts.profileDescription = try ICCDescription.text(in: whole)
    }
  }

  /// As libjpeg tells it: by Adobe's segment, by that of JFIF, by the numbers of the components.
  private func colourModel(of header: JPEGHeader) -> PictureFacts.ColourModel? {
    switch header.components.count {
    case 1: return .gray
    case 3:
      if isJFIF { return .ycbcr }
      if let adobeTransform { return adobeTransform == 0 ? .rgb : .ycbcr }
      return header.components == "RGB".utf8.map { Int($0) } ? .rgb : .ycbcr
    case 4: return adobeTransform == 2 ? .ycck : .cmyk
    default: return nil
    }
  }
}

/// The header of a frame (T.81 section B.2.2).
struct JPEGHeader {
  /// Markers of frames: 4, 8 and 12 of them are others.
  private static let processes: [Int: (name: String, isProgressive: Bool)] = [
    0xC0: ("baseline", false), 0xC1: ("sequential", false), 0xC2: ("progressive", true),
    0xC3: ("lossless", false), 0xC5: ("differential sequential", false),
    0xC6: ("differential progressive", true), 0xC7: ("differential lossless", false),
    0xC9: ("arithmetic sequential", false), 0xCA: ("arithmetic progressive", true),
    0xCB: ("arithmetic lossless", false), 0xCD: ("arithmetic differential sequential", false),
    0xCE: ("arithmetic differential progressive", true),
    0xCF: ("arithmetic differential lossless", false), 0xF7: ("jpeg-ls", false),
  ]

  let encoding: String
  let isProgressive: Bool
  let bitsPerSample: Int
  let width: Int
  let height: Int
  /// The numbers of the components.
  let components: [Int]

  /// - Returns: `nil` for a segment that is none.
  init?(_ segment: JPEGSegments.Segment) throws(FactsError) {
    guard let process = Self.processes[segment.marker] else { return nil }
    let fields = try segment.content.fields(at: 0, count: 6)
    (encoding, isProgressive) = process
    bitsPerSample = fields.u8(0)
    (height, width) = (fields.u16(1), fields.u16(3))
    let list = try segment.content.fields(at: 6, count: fields.u8(5) * 3)
    components = (0..<fields.u8(5)).map { list.u8($0 * 3) }
    guard width > 0, !components.isEmpty else { throw .invalid("a frame without pixels") }
    guard height > 0 else { throw .unsupported("JPEG whose height follows its first scan") }
  }

  /// The size of a thumbnail; `nil` for what is no whole JPEG header.
  static func size(in window: ByteWindow) throws(FactsError) -> (width: Int, height: Int)? {
    do throws(FactsError) {
      guard var segments = try JPEGSegments(window) else { return nil }
      while let segment = try segments.next(), segment.marker != JPEGSegments.Marker.scan {
        if let header = try JPEGHeader(segment) { return (header.width, header.height) }
      }
      return nil
    } catch {
      switch error {
      case .needsBytes, .truncated: throw error
      case .invalid, .notAnImage, .unsupported: return nil
      }
    }
  }
}

/// The segments of a JPEG (ITU-T T.81 annex B) up to the first scan.
struct JPEGSegments {
  enum Marker {
    static let start = 0xD8
    static let end = 0xD9
    static let scan = 0xDA
    static let temporary = 0x01
    static let restarts = 0xD0...0xD7
    static let application1 = 0xE1
    static let application2 = 0xE2
    static let application13 = 0xED
    static let application14 = 0xEE
  }

  struct Segment {
    let marker: Int
    /// Behind the length.
    let content: ByteWindow

    /// The content behind a name that must begin it; `nil` when another one does.
    func content(behind name: String) throws(FactsError) -> ByteWindow? {
      let name = Array(name.utf8)
      guard try content.bytes(at: 0, count: name.count) == name else { return nil }
      return content.part(from: name.count)
    }
  }

  /// Pictures have a few dozen, those with a large XMP packet some hundreds.
  private static let maximumSegmentCount = 2_000
  /// Bytes between segments, which some programs leave there.
  private static let maximumStrayByteCount = 1 << 16

  private let window: ByteWindow
  /// Where the last segment ends.
  private(set) var offset = 2
  private var segmentCount = 0
  private var strayByteCount = 0

  /// - Returns: `nil` when the window does not begin with the marker of a JPEG.
  init?(_ window: ByteWindow) throws(FactsError) {
    guard let start = try window.fieldsIfInside(at: 0, count: 2), start.u16(0) == 0xFFD8 else {
      return nil
    }
    self.window = window
  }

  /// - Returns: `nil` at the end of the picture, or of the window if that is no file.
  mutating func next() throws(FactsError) -> Segment? {
    while let head = try window.fieldsIfInside(at: offset, count: 2) {
      let marker = head.u8(1)
      if head.u8(0) != 0xFF || [0, 0xFF].contains(marker) {
        // Fill bytes (section B.1.1.2), or what does not belong there.
        offset += 1
        strayByteCount += 1
        guard strayByteCount <= Self.maximumStrayByteCount else {
          throw .invalid("no marker follows a segment")
        }
      } else if marker == Marker.end {
        return nil
      } else if marker == Marker.temporary || marker == Marker.start
        || Marker.restarts.contains(marker)
      {
        try pass(2)
      } else {
        return try segment(marker)
      }
    }
    return nil
  }

  private mutating func segment(_ marker: Int) throws(FactsError) -> Segment? {
    guard let length = try window.fieldsIfInside(at: offset + 2, count: 2)?.u16(0) else {
      return nil
    }
    guard length >= 2 else { throw .invalid("a segment has no length") }
    let content = window.part(at: offset + 4, count: length - 2)
    try pass(2 + length)
    return Segment(marker: marker, content: content)
  }

  private mutating func pass(_ byteCount: Int) throws(FactsError) {
    offset += byteCount
    segmentCount += 1
    guard segmentCount <= Self.maximumSegmentCount else {
      throw .invalid("more than \(Self.maximumSegmentCount) segments")
    }
  }
}
