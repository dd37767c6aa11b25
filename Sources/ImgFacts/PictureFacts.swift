package import ImgModel

/// What a file tells of its picture without its pixels. What is unknown is `nil`, and left out in
/// JSON.
package struct PictureFacts: Hashable, Sendable, Codable {
  /// What the stored samples mean.
  package enum ColourModel: String, Sendable, Codable {
    case gray, rgb, palette, ycbcr, cmyk, ycck, lab, xyb
  }

  package var format: ImageFormat
  /// The media type (IANA), such as `image/jpeg`.
  package var mediaType: String
  /// Pixels as seen, that is after the orientation was obeyed.
  package private(set) var width: Int
  package private(set) var height: Int
  /// Pixels as stored; the canvas of an animation.
  package private(set) var storedWidth: Int
  package private(set) var storedHeight: Int
  /// How the stored pixels are turned and mirrored, 1…8 (CIPA DC-008, "Orientation").
  package private(set) var orientation = 1
  /// Samples of a pixel as stored; 1 for an index into a palette.
  package var bands: Int?
  package var bitsPerSample: Int?
  package var hasAlpha: Bool?
  package var colourModel: ColourModel?
  /// How the pixels are encoded, such as `baseline`, `lossless` or `lzw`.
  package var encoding: String?
  /// Whether a part of the file shows the whole picture coarsely: a progressive JPEG, an interlaced
  /// PNG or GIF.
  package var isInterlaced: Bool?

  /// The description in the colour profile.
  package var profileDescription: String?
  /// The colour space as code points.
  package var codePoints: ColourCodePoints?
  /// The exponent of the encoding of light, such as 0.45455.
  package var gamma: Double?
  /// Of the primaries and of white, where a PNG says them by themselves.
  package var chromaticities: Chromaticities?
  /// What of these counts.
  package var colours: ColourDescription?

  /// How many pictures an icon holds, as the file declares it. The other facts are of the largest.
  package var pictureCount: Int?
  /// Frames of an animation or pages of a document.
  package var frameCount: Int?
  package var isAnimated: Bool?
  /// How long each frame is shown, in milliseconds, as the file says it; ``FrameDelay`` tells how it
  /// is rounded and played.
  package var frameDelays: [Int]?
  /// How often an animation plays; 0 means forever.
  package var loopCount: Int?
  /// Of one pass through the frames as it is played, in milliseconds.
  package var duration: Int?

  package var thumbnail: EmbeddedThumbnail?
  package var exif: EXIFFacts?
  /// Where the picture was taken. It stands apart from ``exif``, so that a caller can leave it out.
  package var gps: GPSFacts?
  package var xmp: XMPFacts?
  /// Names of datasets to their values (IPTC-IIM).
  package var iptc: [String: FactValue]?
  /// Names of metadata in a JPEG XL file that is compressed, and not read.
  package var compressedMetadata: [String]?

  init(format: ImageFormat, width: Int, height: Int) {
    self.format = format
    mediaType = format.mediaType
    (storedWidth, storedHeight) = (width, height)
    (self.width, self.height) = (width, height)
  }

  /// Obeys an orientation; one that does not exist is ignored.
  ///
  /// - Parameter part: of the stored pixels that is shown; `nil` for all.
  mutating func setOrientation(_ value: Int?, of part: (width: Int, height: Int)? = nil) {
    guard let value, (1...8).contains(value) else { return }
    let shown = part ?? (storedWidth, storedHeight)
    orientation = value
    (width, height) = value >= 5 ? (shown.height, shown.width) : shown
  }

  /// Records frames and what follows from their delays.
  ///
  /// - Parameter delays: in milliseconds, as the file says them.
  mutating func setFrames(delays: [Double]) {
    let rounded = FrameDelay.rounded(delays, toMultiplesOf: 1)
    frameCount = delays.count
    frameDelays = rounded
    duration = rounded.reduce(0) { $0 + FrameDelay.played($1) }
  }

  private enum CodingKeys: String, CodingKey {
    case format
    case mediaType = "media_type"
    case width, height
    case storedWidth = "stored_width"
    case storedHeight = "stored_height"
    case orientation, bands
    case bitsPerSample = "bits_per_sample"
    case hasAlpha = "has_alpha"
    case colourModel = "colour_model"
    case encoding
    case isInterlaced = "interlaced"
    case profileDescription = "profile_description"
    case codePoints = "code_points"
    case gamma, chromaticities, colours
    case pictureCount = "picture_count"
    case frameCount = "frame_count"
    case isAnimated = "animated"
    case frameDelays = "frame_delays_ms"
    case loopCount = "loop_count"
    case duration = "duration_ms"
    case thumbnail, exif, gps, xmp, iptc
    case compressedMetadata = "compressed_metadata"
  }
}

/// A smaller picture of the same in the file.
package struct EmbeddedThumbnail: Hashable, Sendable, Codable {
  package let format: ImageFormat
  /// Pixels as stored.
  package let width: Int
  package let height: Int
  /// Where its bytes lie in the file; `nil` if they are no file of their own, or not in one piece.
  package var byteOffset: Int?
  package var byteCount: Int?

  private enum CodingKeys: String, CodingKey {
    case format, width, height
    case byteOffset = "byte_offset"
    case byteCount = "byte_count"
  }
}

extension ImageFormat {
  /// As IANA registers it.
  package var mediaType: String {
    switch self {
    case .svg: "image/svg+xml"
    case .ico: "image/vnd.microsoft.icon"
    case .pnm: "image/x-portable-anymap"
    default: "image/\(rawValue)"
    }
  }
}
