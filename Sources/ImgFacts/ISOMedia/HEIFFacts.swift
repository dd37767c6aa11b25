import ImgModel

/// Reads a HEIF or AVIF file: its primary item, and the track of a sequence.
struct HEIFFacts {
  private let window: ByteWindow
  private let format: ImageFormat
  private let extent: FactsExtent

  static func facts(
    in window: ByteWindow, as format: ImageFormat, _ extent: FactsExtent
  ) throws(FactsError) -> PictureFacts {
    try HEIFFacts(window: window, format: format, extent: extent).facts()
  }

  private init(window: ByteWindow, format: ImageFormat, extent: FactsExtent) {
    (self.window, self.format, self.extent) = (window, format, extent)
  }

  private func facts() throws(FactsError) -> PictureFacts {
    let isSequence = HEIFBrand.isSequence(try window.fields(at: 8, count: 4).name(0))
    var items: HEIFItems?
    var track: HEIFTrack?
    var boxes = ISOMediaBoxes(window)
    // A sequence may have items, too: they are the picture of it that is shown at first.
    while items == nil && track == nil || isSequence && track == nil && extent > .header {
      // Each file of a brand has what belongs to it.
      guard let box = try boxes.next() else { throw .truncated }
      switch box.type {
      case "meta": items = try HEIFItems(meta: box, in: window)
      case "moov": track = try HEIFTrack(movie: box)
      default: break
      }
    }
    var facts: PictureFacts
    if let items {
      facts = try self.facts(of: items)
    } else if let track {
      facts = PictureFacts(format: format, width: track.width, height: track.height)
      facts.setOrientation(
        track.orientation.number, of: track.shownArea.map { ($0.width, $0.height) })
      facts.encoding = track.codec?.name
      facts.bitsPerSample = track.codec?.bitsPerSample
      facts.codePoints = track.codePoints
      facts.colours = Self.colours(track.codePoints, hasProfile: track.hasProfile)
    } else {
      throw .invalid("no picture in the file")
    }
    facts.isAnimated = isSequence
    if !isSequence { facts.frameCount = 1 }
    if extent > .header, isSequence, let track {
      facts.setFrames(delays: track.delays)
      facts.loopCount = track.loopCount
    }
    return facts
  }

  // MARK: - Items

  private func facts(of items: HEIFItems) throws(FactsError) -> PictureFacts {
    let image = try HEIFImage(items.properties(of: items.primary))
    guard image.width > 0, image.height > 0 else { throw .invalid("the picture has no size") }
    var facts = PictureFacts(format: format, width: image.width, height: image.height)
    facts.setOrientation(image.orientation.number, of: image.aperture.map { ($0.width, $0.height) })
    facts.hasAlpha = try hasAlpha(items)
    try addSamples(of: image, items, to: &facts)
    guard extent > .header else { return facts }
    if let profile = image.profile {
      facts.profileDescription = try ICCDescription.text(in: profile)
    }
    try addMetadata(of: items, to: &facts)
    facts.thumbnail = try thumbnail(of: items)
    return facts
  }

  private static func colours(
    _ codePoints: ColourCodePoints?, hasProfile: Bool
  ) -> ColourDescription? {
    if hasProfile { return ColourDescription(profileBeside: codePoints) }
    guard let codePoints, codePoints.describesColours else { return nil }
    return ColourDescription(codePoints)
  }

  /// Transparency is a picture of its own.
  private func hasAlpha(_ items: HEIFItems) throws(FactsError) -> Bool {
    for item in items.items("auxl", referringTo: items.primary).prefix(16) {
      let type = try HEIFImage(items.properties(of: item)).auxiliaryType
      if let type, HEIFImage.alphaTypes.contains(type) { return true }
    }
    return false
  }

  /// A picture made of tiles has the codec of its tiles. What the file says of the colours goes before what
  /// the stream says (ISO/IEC 14496-12 section 12.1.5).
  private func addSamples(
    of image: HEIFImage, _ items: HEIFItems, to facts: inout PictureFacts
  ) throws(FactsError) {
    let tile = items.items("dimg", referredBy: items.primary).first
    let first = try tile.map { (tile) throws(FactsError) in
      try HEIFImage(items.properties(of: tile))
    }
    let codec = image.codec ?? first?.codec
    let profile = image.profile ?? first?.profile
    facts.codePoints = image.codePoints ?? first?.codePoints ?? codec?.codePoints
    facts.colours = Self.colours(facts.codePoints, hasProfile: profile != nil)
    let type = items.types[tile ?? items.primary]
    facts.encoding = codec?.name ?? type.flatMap { HEIFCodec.name(ofItemType: $0) }
    facts.bitsPerSample = image.bits.first ?? codec?.bitsPerSample
    let isGray = image.bits.isEmpty ? codec?.isGray ?? false : image.bits.count == 1
    facts.bands = (isGray ? 1 : 3) + (facts.hasAlpha == true ? 1 : 0)
    facts.colourModel = isGray ? .gray : facts.codePoints?.matrix == 0 ? .rgb : .ycbcr
  }

  private func addMetadata(
    of items: HEIFItems, to facts: inout PictureFacts
  ) throws(FactsError) {
    let descriptions = items.items("cdsc", referringTo: items.primary)
    for item in descriptions.prefix(16) {
      switch items.types[item] {
      case "Exif" where facts.exif == nil:
        // The offset of the byte order behind this number (ISO/IEC 23008-12 annex A.2.1).
        guard let window = try items.window(of: item),
          let offset = try window.fieldsIfInside(at: 0, count: 4)?.u32(0)
        else { continue }
        try EXIFBlock(window.part(from: 4 + offset))?.read(into: &facts)
      case "application/rdf+xml" where facts.xmp == nil:
        if let window = try items.window(of: item) { facts.xmp = try XMPFacts(in: window) }
      default: break
      }
    }
  }

  private func thumbnail(of items: HEIFItems) throws(FactsError) -> EmbeddedThumbnail? {
    guard let item = items.items("thmb", referringTo: items.primary).first else { return nil }
    let image = try HEIFImage(items.properties(of: item))
    guard image.width > 0, image.height > 0 else { return nil }
    guard items.types[item] == "jpeg" else {
      return EmbeddedThumbnail(format: format, width: image.width, height: image.height)
    }
    let window = try items.window(of: item)
    let range = window.flatMap { $0.fileRange(at: 0, count: $0.byteCount) }
    return EmbeddedThumbnail(
      format: .jpeg, width: image.width, height: image.height, byteOffset: range?.lowerBound,
      byteCount: range?.count)
  }
}
