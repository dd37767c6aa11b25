/// A box of an ISO base media file (ISO/IEC 14496-12 section 4.2), of which HEIF, AVIF, JPEG XL and
/// JPEG 2000 files are made.
package struct ISOMediaBox {
  package let type: String
  package let payload: ByteWindow

  /// The version of a full box.
  func version() throws(FactsError) -> Int { try payload.fields(at: 0, count: 1).u8(0) }

  func children() throws(FactsError) -> [ISOMediaBox] { try ISOMediaBoxes(payload).all() }

  /// What follows the version and the flags of a full box.
  var content: ByteWindow { payload.part(from: 4) }

  /// The properties that the items of a file have, in their order (ISO/IEC 23008-12 section 9.3).
  package static func itemProperties(in file: ByteWindow) throws(FactsError) -> [ISOMediaBox] {
    guard let meta = try ISOMediaBoxes(file).first("meta"),
      let properties = try ISOMediaBoxes(meta.content).first("iprp"),
      let container = try ISOMediaBoxes(properties.payload).first("ipco")
    else { return [] }
    return try ISOMediaBoxes(container.payload).all()
  }
}

/// Boxes that lie one behind the other.
package struct ISOMediaBoxes {
  /// More than any picture has in one place.
  private static let maximumCount = 16_384
  private static let headerByteCount = 8

  private let window: ByteWindow
  private var offset = 0
  private var count = 0

  package init(_ window: ByteWindow) {
    self.window = window
  }

  /// - Returns: `nil` at the end, and where no box begins.
  package mutating func next() throws(FactsError) -> ISOMediaBox? {
    guard !window.isEndOfFile(offset),
      let head = try window.fieldsIfInside(at: offset, count: Self.headerByteCount)
    else { return nil }
    count += 1
    guard count <= Self.maximumCount else {
      throw .unsupported("more than \(Self.maximumCount) boxes")
    }
    var headerByteCount = Self.headerByteCount
    var byteCount = head.u32(0)
    switch byteCount {
    case 0: byteCount = window.byteCount - offset
    case 1:
      // A length of 64 bits follows the type.
      guard let long = try window.fieldsIfInside(at: offset + headerByteCount, count: 8) else {
        return nil
      }
      byteCount = long.u64(0)
      headerByteCount = 16
    default: break
    }
    guard byteCount >= headerByteCount, byteCount <= ByteWindow.maximumFileByteCount else {
      return nil
    }
    let payload = window.part(at: offset + headerByteCount, count: byteCount - headerByteCount)
    offset += byteCount
    return ISOMediaBox(type: head.name(4), payload: payload)
  }

  /// The first of a type.
  package func first(_ type: String) throws(FactsError) -> ISOMediaBox? {
    var boxes = self
    while let box = try boxes.next() {
      if box.type == type { return box }
    }
    return nil
  }

  package func all() throws(FactsError) -> [ISOMediaBox] {
    var (boxes, all) = (self, [ISOMediaBox]())
    while let box = try boxes.next() { all.append(box) }
    return all
  }
}
