import ImgModel

/// The encoding of a picture, as its own bytes tell.
///
/// Later versions may add types, so a `switch` over them needs a `default`.
public struct ImageType: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  /// The name that `imgctl` uses, such as `jpeg` or `webp`.
  public let rawValue: String

  /// JPEG.
  public static let jpeg = ImageType(.jpeg)
  /// PNG, still or animated.
  public static let png = ImageType(.png)
  /// WebP, still or animated.
  public static let webp = ImageType(.webp)
  /// GIF, still or animated.
  public static let gif = ImageType(.gif)
  /// TIFF.
  public static let tiff = ImageType(.tiff)
  /// HEIF, such as HEIC.
  public static let heif = ImageType(.heif)
  /// AVIF.
  public static let avif = ImageType(.avif)
  /// JPEG XL.
  public static let jxl = ImageType(.jxl)
  /// SVG.
  public static let svg = ImageType(.svg)
  /// JPEG 2000.
  public static let jp2 = ImageType(.jp2)
  /// A bitmap of Windows.
  public static let bmp = ImageType(.bmp)
  /// An icon or a cursor of Windows.
  public static let ico = ImageType(.ico)
  /// A portable anymap: PBM, PGM, PPM, PAM or PFM.
  public static let pnm = ImageType(.pnm)

  /// A type by its name.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  init(_ format: ImageFormat) {
    rawValue = format.rawValue
  }

  /// The name, see ``rawValue``.
  public var description: String { rawValue }

  /// The media type that is registered with IANA, or in common use; `application/octet-stream` for an
  /// unknown type.
  public var mediaType: String {
    switch self {
    case .svg: "image/svg+xml"
    case .ico: "image/x-icon"
    case .pnm: "image/x-portable-anymap"
    case _ where ImageFormat(rawValue: rawValue) != nil: "image/\(rawValue)"
    default: "application/octet-stream"
    }
  }

  /// The extension of a file, without the dot.
  public var fileExtension: String {
    ImageFormat(rawValue: rawValue)?.fileExtension ?? rawValue
  }
}
