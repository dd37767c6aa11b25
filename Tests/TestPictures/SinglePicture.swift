/// The parts of a file that libheif has written.
struct SinglePicture {
  let fileType, handler, configuration, extents, data: [UInt8]

  /// - Parameter configurationType: of the box that configures the codec.
  init?(_ file: [UInt8], configurationType: String = "hvcC") {
    guard let fileType = ISOBox("ftyp", in: file[...]), let meta = ISOBox("meta", in: file[...]),
      case let parts = meta.content.dropFirst(ISOBox.fullHeadByteCount),
      let handler = ISOBox("hdlr", in: parts), let locations = ISOBox("iloc", in: parts),
      let properties = ISOBox("iprp", in: parts).flatMap({ ISOBox("ipco", in: $0.content) }),
      let configuration = ISOBox(configurationType, in: properties.content),
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
