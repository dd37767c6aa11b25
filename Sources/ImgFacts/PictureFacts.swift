public import ImgModel

/// What a file tells of its picture without its pixels. What is unknown is `nil`, and left out in
/// JSON.
///
/// A program that needs more than the public properties encodes the facts: the JSON object has all that
/// `imgctl info --full` prints of the picture.
public struct PictureFacts: Hashable, Sendable, Codable {
  /// What the stored samples mean.
  package enum ColourModel: String, Sendable, Codable {
    case gray, rgb, palette, ycbcr, cmyk, ycck, lab, xyb
  }

  /// How the picture is encoded.
  public package(set) var format: ImageFormat
  /// The media type (IANA), such as `image/jpeg`.
  public package(set) var mediaType: String
  /// The width in pixels as seen, that is after the orientation was obeyed.
  public private(set) var width: Int
  /// The height in pixels as seen.
  public private(set) var height: Int
  /// Pixels as stored; the canvas of an animation.
  package private(set) var storedWidth: Int
  package private(set) var storedHeight: Int
  /// How the stored pixels are turned and mirrored, 1…8 (CIPA DC-008, "Orientation").
  public private(set) var orientation = 1
  /// Samples of a pixel as stored; 1 for an index into a palette.
  package var bands: Int?
  package var bitsPerSample: Int?
  /// Whether pixels may be transparent.
  public package(set) var hasAlpha: Bool?
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
  public package(set) var frameCount: Int?
  /// Whether the frames are those of an animation.
  public package(set) var isAnimated: Bool?
  /// How long each frame is shown, in milliseconds, as the file says it; ``FrameDelay`` tells how it
  /// is rounded and played.
  package var frameDelays: [Int]?
  /// How often an animation plays; 0 means forever.
  package var loopCount: Int?
  /// Of one pass through the frames as it is played, in milliseconds.
  public package(set) var duration: Int?

  package var thumbnail: EmbeddedThumbnail?
  package var exif: EXIFFacts?
  /// Where the picture was taken. It stands apart from ``exif``, so that a caller can leave it out.
  package var gps: GPSFacts?
  package var xmp: XMPFacts?
  /// Names of datasets to their values (IPTC-IIM).
  package var iptc: [String: FactValue]?
  /// Names of metadata in a JPEG XL file that is compressed, and not read.
  package var compressedMetadata: [String]?

  /// The facts of an upright picture, such as one for a test.
  public init(format: ImageFormat, width: Int, height: Int) {
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

extension PictureFacts {
  /// How far into a file its format is looked for, step by step: only the root element of an SVG may
  /// stand far behind its beginning.
  private static let sniffedByteCounts = [1_000, 4_096, 16_384, FormatSniffer.examinedByteCount]

  /// Reads facts from as few bytes as the format allows.
  ///
  /// The function is pure. On ``FactsError/needsBytes(_:)`` the caller adds the range to the source
  /// and calls again; ``FactsQuery`` does that, and bounds how often.
  ///
  /// - Parameter toleratesCut: whether a GIF or WebP that ends early has the facts before its end.
  /// - Returns: what the extent asks for. The same bytes always give the same facts.
  package static func reading(
    _ source: any ByteSource, _ extent: FactsExtent, toleratesCut: Bool = false
  ) throws(FactsError) -> PictureFacts {
    let window = ByteWindow(source)
    var facts = try facts(in: window, as: format(in: window), extent, toleratesCut)
    if facts.colours == nil, facts.profileDescription != nil {
      facts.colours = ColourDescription(profileBeside: nil)
    }
    return facts
  }

  /// Reads the header of a file that is at hand, and counts its frames as far as no decoder is needed for
  /// that: those of a JPEG XL are not counted. One that is damaged behind its header may have no count.
  ///
  /// - Throws: ``FactsError/needsBytes(_:)`` only if bytes of the file cannot be had.
  package static func headerWithFrames(
    in source: any ByteSource
  ) throws(FactsError) -> PictureFacts {
    var header = try reading(source, .header)
    guard [.gif, .png, .webp, .tiff, .heif, .avif].contains(header.format) else { return header }
    do throws(FactsError) {
      return try reading(source, .all, toleratesCut: true)
    } catch FactsLimits.tooManyFrames {
      header.frameCount = FactsLimits.maximumFrameCount + 1
      return header
    } catch .needsBytes(let range) {
      throw .needsBytes(range)
    } catch {
      return header
    }
  }

  private static func facts(
    in window: ByteWindow, as format: ImageFormat, _ extent: FactsExtent, _ toleratesCut: Bool
  ) throws(FactsError) -> PictureFacts {
    switch format {
    case .jpeg: return try JPEGFacts.facts(in: window, extent)
    case .png: return try PNGFacts.facts(in: window, extent)
    case .gif: return try GIFFacts.facts(in: window, extent, toleratesCut)
    case .webp: return try WebPFacts.facts(in: window, extent, toleratesCut)
    case .tiff: return try TIFFFacts.facts(in: window, extent)
    case .heif: return try HEIFFacts.facts(in: window, as: .heif, extent)
    case .avif: return try HEIFFacts.facts(in: window, as: .avif, extent)
    case .jxl: return try JXLFacts.facts(in: window, extent)
    case .jp2: return try JPEG2000Facts.facts(in: window, extent)
    case .svg: return try SVGFacts.facts(in: window)
    case .bmp: return try BitmapFacts.facts(in: window, extent)
    case .ico: return try IconFacts.facts(in: window, extent)
    case .pnm: return try AnymapHeader.facts(in: window)
    }
  }

  /// Fewer do not tell any format from what is none.
  private static let minimumByteCount = 18

  private static func format(in window: ByteWindow) throws(FactsError) -> ImageFormat {
    for byteCount in sniffedByteCounts {
      let head = try window.bytes(at: 0, upTo: byteCount)
      switch FormatSniffer.sniff(head) {
      case .picture(let format): return format
      case .unsupported(let name): throw .unsupported("\(name) is not read")
      case .notAnImage:
        guard head.count >= minimumByteCount || !FormatSniffer.isBeginning(head) else {
          throw .truncated
        }
        if let rejection = FormatSniffer.rejection(of: head) {
          throw .notAnImage(rejection.detail)
        }
        // The bytes end where more of them may make a picture.
        guard head.count == byteCount else { throw .truncated }
      }
    }
    throw .notAnImage("the first bytes match no image format")
  }
}

/// The value of a metadata tag. In JSON it is a number, a text or a list of them.
package enum FactValue: Hashable, Sendable {
  case integer(Int)
  /// A number that is no integer; always finite.
  case number(Double)
  case text(String)
  case list([FactValue])

  /// One value as itself, several as a list; `nil` for none.
  init?(_ values: [FactValue]) {
    guard let first = values.first else { return nil }
    self = values.count == 1 ? first : .list(values)
  }

  /// A fraction or a floating-point number. An integer among them is one, as in JSON.
  ///
  /// - Returns: `nil` for what is not finite.
  init?(_ value: Double) {
    guard value.isFinite else { return nil }
    self = Int(exactly: value).map { .integer($0) } ?? .number(value)
  }

  package var integer: Int? {
    guard case .integer(let value) = self else { return nil }
    return value
  }

  package var number: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    case .text, .list: nil
    }
  }

