/// The encoding of a picture. The decoder detects it from the bytes; the file name and the media type
/// do not matter. The raw value is the name that `imgctl` uses, such as `jpeg` or `webp`.
///
/// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
@nonexhaustive
public enum ImageFormat: String, Hashable, CaseIterable, Sendable, Codable {
  /// JPEG.
  case jpeg
  /// PNG, still or animated.
  case png
  /// WebP, still or animated.
  case webp
  /// GIF, still or animated.
  case gif
  /// TIFF.
  case tiff
  /// HEIF, such as HEIC.
  case heif
  /// AVIF.
  case avif
  /// JPEG XL.
  case jxl
  /// SVG.
  case svg
  /// JPEG 2000.
  case jp2
  /// A bitmap of Windows.
  case bmp
  /// An icon or a cursor of Windows.
  case ico
  /// A portable anymap: PBM, PGM, PPM, PAM or PFM.
  case pnm

  /// Whether it is decoded only where ``Limits/allowedFormats`` names it, because known faults of its
  /// decoder corrupt memory.
  package var isOptional: Bool { self == .jp2 }

  /// As IANA registers it, or as it is in common use.
  public var mediaType: String {
    switch self {
    case .svg: "image/svg+xml"
    case .ico: "image/vnd.microsoft.icon"
    case .pnm: "image/x-portable-anymap"
    default: "image/\(rawValue)"
    }
  }

  /// The file name extension that `export` uses, without the dot.
  public var fileExtension: String {
    switch self {
    case .jpeg: "jpg"
    default: rawValue
    }
  }

  /// The format that belongs to the extension of a file name, in any case; `nil` if there is no
  /// extension or it is unknown.
  package init?(extensionOf path: String) {
    let name = path.utf8.split(separator: UInt8(ascii: "/")).last ?? path.utf8[...]
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else {
      return nil
    }
    switch String(decoding: name[name.index(after: dot)...], as: UTF8.self).lowercased() {
    case "jpg", "jpeg", "jpe", "jfif": self = .jpeg
    case "tif", "tiff": self = .tiff
    case "heic", "heif", "hif": self = .heif
    case "svg", "svgz": self = .svg
    case "j2c", "j2k", "jp2", "jpc": self = .jp2
    case "bmp", "dib": self = .bmp
    case "cur", "ico": self = .ico
    case "pnm", "pbm", "pgm", "ppm", "pam", "pfm": self = .pnm
    case let other:
      guard let format = ImageFormat(rawValue: other) else { return nil }
      self = format
    }
  }
}

/// How a picture became a thumbnail. Its header and the variant decide it.
package enum DecodePath: String, CaseIterable, Hashable, Sendable, FieldValue {
  /// The luma and the chroma of a JPEG were resized and encoded as they were stored.
  case planar
  /// Pixels were converted to sRGB and resized.
  case general
  /// The same, from a smaller picture that the file holds beside its own.
  case embedded
  /// It did not, so far: the header of an original was checked, and nothing else of it.
  case undecoded
}

/// What a picture's header says, and what follows from it.
package struct SourceFacts: Hashable, Sendable, Fielded {
  package let format: ImageFormat
  /// Pixels of one frame as seen, that is after the orientation was obeyed.
  package let width: Int
  package let height: Int
  /// Frames of an animation, pages of a document; 1 of a plain picture.
  package let frames: Int
  package let decodePath: DecodePath

  package init(
    format: ImageFormat, width: Int, height: Int, frames: Int, decodePath: DecodePath = .general
  ) {
    self.format = format
    self.width = width
    self.height = height
    self.frames = frames
    self.decodePath = decodePath
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    decodePath = try f.field("decode_path", value?.decodePath)
    format = try f.field("format", value?.format)
    frames = try f.field("frames", value?.frames)
    height = try f.field("height", value?.height)
    width = try f.field("width", value?.width)
  }
}

@_spi(Coding) extension ImageFormat: FieldValue {}

/// A picture that a thumbnail was made from.
public struct SourcePicture: Hashable, Sendable {
  /// Its encoding.
  public let format: ImageFormat
  /// Its width in pixels, upright.
  public let width: Int
  /// Its height in pixels, upright.
  public let height: Int
  /// The size of the encoded picture in bytes, as its origin sent it.
  public let byteCount: Int
  /// How it became the thumbnail; `nil` of facts, and of an original that was decoded.
  package let decodePath: DecodePath?
  /// `nil` if it was not decoded, but its facts were read.
  package let thumbHash: ThumbHash?

  /// The facts of a picture.
  ///
  /// - Parameter thumbHash: a placeholder in the format of ThumbHash. Bytes that are none count as `nil`.
  public init(
    format: ImageFormat, width: Int, height: Int, byteCount: Int, thumbHash: [UInt8]? = nil
  ) {
    self.init(
      format: format, width: width, height: height, byteCount: byteCount, decodePath: .general,
      thumbHash: thumbHash.flatMap { ThumbHash(bytes: $0) })
  }

  package init(
    format: ImageFormat, width: Int, height: Int, byteCount: Int, decodePath: DecodePath?,
    thumbHash: ThumbHash?
  ) {
    self.format = format
    self.width = width
    self.height = height
    self.byteCount = byteCount
    self.decodePath = decodePath
    self.thumbHash = thumbHash
  }

  package init(_ facts: SourceFacts, byteCount: Int, thumbHash: ThumbHash?) {
    self.init(
      format: facts.format, width: facts.width, height: facts.height, byteCount: byteCount,
      decodePath: facts.decodePath, thumbHash: thumbHash)
  }
}

// Its members stand beside those of the thumbnail.
@_spi(Coding) extension SourcePicture: Fielded {
  /// The members of its JSON object.
  public init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    decodePath = try f.optional("decode_path", value?.decodePath)
    byteCount = try f.field("source_bytes", value?.byteCount)
    format = try f.field("source_format", value?.format)
    height = try f.field("source_height", value?.height)
    width = try f.field("source_width", value?.width)
    thumbHash = try f.optional("thumbhash", value?.thumbHash)
  }
}

/// The identity of a picture: requests with the same name share one fetch, and the store finds the
/// picture by its name.
package struct PictureName: Hashable, Sendable {
  /// The URL without the ignored query parameters, or the cache key.
  package let text: String
  /// The added request headers, because other headers may select another picture.
  package let headers: [HeaderField]

  package init(text: String, headers: [HeaderField] = []) {
    self.text = text
    self.headers = headers
  }

  /// The name of a picture that is requested with default fetch options.
  package init(_ url: ImageURL) {
    self.init(text: url.text)
  }

  /// The name's ``text`` in the name of a record, which may have a hash of header fields behind a space.
  package static func text(ofRecord recordText: String) -> String {
    String(decoding: recordText.utf8.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
  }

  /// The URL of a picture's text. That of a version that a request named has the version as a fragment.
  package static func url(ofText text: String) -> Substring { text.prefix { $0 != "#" } }
}
