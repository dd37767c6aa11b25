import ImgModel

/// A block of EXIF metadata inside a picture: a TIFF file without pixels.
package struct EXIFBlock {
  private enum Tag {
    static let orientation = 0x0112
    static let thumbnailOffset = 0x0201
    static let thumbnailByteCount = 0x0202
    static let exif = 0x8769
    static let gps = 0x8825
    static let interoperability = 0xA005
  }

  private let file: TIFFFile
  private let first: TIFFDirectory

  /// - Parameter window: begins with the byte order.
  /// - Returns: `nil` when that is no such block.
  package init?(_ window: ByteWindow) throws(FactsError) {
    guard let file = try TIFFFile(window),
      let first = try file.directory(at: file.firstDirectoryOffset)
    else { return nil }
    self.init(file, first)
  }

  /// The metadata of a directory that has been read.
  init(_ file: TIFFFile, _ first: TIFFDirectory) {
    (self.file, self.first) = (file, first)
  }

  /// 1…8; `nil` when the block tells none that exists.
  package func orientation() throws(FactsError) -> Int? {
    guard let value = try first.firstNumber(Tag.orientation), (1...8).contains(value) else {
      return nil
    }
    return value
  }

  /// Adds the tags to facts, and the thumbnail of a JPEG.
  func read(into facts: inout PictureFacts) throws(FactsError) {
    var exif = EXIFFacts()
    exif.ifd0 = try first.facts(EXIFTag.picture)
    if let directory = try directory(Tag.exif, in: first) {
      exif.exif = try directory.facts(EXIFTag.picture)
      if let directory = try self.directory(Tag.interoperability, in: directory) {
        exif.interop = try directory.facts(EXIFTag.interoperability)
      }
    }
    if !exif.isEmpty { facts.exif = exif }
    if let directory = try directory(Tag.gps, in: first) {
      let gps = try GPSFacts(directory)
      if !gps.tags.isEmpty { facts.gps = gps }
    }
  }

  /// The thumbnail in the second directory, which is a JPEG (CIPA DC-008 section 4.6.3).
  func thumbnail() throws(FactsError) -> EmbeddedThumbnail? {
    guard let second = try file.offset(after: first),
      let directory = try file.directory(at: second),
      let offset = try directory.firstNumber(Tag.thumbnailOffset),
      let byteCount = try directory.firstNumber(Tag.thumbnailByteCount)
    else { return nil }
    let part = file.window.part(at: offset, count: byteCount)
    guard let size = try JPEGHeader.size(in: part) else { return nil }
    let range = file.window.fileRange(at: offset, count: byteCount)
    return EmbeddedThumbnail(
      format: .jpeg, width: size.width, height: size.height, byteOffset: range?.lowerBound,
      byteCount: range?.count)
  }

  private func directory(
    _ tag: Int, in parent: TIFFDirectory
  ) throws(FactsError) -> TIFFDirectory? {
    guard let entry = parent.entry(tag), let offset = try parent.value(of: entry)?.integer else {
      return nil
    }
    return try file.directory(at: offset)
  }
}

extension GPSFacts {
  fileprivate init(_ directory: TIFFDirectory) throws(FactsError) {
    tags = try directory.facts(EXIFTag.gps)
    latitude = Self.signed(tags["GPSLatitude"], tags["GPSLatitudeRef"], negative: "S", upTo: 90)
    longitude = Self.signed(tags["GPSLongitude"], tags["GPSLongitudeRef"], negative: "W", upTo: 180)
    // 1 and 3 mean below the sea or the ellipsoid.
    let isBelow = [1, 3].contains(tags["GPSAltitudeRef"]?.integer)
    altitude = tags["GPSAltitude"]?.number.map { isBelow ? -$0 : $0 }
  }

  private static func signed(
    _ angle: FactValue?, _ reference: FactValue?, negative: String, upTo maximum: Double
  ) -> Double? {
    guard let degrees = angle?.number, degrees <= maximum else { return nil }
    return reference?.text?.uppercased().hasPrefix(negative) == true ? -degrees : degrees
  }
}
