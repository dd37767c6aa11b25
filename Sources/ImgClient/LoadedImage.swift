public import FoundationEssentials
public import ImgModel

/// A thumbnail: encoded bytes, what is known of them, and of the picture that they were made from.
public struct LoadedImage: Hashable, Sendable {
  /// Where a thumbnail came from.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Origin: String, Hashable, Sendable {
    /// The memory cache of this process, see ``ImageMemoryCache``.
    case memory
    /// The store that all processes of the machine share: it had the thumbnail, or the original that the thumbnail
    /// was made from.
    case store
    /// It was made for this request from a picture that was fetched, or that was given, or it could not be stored.
    case network
  }

  /// The encoded thumbnail.
  public let bytes: [UInt8]
  let thumbnail: Thumbnail
  /// The picture that it was made from.
  public let source: SourcePicture
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
    bytes: [UInt8], format: ImageFormat, width: Int, height: Int, source: SourcePicture,
    storedAt: Date? = nil, expiresAt: Date? = nil, origin: Origin
  ) {
    self.init(
      bytes: bytes,
      Thumbnail(format: format, width: width, height: height, byteCount: bytes.count), of: source,
      storedAt: storedAt, expiresAt: expiresAt, origin: origin)
  }

  private init(
    bytes: [UInt8], _ thumbnail: Thumbnail, of source: SourcePicture, storedAt: Date? = nil,
    expiresAt: Date? = nil, isExpirySliding: Bool = false, origin: Origin
  ) {
    self.bytes = bytes
    self.thumbnail = thumbnail
    self.source = source
    self.storedAt = storedAt
    self.expiresAt = expiresAt
    self.isExpirySliding = isExpirySliding
    self.origin = origin
  }

  /// A record of the store.
  init(_ stored: StoredResult, origin: Origin) {
    let record = stored.record
    self.init(
      bytes: stored.bytes, record.thumbnail, of: record.source, storedAt: record.storedAt,
      expiresAt: record.expiresAt, isExpirySliding: record.lifetime > .zero, origin: origin)
  }

  /// A thumbnail that was made and not stored.
  init(_ made: UncachedPicture) {
    self.init(
      bytes: made.bytes, made.facts.thumbnail, of: made.facts.source, origin: .network)
  }

  /// Its encoding.
  public var format: ImageFormat { thumbnail.format }
  /// Its width in pixels, upright.
  public var width: Int { thumbnail.width }
  /// Its height in pixels, upright.
  public var height: Int { thumbnail.height }
  /// A placeholder of some 25 bytes for the picture, in the format of ThumbHash; `nil` if the cluster
  /// could not make one.
  public var thumbHash: [UInt8]? { source.thumbHash?.bytes }

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

  /// The same thumbnail, without its bytes if there are more than a maximum.
  func bytesUpTo(_ maximumByteCount: Int) -> LoadedImage {
    guard bytes.count > maximumByteCount else { return self }
    return LoadedImage(
      bytes: [], thumbnail, of: source, storedAt: storedAt, expiresAt: expiresAt,
      isExpirySliding: isExpirySliding, origin: origin)
  }
}

extension LoadedImage {
  /// The average colour of the picture, as its ``thumbHash`` tells; `nil` without one.
  public var averageColour: RGBColour? {
    source.thumbHash.map { ThumbHashDrawing($0).averageColour }
  }
}
