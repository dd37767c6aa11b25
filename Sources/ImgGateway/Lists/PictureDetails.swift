import ImgFacts

/// The facts of a picture in a list, with the EXIF tags of its file.
struct PictureDetails: Encodable {
  let info: PictureInfo
  /// By directory; `nil` if the file has none.
  let exif: EXIFFacts?

  private enum Key: String, CodingKey {
    case exif
  }

  func encode(to encoder: any Encoder) throws {
    try info.encode(to: encoder)
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(exif, forKey: .exif)
  }
}
