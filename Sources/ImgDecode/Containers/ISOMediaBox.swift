/// A box of an ISO base media file (ISO/IEC 14496-12 section 4.2), which HEIF and AVIF are.
struct ISOMediaBox {
  let type: String
  let payload: ArraySlice<UInt8>

  private static let headerByteCount = 8

  /// The boxes that lie one behind the other in `bytes`, up to the first that is not whole there.
  static func boxes(in bytes: ArraySlice<UInt8>) -> [ISOMediaBox] {
    var boxes: [ISOMediaBox] = []
    var rest = bytes
    while rest.count >= headerByteCount {
      // 0 means up to the end of the file, and 1 a 64-bit length: both are for large payloads of
      // samples.
      let byteCount = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
      guard byteCount >= headerByteCount, byteCount <= rest.count else { break }
      let box = rest.prefix(byteCount)
      boxes.append(
        ISOMediaBox(
          type: String(decoding: box.dropFirst(4).prefix(4), as: UTF8.self),
          payload: box.dropFirst(headerByteCount)))
      rest = rest.dropFirst(byteCount)
    }
    return boxes
  }

  /// The properties that the items of a file have, in their order (ISO/IEC 23008-12 section 9.3).
  static func itemProperties(in file: ArraySlice<UInt8>) -> [ISOMediaBox] {
    guard let meta = boxes(in: file).first(where: { $0.type == "meta" }),
      // A version and flags come before its children.
      let properties = boxes(in: meta.payload.dropFirst(4)).first(where: { $0.type == "iprp" }),
      let container = boxes(in: properties.payload).first(where: { $0.type == "ipco" })
    else { return [] }
    return boxes(in: container.payload)
  }
}
