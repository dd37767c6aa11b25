import CVips

/// What can be read of a damaged picture.
extension Image {
  static let noRowText = "no row of it can be decoded"

  /// Throws if all pixels are equal, so that none is known to be the picture's. The pixels must be in
  /// memory.
  func requireContent() throws(DecodeError) {
    guard unsafe img_vips_is_uniform(pointer) == 0 else {
      throw .corrupt("what can be decoded of it has only one colour")
    }
  }

  /// The number of rows before the first one that cannot be decoded. Decodes all of them.
  func decodableRowCount() throws(VipsError) -> Int {
    let count = unsafe img_vips_decodable_row_count(pointer)
    guard count >= 0 else { throw VipsError(operation: "rows") }
    VipsError.forgetEarlier()
    return Int(count)
  }

  /// The first rows, and 0 for all samples of the others: black, or transparent where the picture has
  /// an alpha channel.
  func withRows(_ count: Int) throws(VipsError) -> Image {
    let rows = try cropped(left: 0, top: 0, width: width, height: count)
    return try unsafe Self.result(of: "rows") {
      unsafe img_vips_embed(rows.pointer, &$0, 0, 0, Int32(width), Int32(height))
    }
  }
}
