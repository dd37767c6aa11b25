/// Splits XML (XML 1.0) in UTF-8 into elements and text. It neither checks the document nor expands
/// entities other than the five of XML and characters by number.
struct XMLScanner {
  enum Token {
    case start(String, attributes: [(name: String, value: [UInt8])], isEmpty: Bool)
    case end
    case text([UInt8])
  }

  private static let maximumAttributeCount = 256

  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// - Returns: `nil` at the end, and where a tag does not end.
  mutating func next() -> Token? {
    while position < bytes.count {
      guard bytes[position] == UInt8(ascii: "<") else { return .text(Self.expanded(textRun())) }
      if starts(with: "<!--") {
        guard skip(behind: "-->") else { return nil }
      } else if starts(with: "<![CDATA[") {
        let start = position + 9
        guard skip(behind: "]]>") else { return nil }
        return .text(start <= position - 3 ? Array(bytes[start..<position - 3]) : [])
      } else if starts(with: "<?") {
        guard skip(behind: "?>") else { return nil }
      } else if starts(with: "<!") {
        // A declaration of a document type, whose internal subset is in brackets.
        guard skipDeclaration() else { return nil }
      } else {
        return tag()
      }
    }
    return nil
  }

  private mutating func textRun() -> ArraySlice<UInt8> {
    let end = bytes[position...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.endIndex
    defer { position = end }
    return bytes[position..<end]
  }

  private func starts(with text: StaticString) -> Bool {
    bytes[position...].starts(with: text.description.utf8)
  }

  private mutating func skip(behind mark: StaticString) -> Bool {
    let wanted = Array(mark.description.utf8)
    var index = position
    while index + wanted.count <= bytes.count {
      if bytes[index] == wanted[0], bytes[index..<index + wanted.count].elementsEqual(wanted) {
        position = index + wanted.count
        return true
      }
      index += 1
    }
    return false
  }

  private mutating func skipDeclaration() -> Bool {
    var isInSubset = false
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "["): isInSubset = true
      case UInt8(ascii: "]"): isInSubset = false
      case UInt8(ascii: ">") where !isInSubset: return true
      default: break
      }
    }
    return false
  }

  // MARK: - Tags

  private mutating func tag() -> Token? {
    position += 1
    if position < bytes.count, bytes[position] == UInt8(ascii: "/") {
      return skip(behind: ">") ? .end : nil
    }
    let name = self.name()
    var attributes: [(name: String, value: [UInt8])] = []
    while position < bytes.count {
      skipWhiteSpace()
      guard position < bytes.count else { return nil }
      switch bytes[position] {
      case UInt8(ascii: ">"):
        position += 1
        return .start(name, attributes: attributes, isEmpty: false)
      case UInt8(ascii: "/"):
        return skip(behind: ">") ? .start(name, attributes: attributes, isEmpty: true) : nil
      default:
        guard let attribute = attribute() else { return nil }
        if attributes.count < Self.maximumAttributeCount { attributes.append(attribute) }
      }
    }
    return nil
  }

  private mutating func name() -> String {
    let start = position
    while position < bytes.count, !" \t\r\n/>=<".utf8.contains(bytes[position]) { position += 1 }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private mutating func attribute() -> (name: String, value: [UInt8])? {
    let name = self.name()
    skipWhiteSpace()
    guard !name.isEmpty, position < bytes.count, bytes[position] == UInt8(ascii: "=") else {
      return nil
    }
    position += 1
    skipWhiteSpace()
    guard position < bytes.count, case let quote = bytes[position], "\"'".utf8.contains(quote),
      let end = bytes[(position + 1)...].firstIndex(of: quote)
    else { return nil }
    defer { position = end + 1 }
    return (name, Self.expanded(bytes[position + 1..<end]))
  }

  private mutating func skipWhiteSpace() {
    while position < bytes.count, " \t\r\n".utf8.contains(bytes[position]) { position += 1 }
  }

  // MARK: - References

  private static let entities: [String: UInt8] = [
    "amp": UInt8(ascii: "&"), "lt": UInt8(ascii: "<"), "gt": UInt8(ascii: ">"),
    "quot": UInt8(ascii: "\""), "apos": UInt8(ascii: "'"),
  ]
  private static let maximumReferenceByteCount = 12

  /// Text with its references (section 4.1) replaced. Unknown ones stay.
  private static func expanded(_ text: ArraySlice<UInt8>) -> [UInt8] {
    guard text.contains(UInt8(ascii: "&")) else { return Array(text) }
    var result: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "&"),
        let end = rest.prefix(maximumReferenceByteCount).firstIndex(of: UInt8(ascii: ";")),
        let character = character(String(decoding: rest[rest.startIndex..<end], as: UTF8.self))
      else {
        result.append(byte)
        continue
      }
      result += character
      rest = rest[(end + 1)...]
    }
    return result
  }

  private static func character(_ name: String) -> [UInt8]? {
    if let byte = entities[name] { return [byte] }
    guard name.hasPrefix("#") else { return nil }
    let digits = name.dropFirst()
    let number = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
    return number.flatMap { Unicode.Scalar($0) }.map { Array(String(Character($0)).utf8) }
  }
}

/// Metadata as XML (ISO 16684-1).
package struct XMPFacts: Hashable, Sendable, Codable {
  /// The packet as it stands in the file. It may tell where the picture was taken; a caller can leave
  /// it out.
  package var packet: String?
  package var title: String?
  package var creators: [String]?
  package var description: String?
  package var rights: String?
  /// 0…5; -1 means rejected.
  package var rating: Double?
  /// As written, a date of ISO 8601.
  package var createDate: String?

  private enum CodingKeys: String, CodingKey {
    case packet, title, creators, description, rights, rating
    case createDate = "create_date"
  }

  /// Longer packets are left out.
  static let maximumPacketByteCount = 1 << 20

  /// - Returns: `nil` for a packet that is too long or empty.
  init?(in window: ByteWindow) throws(FactsError) {
    guard window.byteCount <= Self.maximumPacketByteCount,
      let bytes = try window.bytes(at: 0, count: window.byteCount)
    else { return nil }
    self.init(bytes)
  }

  init?(_ bytes: [UInt8]) {
    guard bytes.count <= Self.maximumPacketByteCount,
      let text = MetadataText.repairedUTF8(bytes)
    else { return nil }
    packet = text
    let properties = XMPProperties(Array(text.utf8))
    title = properties.first("dc:title")
    creators = properties.all("dc:creator")
    description = properties.first("dc:description")
    rights = properties.first("dc:rights")
    rating = properties.first("xmp:Rating").flatMap { Double($0) }.flatMap {
      $0.isFinite ? $0 : nil
    }
    createDate = properties.first("xmp:CreateDate")
  }
}

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
