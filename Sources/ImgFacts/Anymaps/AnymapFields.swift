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
