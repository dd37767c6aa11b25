/// The table of a bitmap's colours.
struct BitmapColours {
  /// One for every index of 8 bits. An index without a colour is black.
  let values: [BitmapColour]

  /// No index is greater.
  static let count = 256

  /// - Parameters:
  ///   - bytes: of at most ``count`` colours: blue, green, red, and in most files a byte without meaning.
  ///   - colourByteCount: 3 or 4.
  init(_ bytes: [UInt8], colourByteCount: Int) {
    let starts = stride(from: 0, through: bytes.count - colourByteCount, by: colourByteCount)
    let read = starts.map { start in
      BitmapColour(
        red: UInt32(bytes[start + 2]), green: UInt32(bytes[start + 1]), blue: UInt32(bytes[start]),
        alpha: 255)
    }
    values = read + [BitmapColour](repeating: .black, count: Self.count - read.count)
  }
}
