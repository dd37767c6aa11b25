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

/// The parts of a file that libheif has written.
private struct SinglePicture {
  let fileType, handler, configuration, extents, data: [UInt8]

  init?(_ file: [UInt8]) {
    guard let fileType = ISOBox("ftyp", in: file[...]), let meta = ISOBox("meta", in: file[...]),
      case let parts = meta.content.dropFirst(ISOBox.fullHeadByteCount),
      let handler = ISOBox("hdlr", in: parts), let locations = ISOBox("iloc", in: parts),
      let properties = ISOBox("iprp", in: parts).flatMap({ ISOBox("ipco", in: $0.content) }),
      let configuration = ISOBox("hvcC", in: properties.content),
      let extents = ISOBox("ispe", in: properties.content),
      let range = Self.firstItem(in: Array(locations.content)), range.upperBound <= file.count
    else { return nil }
    self.fileType = Array(fileType.whole)
    self.handler = Array(handler.whole)
    self.configuration = Array(configuration.whole)
    self.extents = Array(extents.whole)
    data = Array(file[range])
  }

  /// Where the first item's data lies: a base offset, and one extent behind it.
  private static func firstItem(in locations: [UInt8]) -> Range<Int>? {
    guard locations.count >= 26, locations[4] == 0x44, locations[5] == 0x40,
      ISOBox.number(locations[16..<18]) == 1
    else { return nil }
    let start = ISOBox.number(locations[12..<16]) + ISOBox.number(locations[18..<22])
    return start..<start + ISOBox.number(locations[22..<26])
  }
}

/// A box of the ISO base media file format: its length, its type, its content.
private struct ISOBox {
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

  static func full(_ type: String, _ content: [UInt8], version: UInt8 = 0) -> [UInt8] {
    box(type, [version, 0, 0, 0] + content)
  }
}
