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

  // MARK: - Rows

  /// Bytes of a row that is not text.
  package var rowByteCount: Int {
    let sampleCount = width * storedBandCount
    return switch samples {
    case .bits: (width + 7) / 8
    case .textBits, .text: 0
    case .numbers(let maximum): maximum > 255 ? sampleCount * 2 : sampleCount
    case .floats: sampleCount * 4
    }
  }

  /// How many rows are there, or of text as many as fit: a digit takes a byte, and a number one more for what
  /// separates it from the next.
  package func possibleRowCount(inFileOf byteCount: Int) -> Int {
    let rest = byteCount - sampleOffset
    return switch samples {
    case .textBits: min(height, rest / width)
    case .text: min(height, (rest + 1) / (width * bandCount * 2))
    case .bits, .numbers, .floats: min(height, rest / rowByteCount)
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

/// Reads the words and lines of an anymap's header, one after the other. Every read throws
/// ``FactsError/truncated`` where the bytes end.
struct AnymapFields {
  private static let newline = UInt8(ascii: "\n")
  private static let comment = UInt8(ascii: "#")
  /// A blank, and the bytes that move the cursor.
  private static let whiteSpace: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0B, 0x0C, 0x0D]

  private let bytes: [UInt8]
  /// Bytes that were read.
  private(set) var offset = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  mutating func byte() throws(FactsError) -> UInt8 {
    guard offset < bytes.count else { throw .truncated }
    defer { offset += 1 }
    return bytes[offset]
  }

  // MARK: - Words

  /// The next word, with the one byte of white space behind it. White space and comments in front of it count for
  /// nothing.
  private mutating func word() throws(FactsError) -> String {
    var word: [UInt8] = []
    while true {
      let byte = try byte()
      if byte == Self.comment {
        while try self.byte() != Self.newline {}
        if !word.isEmpty { break }
      } else if !Self.whiteSpace.contains(byte) {
        word.append(byte)
      } else if !word.isEmpty {
        break
      }
    }
    return String(decoding: word, as: UTF8.self)
  }

  /// Columns or rows.
  mutating func side(_ name: String) throws(FactsError) -> Int {
    try Self.number(word(), named: name)
  }

  mutating func maximum() throws(FactsError) -> Int {
    let maximum = try Self.number(word(), named: "maximum")
    guard maximum <= 65_535 else { throw .invalid("a maximum of \(maximum)") }
    return maximum
  }

  /// That of floating-point numbers: its sign stands before a scale, which is no part of the picture.
  mutating func byteOrder() throws(FactsError) -> ByteOrder {
    let text = try word()
    guard let scale = Double(text), scale.isFinite, scale != 0 else {
      throw .invalid("a scale of \"\(text)\"")
    }
    return scale < 0 ? .littleEndian : .bigEndian
  }

  /// A number of 1 or more, of at most 31 bits.
  static func number(_ text: String, named name: String) throws(FactsError) -> Int {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let number = Int32(text), number > 0
    else { throw .invalid("a \(name) of \"\(text)\"") }
    return Int(number)
  }

  // MARK: - Lines

  /// The next line that is no comment: its first word, and the rest without white space around it.
  ///
  /// - Returns: `nil` for the line `ENDHDR`.
  mutating func line() throws(FactsError) -> (name: String, value: String)? {
    while true {
      var line: [UInt8] = []
      while true {
        let byte = try byte()
        if byte == Self.newline { break }
        line.append(byte)
      }
      let words = line.split(whereSeparator: Self.whiteSpace.contains)
      guard let first = words.first, first.first != Self.comment else { continue }
      let name = String(decoding: first, as: UTF8.self)
      if name == "ENDHDR" { return nil }
      return (
        name, String(decoding: Array(words.dropFirst().joined(separator: [0x20])), as: UTF8.self)
      )
    }
  }
}
