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

/// Metadata of a camera or a program (CIPA DC-008), by names of tags as most programs print them.
/// Values stay as they are stored: a code stays a number, a date a text of local time.
package struct EXIFFacts: Hashable, Sendable, Codable {
  /// Of the picture.
  package var ifd0: [String: FactValue] = [:]
  /// Of the exposure and the camera.
  package var exif: [String: FactValue] = [:]
  /// Of interoperability.
  package var interop: [String: FactValue] = [:]

  var isEmpty: Bool { ifd0.isEmpty && exif.isEmpty && interop.isEmpty }
}

/// Where a picture was taken.
package struct GPSFacts: Hashable, Sendable, Codable {
  /// In degrees; north is positive.
  package var latitude: Double?
  /// In degrees; east is positive.
  package var longitude: Double?
  /// In metres above the sea.
  package var altitude: Double?
  /// All tags by their names, coordinates in degrees without a sign, times as text.
  package var tags: [String: FactValue] = [:]
}

/// The tags of TIFF 6.0 and CIPA DC-008 that people use, by the names that most programs print.
struct EXIFTag {
  /// What its value is where its type does not say it.
  enum Kind {
    /// What the type says.
    case plain
    /// Characters of type UNDEFINED.
    case characters
    /// Characters behind eight bytes that name their encoding.
    case encodedText
    /// Little-endian UTF-16 of type BYTE, as Windows writes it.
    case wideText
    /// Small numbers of type UNDEFINED.
    case numbers
    /// Degrees, minutes, seconds.
    case angle
    /// Hours, minutes, seconds.
    case time
  }

  let name: String
  var kind = Kind.plain

  private init(_ name: String, _ kind: Kind = .plain) {
    (self.name, self.kind) = (name, kind)
  }

  /// Of the picture, and of the exposure: some programs put a tag of one into the directory of the
  /// other.
  static let picture: [Int: EXIFTag] = [
    0x0100: .init("ImageWidth"), 0x0101: .init("ImageHeight"), 0x0102: .init("BitsPerSample"),
    0x0103: .init("Compression"), 0x0106: .init("PhotometricInterpretation"),
    0x010D: .init("DocumentName"), 0x010E: .init("ImageDescription"), 0x010F: .init("Make"),
    0x0110: .init("Model"), 0x0112: .init("Orientation"), 0x0115: .init("SamplesPerPixel"),
    0x0116: .init("RowsPerStrip"), 0x011A: .init("XResolution"), 0x011B: .init("YResolution"),
    0x011C: .init("PlanarConfiguration"), 0x011D: .init("PageName"),
    0x0128: .init("ResolutionUnit"), 0x0129: .init("PageNumber"), 0x0131: .init("Software"),
    0x0132: .init("ModifyDate"), 0x013B: .init("Artist"), 0x013C: .init("HostComputer"),
    0x013D: .init("Predictor"), 0x013E: .init("WhitePoint"),
    0x013F: .init("PrimaryChromaticities"), 0x0142: .init("TileWidth"),
    0x0143: .init("TileLength"), 0x0152: .init("ExtraSamples"), 0x0153: .init("SampleFormat"),
    0x0211: .init("YCbCrCoefficients"), 0x0212: .init("YCbCrSubSampling"),
    0x0213: .init("YCbCrPositioning"), 0x0214: .init("ReferenceBlackWhite"),
    0x4746: .init("Rating"), 0x4749: .init("RatingPercent"), 0x8298: .init("Copyright"),
    0x829A: .init("ExposureTime"), 0x829D: .init("FNumber"), 0x8822: .init("ExposureProgram"),
    0x8824: .init("SpectralSensitivity"), 0x8827: .init("ISO"), 0x8830: .init("SensitivityType"),
    0x8831: .init("StandardOutputSensitivity"), 0x8832: .init("RecommendedExposureIndex"),
    0x8833: .init("ISOSpeed"), 0x8834: .init("ISOSpeedLatitudeyyy"),
    0x8835: .init("ISOSpeedLatitudezzz"), 0x9000: .init("ExifVersion", .characters),
    0x9003: .init("DateTimeOriginal"), 0x9004: .init("CreateDate"), 0x9010: .init("OffsetTime"),
    0x9011: .init("OffsetTimeOriginal"), 0x9012: .init("OffsetTimeDigitized"),
    0x9101: .init("ComponentsConfiguration", .numbers), 0x9102: .init("CompressedBitsPerPixel"),
    0x9201: .init("ShutterSpeedValue"), 0x9202: .init("ApertureValue"),
    0x9203: .init("BrightnessValue"), 0x9204: .init("ExposureCompensation"),
    0x9205: .init("MaxApertureValue"), 0x9206: .init("SubjectDistance"),
    0x9207: .init("MeteringMode"), 0x9208: .init("LightSource"), 0x9209: .init("Flash"),
    0x920A: .init("FocalLength"), 0x9214: .init("SubjectArea"),
    0x9286: .init("UserComment", .encodedText), 0x9290: .init("SubSecTime"),
    0x9291: .init("SubSecTimeOriginal"), 0x9292: .init("SubSecTimeDigitized"),
    0x9400: .init("AmbientTemperature"), 0x9401: .init("Humidity"), 0x9402: .init("Pressure"),
    0x9403: .init("WaterDepth"), 0x9404: .init("Acceleration"),
    0x9405: .init("CameraElevationAngle"), 0x9C9B: .init("XPTitle", .wideText),
    0x9C9C: .init("XPComment", .wideText), 0x9C9D: .init("XPAuthor", .wideText),
    0x9C9E: .init("XPKeywords", .wideText), 0x9C9F: .init("XPSubject", .wideText),
    0xA000: .init("FlashpixVersion", .characters), 0xA001: .init("ColorSpace"),
    0xA002: .init("ExifImageWidth"), 0xA003: .init("ExifImageHeight"),
    0xA004: .init("RelatedSoundFile"), 0xA20B: .init("FlashEnergy"),
    0xA20E: .init("FocalPlaneXResolution"), 0xA20F: .init("FocalPlaneYResolution"),
    0xA210: .init("FocalPlaneResolutionUnit"), 0xA214: .init("SubjectLocation"),
    0xA215: .init("ExposureIndex"), 0xA217: .init("SensingMethod"),
    0xA300: .init("FileSource", .numbers), 0xA301: .init("SceneType", .numbers),
    0xA401: .init("CustomRendered"), 0xA402: .init("ExposureMode"), 0xA403: .init("WhiteBalance"),
    0xA404: .init("DigitalZoomRatio"), 0xA405: .init("FocalLengthIn35mmFormat"),
    0xA406: .init("SceneCaptureType"), 0xA407: .init("GainControl"), 0xA408: .init("Contrast"),
    0xA409: .init("Saturation"), 0xA40A: .init("Sharpness"), 0xA40C: .init("SubjectDistanceRange"),
    0xA420: .init("ImageUniqueID"), 0xA430: .init("OwnerName"), 0xA431: .init("SerialNumber"),
    0xA432: .init("LensInfo"), 0xA433: .init("LensMake"), 0xA434: .init("LensModel"),
    0xA435: .init("LensSerialNumber"), 0xA436: .init("ImageTitle"), 0xA437: .init("Photographer"),
    0xA438: .init("ImageEditor"), 0xA439: .init("CameraFirmware"),
    0xA43A: .init("RAWDevelopingSoftware"), 0xA43B: .init("ImageEditingSoftware"),
    0xA43C: .init("MetadataEditingSoftware"), 0xA460: .init("CompositeImage"),
    0xA461: .init("CompositeImageCount"), 0xA500: .init("Gamma"),
    0xC612: .init("DNGVersion"), 0xC614: .init("UniqueCameraModel"),
    0xC62F: .init("CameraSerialNumber"),
  ]

