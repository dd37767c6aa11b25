import ImgModel

/// Reads the root element of an SVG (SVG 1.1 section 5.1.2).
package struct SVGFacts {
  private static let byteCounts = [1_000, 4_096, 16_384, FormatSniffer.examinedByteCount]

  static func facts(in window: ByteWindow) throws(FactsError) -> PictureFacts {
    try facts(rootAttributes(in: window))
  }

  /// Whether the root element gives its size in inches, or in units that CSS ties to them.
  package static func isInInches(_ window: ByteWindow) -> Bool {
    let sides = (try? rootAttributes(in: window))?.filter { ["width", "height"].contains($0.name) }
    let texts = sides?.map { String(decoding: $0.value, as: UTF8.self) } ?? []
    let lengths = texts.filter { SVGLength.pixels($0) != nil }
    return !lengths.isEmpty && lengths.allSatisfy { SVGLength.isInInches($0) }
  }

  private static func rootAttributes(
    in window: ByteWindow
  ) throws(FactsError) -> [(name: String, value: [UInt8])] {
    for byteCount in byteCounts {
      let head = try window.bytes(at: 0, upTo: byteCount)
      let text = GzipHead.inflated(head[...], upTo: FormatSniffer.examinedByteCount) ?? head
      if let root = XMLPrologue.rootElement(in: text[...]) {
        var scanner = XMLScanner(Array(root))
        // A tag that is not whole is none yet.
        if case .start(_, let attributes, _)? = scanner.next() {
          return attributes
        }
      }
      guard head.count == byteCount else { throw .truncated }
    }
    throw .unsupported(
      "SVG whose root element stands behind \(FormatSniffer.examinedByteCount) bytes")
  }

  private static func facts(
    _ attributes: [(name: String, value: [UInt8])]
  ) throws(FactsError) -> PictureFacts {
    let value = { (name: String) in
      attributes.first { $0.name == name }.map { String(decoding: $0.value, as: UTF8.self) }
    }
    let box = value("viewBox").flatMap { SVGLength.viewBox($0) }
    let (width, height) = size(
      width: value("width").flatMap { SVGLength.pixels($0) },
      height: value("height").flatMap { SVGLength.pixels($0) }, box)
    guard let width, let height else { throw .unsupported("SVG that has no size") }
    let limit = Double(Int32.max)
    guard width <= limit, height <= limit else { throw .invalid("an SVG that is too large") }
    var facts = PictureFacts(
      format: .svg, width: max(1, Int(width.rounded())), height: max(1, Int(height.rounded())))
    facts.frameCount = 1
    facts.isAnimated = false
    return facts
  }

  /// What is not given follows from the shape of the view box.
  private static func size(
    width: Double?, height: Double?, _ box: (width: Double, height: Double)?
  ) -> (width: Double?, height: Double?) {
    guard let box else { return (width, height) }
    switch (width, height) {
    case (let width?, nil): return (width, width * box.height / box.width)
    case (nil, let height?): return (height * box.width / box.height, height)
    case (nil, nil): return (box.width, box.height)
    default: return (width, height)
    }
  }
}

/// Lengths of CSS (CSS Values and Units section 6) at 96 pixels an inch.
enum SVGLength {
  private static let unitsOfInches: Set = ["in", "cm", "mm", "pt", "pc"]
  /// Fonts are of 12 pixels where nothing sets them.
  private static let pixelsByUnit: [String: Double] = [
    "": 1, "px": 1, "in": 96, "cm": 96 / 2.54, "mm": 96 / 25.4, "pt": 96 / 72.0, "pc": 16,
    "em": 12, "ex": 6,
  ]

  /// - Returns: `nil` for a share of something else, and for what is no positive length.
  static func pixels(_ text: String) -> Double? {
    let text = trimmed(text)
    let unit = unit(of: text)
    guard let number = Double(text.dropLast(unit.utf8.count)), number.isFinite, number > 0,
      let factor = pixelsByUnit[trimmed(unit).lowercased()]
    else { return nil }
    return number * factor
  }

  static func isInInches(_ text: String) -> Bool {
    unitsOfInches.contains(trimmed(unit(of: trimmed(text))).lowercased())
  }

  /// The letter of an exponent may also begin a unit.
  private static func unit(of text: Substring) -> Substring {
    text.suffix(text.utf8.reversed().prefix { !"0123456789.".utf8.contains($0) }.count)
  }

  /// The width and height of a view box of four numbers (SVG 1.1 section 7.7).
  static func viewBox(_ text: String) -> (width: Double, height: Double)? {
    let numbers = text.split { " \t\r\n,".contains($0) }.map { Double($0) }
    guard numbers.count == 4, let width = numbers[2], let height = numbers[3],
      width.isFinite, height.isFinite, width > 0, height > 0
    else { return nil }
    return (width, height)
  }

  private static func trimmed(_ text: some StringProtocol) -> Substring {
    var rest = Substring(text)
    while let first = rest.first, " \t\r\n".contains(first) { rest.removeFirst() }
    while let last = rest.last, " \t\r\n".contains(last) { rest.removeLast() }
    return rest
  }
}
