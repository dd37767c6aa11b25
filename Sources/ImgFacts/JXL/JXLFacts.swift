import ImgModel

/// Reads a JPEG XL file: a bare codestream, or boxes around it (ISO/IEC 18181-2).
struct JXLFacts {
  private static let bareSignature = [UInt8]([0xFF, 0x0A])

  static func facts(
    in window: ByteWindow, _ extent: FactsExtent
  ) throws(FactsError) -> PictureFacts {
    guard try window.bytes(at: 0, count: 2) != bareSignature else {
      return facts(of: try JXLHeader(window))
    }
    var facts: PictureFacts?
    var metadata: [ISOMediaBox] = []
    var boxes = ISOMediaBoxes(window)
    while let box = try boxes.next() {
      switch box.type {
      case "jxlc" where facts == nil: facts = self.facts(of: try JXLHeader(box.payload))
      // A part of the codestream behind its number.
      case "jxlp" where facts == nil:
        facts = self.facts(of: try JXLHeader(box.payload.part(from: 4)))
      case "Exif", "xml ", "brob": metadata.append(box)
      default: break
      }
      if extent == .header, let facts { return facts }
    }
    guard var facts else { throw .truncated }
    for box in metadata.prefix(64) { try read(box, into: &facts) }
    return facts
  }

  private static func facts(of header: JXLHeader) -> PictureFacts {
    var facts = PictureFacts(format: .jxl, width: header.width, height: header.height)
    facts.setOrientation(header.orientation)
    facts.bitsPerSample = header.bitsPerSample
    facts.bands = (header.isGray ? 1 : 3) + header.extraChannelCount
    facts.hasAlpha = header.hasAlpha
    facts.colourModel = header.isGray ? .gray : header.isXYB ? .xyb : .rgb
    facts.codePoints = header.codePoints
    facts.colours =
      header.hasProfile
      ? ColourDescription(profileBeside: nil) : header.codePoints.map { ColourDescription($0) }
    facts.isAnimated = header.animation != nil
    facts.loopCount = header.animation?.loopCount
    if header.animation == nil { facts.frameCount = 1 }
    return facts
  }

  /// The orientation of the codestream counts, and not that of the metadata.
  private static func read(
    _ box: ISOMediaBox, into facts: inout PictureFacts
  ) throws(FactsError) {
    switch box.type {
    case "Exif" where facts.exif == nil:
      guard let offset = try box.payload.fieldsIfInside(at: 0, count: 4)?.u32(0) else { return }
      try EXIFBlock(box.payload.part(from: 4 + offset))?.read(into: &facts)
    case "xml " where facts.xmp == nil: facts.xmp = try XMPFacts(in: box.payload)
    case "brob":
      guard let name = try box.payload.fieldsIfInside(at: 0, count: 4)?.name(0) else { return }
      facts.compressedMetadata = (facts.compressedMetadata ?? []) + [name]
    default: break
    }
  }
}
