import CVips
import ImgFacts

/// What a picture carries beside its pixels.
extension Image {
  /// The same pixels, with metadata that can be changed without changing those of others.
  func withOwnMetadata() throws(VipsError) -> Image {
    try unsafe Self.result(of: "copy") { unsafe img_vips_copy(pointer, &$0) }
  }

  func removeProfile() {
    unsafe vips_image_remove(pointer, VIPS_META_ICC_NAME)
  }

  /// Copies EXIF, XMP and IPTC of the file that the pixels come from, which are upright now. The
  /// thumbnail in the EXIF data is left out, as it is another picture.
  func copyMetadata(of file: borrowing Image) {
    unsafe img_vips_copy_fields(file.pointer, pointer, "exif-")
    // libvips makes this of the EXIF data.
    unsafe vips_image_remove(pointer, "jpeg-thumbnail-data")
    unsafe img_vips_remove_fields(pointer, "exif-ifd1-")
    for name in [VIPS_META_XMP_NAME, VIPS_META_IPTC_NAME] {
      unsafe img_vips_copy_fields(file.pointer, pointer, name)
    }
    unsafe vips_image_remove(pointer, "exif-ifd0-Orientation")
    unsafe vips_image_set_int(pointer, VIPS_META_ORIENTATION, 1)
  }

  /// Names the author and the rights, in XMP, and in EXIF data as far as they are in ASCII.
  func setCopyright(_ notice: CopyrightNotice) {
    let packet = Array(notice.xmpPacket.utf8)
    unsafe vips_image_set_blob_copy(pointer, VIPS_META_XMP_NAME, packet, packet.count)
    setEXIF("Artist", notice.creator)
    setEXIF("Copyright", notice.rights)
  }

  /// - Parameter text: libvips replaces letters outside ASCII. It wants a description of the value behind it, in
  ///   parentheses, and removes that.
  private func setEXIF(_ tag: String, _ text: String?) {
    guard let text, text.utf8.allSatisfy({ $0 < 0x80 }) else { return }
    let count = text.utf8.count + 1
    let value = "\(text) (text, ASCII, \(count) components, \(count) bytes)"
    unsafe vips_image_set_string(pointer, "exif-ifd0-\(tag)", value)
  }

  /// A number in the metadata; `nil` if there is none of that name.
  func integer(named name: String) -> Int? {
    var value: Int32 = 0
    guard unsafe vips_image_get_typeof(pointer, name) != 0,
      unsafe vips_image_get_int(pointer, name, &value) == 0
    else { return nil }
    return Int(value)
  }

  func setInteger(_ value: Int32, named name: String) {
    unsafe vips_image_set_int(pointer, name, value)
  }

  /// Binary metadata; `nil` if there is none of that name.
  func blob(named name: String) -> [UInt8]? {
    var start: UnsafeRawPointer?
    var byteCount = 0
    guard unsafe vips_image_get_typeof(pointer, name) != 0,
      unsafe vips_image_get_blob(pointer, name, &start, &byteCount) == 0
    else { return nil }
    return unsafe Array(UnsafeRawBufferPointer(start: start, count: byteCount))
  }

  /// Removes all that ``copyMetadata(of:)`` copies.
  func removeMetadata() {
    unsafe img_vips_remove_fields(pointer, "exif-")
    for name in [VIPS_META_XMP_NAME, VIPS_META_IPTC_NAME, VIPS_META_ORIENTATION] {
      unsafe vips_image_remove(pointer, name)
    }
  }
}
