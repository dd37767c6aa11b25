import ImgModel

/// The header of a portable anymap: PBM, PGM, PPM and PAM of Netpbm, each as its manual pages pbm(5), pgm(5), ppm(5)
/// and pam(5) say, and the portable floatmap PFM.
package struct AnymapHeader {
  /// How the samples are stored.
  package enum Samples: Hashable, Sendable {
    /// A bit for each, the first of a byte in its highest bit, 1 for black. Each row begins with a byte of its own.
    case bits
    /// A digit for each, 1 for black.
    case textBits
    /// Whole numbers as text, from 0 to a maximum.
    case text(maximum: Int)
    /// Whole numbers from 0 to a maximum: a byte for each, or two if the maximum needs them, the upper one first.
    case numbers(maximum: Int)
    /// Floating-point numbers of 32 bits in linear light, the last row first.
    case floats(ByteOrder)
  }

  package let width: Int
  package let height: Int
  package let samples: Samples
  /// Samples of a pixel: 1 of gray or 3 of red, green and blue, and one more of opacity.
  package let bandCount: Int
  /// Samples of a pixel in the file. Those beyond ``bandCount`` mean nothing that is shown.
  package let storedBandCount: Int
  /// Where the samples begin.
  package let sampleOffset: Int
  private let mediaType: String

  package var hasAlpha: Bool { bandCount % 2 == 0 }

  /// How many bytes of a file its header may have; comments make it longer.
  private static let byteCounts = [4_096, 65_536]

  /// - Throws: ``FactsError/invalid(_:)`` also for a header that does not end within its greatest length.
  package init(in window: ByteWindow) throws(FactsError) {
    for byteCount in Self.byteCounts {
      let head = try window.bytes(at: 0, upTo: byteCount)
      var fields = AnymapFields(head)
      do throws(FactsError) {
        try self.init(reading: &fields)
        return
      } catch {
        guard error == .truncated, head.count == byteCount else { throw error }
      }
    }
    throw .invalid("the header is longer than \(Self.byteCounts.last ?? 0) bytes")
  }

  private init(reading fields: inout AnymapFields) throws(FactsError) {
    let name = String(decoding: [try fields.byte(), try fields.byte()], as: UTF8.self)
    switch name {
    case "P1": try self.init(&fields, bandCount: 1, "bitmap") { _ in .textBits }
    case "P2", "P3":
      try self.init(&fields, bandCount: name == "P2" ? 1 : 3) { (fields) throws(FactsError) in
        .text(maximum: try fields.maximum())
      }
    case "P4": try self.init(&fields, bandCount: 1, "bitmap") { _ in .bits }
    case "P5", "P6":
      try self.init(&fields, bandCount: name == "P5" ? 1 : 3) { (fields) throws(FactsError) in
        .numbers(maximum: try fields.maximum())
      }
    case "P7": try self.init(arbitrary: &fields)
    case "Pf", "PF":
      try self.init(&fields, bandCount: name == "Pf" ? 1 : 3, "floatmap") {
        (fields) throws(FactsError) in .floats(try fields.byteOrder())
      }
    default: throw .invalid("no anymap begins with \(name)")
    }
  }

  /// A header of words: the width, the height, and what `samples` reads.
  private init(
    _ fields: inout AnymapFields, bandCount: Int, _ kind: String? = nil,
    samples: (inout AnymapFields) throws(FactsError) -> Samples
  ) throws(FactsError) {
    width = try fields.side("width")
    height = try fields.side("height")
    self.samples = try samples(&fields)
    self.bandCount = bandCount
    storedBandCount = bandCount
    sampleOffset = fields.offset
    mediaType = "image/x-portable-\(kind ?? (bandCount == 1 ? "graymap" : "pixmap"))"
  }

  /// A header of lines with a name and a value each (PAM).
  private init(arbitrary fields: inout AnymapFields) throws(FactsError) {
    var (sides, tupleType) = ([String: Int](), [String]())
    while let (name, value) = try fields.line() {
      switch name {
      case "WIDTH", "HEIGHT", "DEPTH", "MAXVAL":
        sides[name] = try AnymapFields.number(value, named: name)
      case "TUPLTYPE": tupleType.append(value)
      default: throw .invalid("a line of the header begins with \"\(name)\"")
      }
    }
    guard let width = sides["WIDTH"], let height = sides["HEIGHT"], let depth = sides["DEPTH"],
      let maximum = sides["MAXVAL"]
    else { throw .invalid("the header lacks WIDTH, HEIGHT, DEPTH or MAXVAL") }
    guard (1...65_535).contains(maximum) else { throw .invalid("a MAXVAL of \(maximum)") }
    let bandCount = try Self.bandCount(of: tupleType.joined(separator: " "), depth: depth)
    guard depth >= bandCount else {
      throw .invalid("a DEPTH of \(depth) for \(bandCount) samples")
    }
    self.width = width
    self.height = height
    self.bandCount = bandCount
    storedBandCount = depth
    samples = .numbers(maximum: maximum)
    sampleOffset = fields.offset
    mediaType = "image/x-portable-arbitrarymap"
  }

  /// A file without a tuple type has the usual one of its depth.
  private static func bandCount(of tupleType: String, depth: Int) throws(FactsError) -> Int {
    switch tupleType {
    case "BLACKANDWHITE", "GRAYSCALE": return 1
    case "BLACKANDWHITE_ALPHA", "GRAYSCALE_ALPHA": return 2
    case "RGB": return 3
    case "RGB_ALPHA": return 4
    case "" where (1...4).contains(depth): return depth
    case "": throw .unsupported("PAM of \(depth) samples a pixel")
    default: throw .unsupported("PAM of the tuple type \"\(tupleType)\"")
    }
  }

  // MARK: - Facts

  static func facts(in window: ByteWindow) throws(FactsError) -> PictureFacts {
    let header = try AnymapHeader(in: window)
    var facts = PictureFacts(format: .pnm, width: header.width, height: header.height)
    facts.mediaType = header.mediaType
    facts.bands = header.storedBandCount
    facts.hasAlpha = header.hasAlpha
    facts.colourModel = header.bandCount < 3 ? .gray : .rgb
    facts.frameCount = 1
    facts.isAnimated = false
    switch header.samples {
    case .bits, .textBits: facts.bitsPerSample = 1
    case .text(let maximum), .numbers(let maximum):
      facts.bitsPerSample = Int.bitWidth - maximum.leadingZeroBitCount
    case .floats: facts.bitsPerSample = 32
    }
    switch header.samples {
    case .textBits, .text: facts.encoding = "plain"
    case .bits, .numbers, .floats: facts.encoding = "raw"
    }
    return facts
  }
}
