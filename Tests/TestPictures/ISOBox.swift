/// A box of the ISO base media file format: its length, its type, its content.
struct ISOBox {
  static let headByteCount = 8
  /// Version and flags, with which the content of a full box begins.
  static let fullHeadByteCount = 4

  let whole: ArraySlice<UInt8>
  var content: ArraySlice<UInt8> { whole.dropFirst(Self.headByteCount) }

  /// The first box of that type among those that lie one behind the other.
  init?(_ type: String, in bytes: ArraySlice<UInt8>) {
    var rest = bytes
    while rest.count >= Self.headByteCount {
      let byteCount = Self.number(rest.prefix(4))
      guard byteCount >= Self.headByteCount, byteCount <= rest.count else { return nil }
      if rest.dropFirst(4).prefix(4).elementsEqual(type.utf8) {
        whole = rest.prefix(byteCount)
        return
      }
      rest = rest.dropFirst(byteCount)
    }
    return nil
  }

  static func number(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.reduce(0) { $0 << 8 | Int($1) }
  }

  static func short(_ value: UInt16) -> [UInt8] {
    [UInt8(value >> 8), UInt8(truncatingIfNeeded: value)]
  }

  static func long(_ value: UInt32) -> [UInt8] {
    short(UInt16(value >> 16)) + short(UInt16(truncatingIfNeeded: value))
  }

  static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
    long(UInt32(headByteCount + content.count)) + Array(type.utf8) + content
  }

  static func full(
    _ type: String, _ content: [UInt8], version: UInt8 = 0, flags: UInt8 = 0
  ) -> [UInt8] {
    box(type, [version, 0, 0, flags] + content)
  }
}
