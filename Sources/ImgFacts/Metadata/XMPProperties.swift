/// The simple properties of an XMP packet: those of text, and of lists of text (ISO 16684-1 chapter
/// 7). A namespace is known by its usual prefix, which programs keep to.
struct XMPProperties {
  private static let wanted: Set<String> = [
    "dc:title", "dc:creator", "dc:description", "dc:rights", "xmp:Rating", "xmp:CreateDate",
  ]
  /// Deeper elements are passed over.
  private static let maximumDepth = 64
  private static let maximumValueByteCount = 4_096
  private static let maximumValueCount = 64

  private var values: [String: [String]] = [:]
  /// The names of the elements around the place.
  private var path: [String] = []
  /// Elements inside the deepest that ``path`` has room for.
  private var excessDepth = 0
  /// Of the innermost element.
  private var text: [UInt8] = []

  init(_ packet: [UInt8]) {
    var scanner = XMLScanner(packet)
    while let token = scanner.next() {
      switch token {
      case .start(let name, let attributes, let isEmpty):
        begin(name, attributes)
        if isEmpty { end() }
      case .end: end()
      case .text(let bytes):
        guard excessDepth == 0, text.count < Self.maximumValueByteCount else { continue }
        text += bytes.prefix(Self.maximumValueByteCount - text.count)
      }
    }
  }

  func first(_ name: String) -> String? { values[name]?.first }
  func all(_ name: String) -> [String]? { values[name] }

  private mutating func begin(_ name: String, _ attributes: [(name: String, value: [UInt8])]) {
    guard excessDepth == 0, path.count < Self.maximumDepth else {
      excessDepth += 1
      return
    }
    // A property of text may be an attribute of the description (section 7.9.2.2).
    if name == "rdf:Description" {
      for attribute in attributes where Self.wanted.contains(attribute.name) {
        add(attribute.value, to: attribute.name)
      }
    }
    path.append(name)
    text = []
  }

  private mutating func end() {
    guard excessDepth == 0 else {
      excessDepth -= 1
      return
    }
    guard let name = path.popLast() else { return }
    // A value is the text of the property, or of an item in its list: property, list, item.
    if Self.wanted.contains(name) {
      add(text, to: name)
    } else if name == "rdf:li", let property = path.dropLast().last,
      Self.wanted.contains(property)
    {
      add(text, to: property)
    }
    text = []
  }

  private mutating func add(_ bytes: [UInt8], to name: String) {
    guard values[name, default: []].count < Self.maximumValueCount,
      let text = MetadataText.repairedUTF8(bytes.prefix(Self.maximumValueByteCount))
    else { return }
    values[name, default: []].append(text)
  }
}
