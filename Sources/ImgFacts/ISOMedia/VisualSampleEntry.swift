/// What a file says of the samples of a track of pictures (ISO/IEC 14496-12 section 12.1.3).
struct VisualSampleEntry {
  /// Its fields, behind which boxes follow.
  private static let byteCount = 78

  let type: String
  /// Pixels of a sample.
  let width: Int
  let height: Int
  let boxes: [ISOMediaBox]

  init(_ entry: ISOMediaBox) throws(FactsError) {
    let fields = try entry.payload.fields(at: 0, count: Self.byteCount)
    type = entry.type
    (width, height) = (fields.u16(24), fields.u16(26))
    boxes = try ISOMediaBoxes(entry.payload.part(from: Self.byteCount)).all()
  }

  /// The boxes are those that an item has as properties.
  func image() throws(FactsError) -> HEIFImage { try HEIFImage(boxes) }

  func box(_ type: String) -> ISOMediaBox? { boxes.first { $0.type == type } }

  /// What an auxiliary picture is (ISO/IEC 23008-12 section 7.5.3).
  func auxiliaryType() throws(FactsError) -> String? {
    guard let payload = box("auxi")?.payload else { return nil }
    return MetadataText.text(try payload.bytes(at: 4, upTo: HEIFImage.longestAuxiliaryType))
  }
}