  static let interoperability: [Int: EXIFTag] = [
    0x0001: .init("InteropIndex"), 0x0002: .init("InteropVersion", .characters),
    0x1000: .init("RelatedImageFileFormat"), 0x1001: .init("RelatedImageWidth"),
    0x1002: .init("RelatedImageHeight"),
  ]

  static let gps: [Int: EXIFTag] = [
    0x00: .init("GPSVersionID"), 0x01: .init("GPSLatitudeRef"), 0x02: .init("GPSLatitude", .angle),
    0x03: .init("GPSLongitudeRef"), 0x04: .init("GPSLongitude", .angle),
    0x05: .init("GPSAltitudeRef"), 0x06: .init("GPSAltitude"), 0x07: .init("GPSTimeStamp", .time),
    0x08: .init("GPSSatellites"), 0x09: .init("GPSStatus"), 0x0A: .init("GPSMeasureMode"),
    0x0B: .init("GPSDOP"), 0x0C: .init("GPSSpeedRef"), 0x0D: .init("GPSSpeed"),
    0x0E: .init("GPSTrackRef"), 0x0F: .init("GPSTrack"), 0x10: .init("GPSImgDirectionRef"),
    0x11: .init("GPSImgDirection"), 0x12: .init("GPSMapDatum"), 0x13: .init("GPSDestLatitudeRef"),
    0x14: .init("GPSDestLatitude", .angle), 0x15: .init("GPSDestLongitudeRef"),
    0x16: .init("GPSDestLongitude", .angle), 0x17: .init("GPSDestBearingRef"),
    0x18: .init("GPSDestBearing"), 0x19: .init("GPSDestDistanceRef"),
    0x1A: .init("GPSDestDistance"), 0x1B: .init("GPSProcessingMethod", .encodedText),
    0x1C: .init("GPSAreaInformation", .encodedText), 0x1D: .init("GPSDateStamp"),
    0x1E: .init("GPSDifferential"), 0x1F: .init("GPSHPositioningError"),
  ]
}
