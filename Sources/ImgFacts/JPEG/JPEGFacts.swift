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
