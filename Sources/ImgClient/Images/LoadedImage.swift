public import FoundationEssentials

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
