/// Metadata that ImageMagick writes as hexadecimal text: a line break, a name, a line break, the
/// count of bytes, and lines of digits.
enum PNGRawProfile {
  private static let maximumByteCount = 1 << 20

  /// - Parameter text: of a chunk whose keyword begins with "Raw profile type".
  static func bytes(ofText text: [UInt8]) -> [UInt8]? {
    let lines = text.split(separator: UInt8(ascii: "\n"), maxSplits: 2)
    guard lines.count == 3,
      let count = Int(String(decoding: lines[1].drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)),
      (1...maximumByteCount).contains(count)
    else { return nil }
    var bytes: [UInt8] = []
    var high: UInt8?
    for digit in lines[2] where bytes.count < count {
      guard let value = Character(Unicode.Scalar(digit)).hexDigitValue.map({ UInt8($0) }) else {
        continue
      }
      if let first = high { bytes.append(first << 4 | value) }
      high = high == nil ? value : nil
    }
    return bytes.count == count ? bytes : nil
  }
}
