public import FoundationEssentials
package import ImgModel
import ImgStore

/// A thumbnail: encoded bytes, what is known of them, and of the picture that they were made from.
public struct LoadedImage: Hashable, Sendable {
  /// Where a thumbnail came from.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Origin: String, Hashable, Sendable {
    /// The memory cache of this process, see ``ImageMemoryCache``.
    case memory
    /// The store that all processes of the machine share.
    case store
    /// It was made for this request. Its picture was fetched, unless the store had the original.
    case network
  }

  /// The picture that a thumbnail was made from.
  public struct Source: Hashable, Sendable {
    /// Its encoding.
    public let type: ImageType
    /// Its width in pixels, upright.
    public let width: Int
    /// Its height in pixels, upright.
    public let height: Int
    /// The size of the encoded picture in bytes.
    public let byteCount: Int

    /// The facts of a picture.
    public init(type: ImageType, width: Int, height: Int, byteCount: Int) {
      self.type = type
      self.width = width
      self.height = height
      self.byteCount = byteCount
    }
  }

  /// The encoded thumbnail.
  public let bytes: [UInt8]
  /// Its encoding.
  public let type: ImageType
  /// Its width in pixels, upright.
  public let width: Int
  /// Its height in pixels, upright.
  public let height: Int
  /// The picture that it was made from.
  public let source: Source
  /// A placeholder of some 25 bytes for the picture, in the format of ThumbHash; `nil` if the cluster
  /// could not make one.
  public let thumbHash: [UInt8]?
  /// When the store took it; `nil` if it is not stored.
  public internal(set) var storedAt: Date?
  /// The image is not served from this time on; `nil` if it is not stored, so that nothing may keep it.
  public internal(set) var expiresAt: Date?
  /// Where this result came from.
  public internal(set) var origin: Origin
  /// Whether each access in the store moves the expiry.
  let isExpirySliding: Bool

  /// A thumbnail, such as one for a test.
  public init(
    bytes: [UInt8], type: ImageType, width: Int, height: Int, source: Source,
    thumbHash: [UInt8]? = nil, storedAt: Date? = nil, expiresAt: Date? = nil, origin: Origin
  ) {
    self.init(
      bytes: bytes, type: type, width: width, height: height, source: source,
      thumbHash: thumbHash, storedAt: storedAt, expiresAt: expiresAt, isExpirySliding: false,
      origin: origin)
  }

  init(
    bytes: [UInt8], type: ImageType, width: Int, height: Int, source: Source,
    thumbHash: [UInt8]?, storedAt: Date?, expiresAt: Date?, isExpirySliding: Bool, origin: Origin
  ) {
    self.bytes = bytes
    self.type = type
    self.width = width
    self.height = height
    self.source = source
    self.thumbHash = thumbHash
    self.storedAt = storedAt
    self.expiresAt = expiresAt
    self.isExpirySliding = isExpirySliding
    self.origin = origin
  }

  /// The same thumbnail, from elsewhere.
  func from(_ origin: Origin) -> LoadedImage {
    var image = self
    image.origin = origin
    return image
  }

  /// The same thumbnail, as it is stored; `nil` for one that is not.
  func stored(at storedAt: Date?, until expiresAt: Date?) -> LoadedImage {
    var image = self
    image.storedAt = storedAt
    image.expiresAt = expiresAt
    return image
  }
}

extension LoadedImage {
  /// A record of the store.
  init(_ stored: StoredThumbnail, bytes: [UInt8], origin: Origin) {
    self.init(
      bytes: bytes, type: ImageType(stored.thumbnail.format), width: stored.thumbnail.width,
      height: stored.thumbnail.height,
      source: Source(
        type: ImageType(stored.sourceFormat), width: stored.sourceWidth,
        height: stored.sourceHeight, byteCount: Int(stored.sourceByteCount)),
      thumbHash: stored.thumbHash.map { Array($0.bytes) }, storedAt: Date(stored.storedAt),
      expiresAt: Date(stored.expiresAt), isExpirySliding: stored.lifetime > .zero, origin: origin)
  }

  /// A thumbnail that was made and not stored.
  init(_ made: UncachedThumbnail, bytes: [UInt8]) {
    self.init(
      bytes: bytes, type: ImageType(made.thumbnail.format), width: made.thumbnail.width,
      height: made.thumbnail.height,
      source: Source(
        type: ImageType(made.sourceFormat), width: made.sourceWidth, height: made.sourceHeight,
        byteCount: Int(made.sourceByteCount)),
      thumbHash: made.thumbHash.map { Array($0.bytes) }, origin: .network)
  }
}

/// What a picture looks like before all of it has arrived. It has the size of the thumbnail.
public struct ImagePreview: Hashable, Sendable {
  /// Counts the previews of a request from 1. Each is nearer to the thumbnail than the one before.
  public let number: Int
  /// The encoded preview.
  public let bytes: [UInt8]
  /// Its encoding.
  public let type: ImageType
  /// Its width in pixels.
  public let width: Int
  /// Its height in pixels.
  public let height: Int

  /// A preview, such as one for a test.
  public init(number: Int, bytes: [UInt8], type: ImageType, width: Int, height: Int) {
    self.number = number
    self.bytes = bytes
    self.type = type
    self.width = width
    self.height = height
  }
}

/// How much of a picture has arrived.
public struct ImageProgress: Hashable, Sendable {
  /// Bytes of the picture that have arrived; at least 1.
  public let receivedByteCount: Int
  /// Bytes of the whole picture; `nil` if the origin does not say.
  public let expectedByteCount: Int?

  /// A progress, such as one for a test.
  public init(receivedByteCount: Int, expectedByteCount: Int?) {
    self.receivedByteCount = receivedByteCount
    self.expectedByteCount = expectedByteCount
  }

  /// From 0 to 1; `nil` if the length is unknown, or what the origin said of it was wrong.
  public var fraction: Double? {
    guard let expectedByteCount, expectedByteCount > 0, receivedByteCount <= expectedByteCount
    else { return nil }
    return Double(receivedByteCount) / Double(expectedByteCount)
  }
}

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

extension Date {
  init(_ time: WallTime) {
    self.init(timeIntervalSince1970: Double(time.rawValue) / 1_000)
  }
}

extension WallTime {
  /// Clamped to what a date of the store can be.
  package init(_ date: Date) {
    let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
    self.init(rawValue: Int64(min(max(milliseconds, -9e18), 9e18)))
  }
}

extension LoadedImage {
  /// The average colour of the picture, as its ``thumbHash`` tells; `nil` without one.
  public var averageColour: RGBColour? {
    thumbHash.flatMap(ThumbHash.init).map { ThumbHashDrawing($0).averageColour }
  }
}
