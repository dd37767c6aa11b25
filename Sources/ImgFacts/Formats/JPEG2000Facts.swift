import ImgModel

/// Reads the header of a JPEG 2000 file (ITU-T T.800): boxes (annex I), or a bare codestream.
struct JPEG2000Facts {
  /// The identifier of a box with XMP (ISO 16684-3).
  private static let xmpIdentifier: [UInt8] = [
    0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8, 0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF, 0xAC,
  ]
  private static let models: [Int: PictureFacts.ColourModel] = [
    12: .cmyk, 14: .lab, 16: .rgb, 17: .gray, 18: .ycbcr,
  ]

  static func facts(
    in window: ByteWindow, _ extent: FactsExtent
  ) throws(FactsError) -> PictureFacts {
    guard try window.fields(at: 0, count: 2).u16(0) != 0xFF4F else {
      return try codestream(window)
    }
    var facts: PictureFacts?
    var boxes = ISOMediaBoxes(window)
    while let box = try boxes.next() {
      switch box.type {
      case "jp2h": facts = try header(box, extent)
      case "jp2c":
        // Metadata stands on either side of the pixels; that behind them is left out.
        if let facts { return facts }
        return try codestream(box.payload)
      case "uuid" where extent > .header:
        if try box.payload.bytes(at: 0, count: 16) == xmpIdentifier {
          facts?.xmp = try XMPFacts(in: box.payload.part(from: 16))
        }
      default: break
      }
      if extent == .header, let facts { return facts }
    }
    throw .truncated
  }

  /// The marker SIZ (section A.5.1).
  private static func codestream(_ window: ByteWindow) throws(FactsError) -> PictureFacts {
    let fields = try window.fields(at: 0, count: 43)
    guard fields.u32(0) == 0xFF4F_FF51, fields.u32(8) > fields.u32(16),
      fields.u32(12) > fields.u32(20)
    else { throw .invalid("no codestream of JPEG 2000") }
    var facts = PictureFacts(
      format: .jp2, width: fields.u32(8) - fields.u32(16), height: fields.u32(12) - fields.u32(20))
    facts.bands = fields.u16(40)
    facts.bitsPerSample = fields.u8(42) & 0x7F + 1
    facts.frameCount = 1
    facts.isAnimated = false
    return facts
  }

  /// Section I.5.3.
  private static func header(
    _ box: ISOMediaBox, _ extent: FactsExtent
  ) throws(FactsError) -> PictureFacts {
    var facts: PictureFacts?
    for child in try ISOMediaBoxes(box.payload).all() {
      switch child.type {
      case "ihdr": facts = try imageHeader(child.payload)
      case "colr": try readColour(child.payload, extent, into: &facts)
      case "pclr": facts?.colourModel = .palette
      case "cdef":
        // Of each channel: its number, its type, what it belongs to. Types 1 and 2 are transparency.
        let count = try child.payload.fields(at: 0, count: 2).u16(0)
        let channels = try child.payload.fields(at: 2, count: min(count, 256) * 6)
        facts?.hasAlpha = (0..<min(count, 256)).contains {
          [1, 2].contains(channels.u16($0 * 6 + 2))
        }
      default: break
      }
    }
    guard let facts else { throw .invalid("no image header") }
    return facts
  }

  private static func imageHeader(_ payload: ByteWindow) throws(FactsError) -> PictureFacts {
    let fields = try payload.fields(at: 0, count: 14)
    guard fields.u32(0) > 0, fields.u32(4) > 0 else { throw .invalid("a picture without pixels") }
    var facts = PictureFacts(format: .jp2, width: fields.u32(4), height: fields.u32(0))
    facts.bands = fields.u16(8)
    // 255 says that the components differ.
    facts.bitsPerSample = fields.u8(10) == 255 ? nil : fields.u8(10) & 0x7F + 1
    facts.hasAlpha = false
    facts.frameCount = 1
    facts.isAnimated = false
    return facts
  }

  /// Section I.5.3.3: the method, two numbers, then the colour space or the profile.
  private static func readColour(
    _ payload: ByteWindow, _ extent: FactsExtent, into facts: inout PictureFacts?
  ) throws(FactsError) {
    switch try payload.fields(at: 0, count: 1).u8(0) {
    case 1 where facts?.colourModel == nil:
      facts?.colourModel = models[try payload.fields(at: 3, count: 4).u32(0)]
    case 2 where extent > .header:
      facts?.profileDescription = try ICCDescription.text(in: payload.part(from: 3))
    default: break
    }
  }
}