  package var text: String? {
    guard case .text(let value) = self else { return nil }
    return value
  }

  package var list: [FactValue]? {
    guard case .list(let values) = self else { return nil }
    return values
  }
}

extension FactValue: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let value = try? container.decode(Int.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else {
      self = .list(try container.decode([FactValue].self))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .integer(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .text(let value): try container.encode(value)
    case .list(let values): try container.encode(values)
    }
  }
}

/// How long a frame of an animation is shown.
package enum FrameDelay {
  private static let longestIgnored = 10
  private static let replacement = 100

  /// As browsers play it: a delay of at most 10 ms becomes 100 ms, in every format. Such files were
  /// made for programs that could not go as fast. Gecko does so in `FrameTimeout::FromRawMilliseconds`,
  /// Blink and WebKit where they ask for the duration of a frame.
  ///
  /// - Parameter milliseconds: as the file says it.
  package static func played(_ milliseconds: Int) -> Int {
    milliseconds <= longestIgnored ? replacement : milliseconds
  }

  /// Delays in whole units. What one delay loses by that, the next one gains: all together last as
  /// long as before, to half a unit. None becomes so short that it is ignored, see ``played(_:)``, and
  /// none longer than when it is rounded up by itself.
  ///
  /// - Parameters:
  ///   - delays: in milliseconds, as the file says them. One that is ignored is rounded by itself.
  ///   - unit: in milliseconds; the result is in milliseconds, too.
  package static func rounded(_ delays: [Double], toMultiplesOf unit: Int) -> [Int] {
    let shortest = (longestIgnored / unit + 1) * unit
    let whole = { (milliseconds: Double, rule: FloatingPointRoundingRule) in
      Int((milliseconds / Double(unit)).rounded(rule)) * unit
    }
    var lost = 0.0
    return delays.map { delay in
      guard delay > Double(longestIgnored) else { return whole(delay, .toNearestOrAwayFromZero) }
      lost += delay
      // The sum of a long and a short number is not exact.
      let nearest = min(whole(lost, .toNearestOrAwayFromZero), whole(delay, .up))
      let rounded = max(shortest, nearest)
      lost -= Double(rounded)
      return rounded
    }
  }
}

/// Why facts cannot be told.
package enum FactsError: Error, Hashable, Sendable {
  /// A range of the file is missing. It is never empty, and it ends at or before the end of a file
  /// whose length is known. With more of it at hand, the same call comes further.
  case needsBytes(Range<Int>)
  /// The file ends before the facts do.
  case truncated
  /// No image format begins like the file. The text is for people.
  case notAnImage(String)
  /// The file breaks the rules of its format. The text is for people.
  case invalid(String)
  /// A format, or a kind of it, that is not read. The text is for people.
  case unsupported(String)
}

/// How much is read of a file.
package enum FactsExtent: Int, Comparable, Sendable, CaseIterable {
  /// Up to where size, orientation, samples and colour model are known.
  case header
  /// Also the metadata in front of the pixels, or where the file says it lies.
  case metadata
  /// Also what a walk through the whole file finds: frames, delays, metadata behind the pixels. The
  /// pixels themselves are passed over where the format allows it.
  case all

  package static func < (left: FactsExtent, right: FactsExtent) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// What no file may exceed, whatever it declares.
enum FactsLimits {
  /// Of frames and pages whose headers are walked.
  static let maximumFrameCount = 65_536

  static let tooManyFrames = FactsError.unsupported("more than \(maximumFrameCount) frames")
}
