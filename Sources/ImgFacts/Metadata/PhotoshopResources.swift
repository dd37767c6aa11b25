/// The resources of a Photoshop file, of which a JPEG or TIFF carries some (Adobe Photoshop File
/// Formats Specification, "Image Resources Section").
enum PhotoshopResources {
  private static let iptcIdentifier = 0x0404
  private static let maximumResourceCount = 1_000

  /// The IPTC-IIM record among them.
  static func iptcRecord(in window: ByteWindow) throws(FactsError) -> ByteWindow? {
    var offset = 0
    for _ in 0..<maximumResourceCount {
      guard let head = try window.fieldsIfInside(at: offset, count: 7), head.name(0) == "8BIM"
      else { return nil }
      // The name has a byte of length, and ends at an even offset.
      let sizeOffset = offset + 6 + (head.u8(6) + 2) / 2 * 2
      guard let size = try window.fieldsIfInside(at: sizeOffset, count: 4)?.u32(0) else {
        return nil
      }
      if head.u16(4) == iptcIdentifier { return window.part(at: sizeOffset + 4, count: size) }
      offset = sizeOffset + 4 + size + size % 2
    }
    return nil
  }
}
