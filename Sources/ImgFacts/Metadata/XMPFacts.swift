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
