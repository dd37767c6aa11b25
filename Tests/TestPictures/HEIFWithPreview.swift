/// A HEIF file of a picture and its preview, as cameras write it (ISO/IEC 23008-12 section 6.4.4), put
/// together from two files of one picture each.
package struct HEIFWithPreview {
  /// What the preview's clean aperture says (ISO/IEC 14496-12 section 12.1.4): which part of it is shown.
  package struct Aperture: Sendable {
    /// Fractions: numerator and denominator.
    let width, height, leftOffset: (UInt32, UInt32)

    /// - Parameter leftOffset: how far its centre lies to the right of the preview's.
    package init(
      width: (UInt32, UInt32), height: (UInt32, UInt32), leftOffset: (UInt32, UInt32) = (0, 1)
    ) {
      (self.width, self.height, self.leftOffset) = (width, height, leftOffset)
    }
  }

  private let picture: SinglePicture
  private let preview: SinglePicture
  private let aperture: Aperture?

  /// - Parameters:
  ///   - picture: a file of ``PictureFormat/heif``, as `preview` is.
  ///   - aperture: `nil` for a preview that is shown whole.
  /// - Returns: `nil` when one of them has another structure.
  package init?(picture: [UInt8], preview: [UInt8], aperture: Aperture? = nil) {
    guard let picture = SinglePicture(picture), let preview = SinglePicture(preview) else {
      return nil
    }
    (self.picture, self.preview, self.aperture) = (picture, preview, aperture)
  }

  package var bytes: [UInt8] {
    let head = picture.fileType + meta(dataOffset: 0)
    let dataOffset = head.count + ISOBox.headByteCount
    return picture.fileType + meta(dataOffset: UInt32(dataOffset))
      + ISOBox.box("mdat", picture.data + preview.data)
  }

  /// As long whatever the offset is.
  private func meta(dataOffset: UInt32) -> [UInt8] {
    ISOBox.full(
      "meta",
      picture.handler + ISOBox.full("pitm", ISOBox.short(1)) + locations(dataOffset)
        + items + ISOBox.full("iref", reference) + ISOBox.box("iprp", properties + associations))
  }

  /// Offsets and lengths of 4 bytes, from the beginning of the file.
  private func locations(_ dataOffset: UInt32) -> [UInt8] {
    let entries = [
      (id: 1, offset: dataOffset, data: picture.data),
      (id: 2, offset: dataOffset + UInt32(picture.data.count), data: preview.data),
    ].flatMap { entry in
      ISOBox.short(UInt16(entry.id)) + ISOBox.short(0) + ISOBox.short(1)
        + ISOBox.long(entry.offset) + ISOBox.long(UInt32(entry.data.count))
    }
    return ISOBox.full("iloc", [0x44, 0x00] + ISOBox.short(2) + entries)
  }

  private var items: [UInt8] {
    let entries = [1, 2].flatMap { id in
      ISOBox.full(
        "infe", ISOBox.short(id) + ISOBox.short(0) + Array("hvc1".utf8) + [0], version: 2)
    }
    return ISOBox.full("iinf", ISOBox.short(2) + entries)
  }

  /// The preview is one of the picture.
  private var reference: [UInt8] {
    ISOBox.box("thmb", ISOBox.short(2) + ISOBox.short(1) + ISOBox.short(1))
  }

  private var properties: [UInt8] {
    var properties =
      picture.configuration + picture.extents + preview.configuration + preview.extents
    if let aperture {
      let numbers = [aperture.width, aperture.height, aperture.leftOffset, (0, 1)]
      properties += ISOBox.box(
        "clap", numbers.flatMap { ISOBox.long($0.0) + ISOBox.long($0.1) })
    }
    return ISOBox.box("ipco", properties)
  }

  /// Which properties each has, by their places; those with the highest bit must be understood.
  private var associations: [UInt8] {
    let ofPreview: [UInt8] = aperture == nil ? [0x83, 4] : [0x83, 4, 0x85]
    return ISOBox.full(
      "ipma",
      ISOBox.long(2) + ISOBox.short(1) + [2, 0x81, 2] + ISOBox.short(2)
        + [UInt8(ofPreview.count)] + ofPreview)
  }
}
