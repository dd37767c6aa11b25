/// What is done with the URLs of a job.
public struct ImageJobRequest: Hashable, Sendable {
  /// The order in which URLs start. One whose host has to wait does not delay later ones.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Order: Hashable, Sendable, CaseIterable {
    /// The order of the list.
    case firstInFirstOut
    /// The last URL starts first: for a list that grows at its end.
    case lastInFirstOut
  }

  /// What each thumbnail shows, and how it is encoded.
  public var variant: ImageVariant
  /// The name of the job in lists, up to 200 bytes.
  public var name: String?
  /// Which of several jobs comes first.
  public var priority = ImageJob.Priority.normal
  /// The order in which URLs start.
  public var order = Order.firstInFirstOut
  /// How long the job waits before its first URL starts, at most a day.
  public var delay = Duration.zero
  /// Who answers: the store or the origin. A job stores its thumbnails, so
  /// ``ImageRequest/CachePolicy/bypass`` is refused.
  public var cachePolicy = ImageRequest.CachePolicy.cacheElseLoad
  /// When the thumbnails expire.
  public var expiry = ImageRequest.Expiry.standard
  /// Fields that are added to requests to the origins.
  public var headers: [ImageRequest.HeaderField] = []
  /// Whether damaged pictures have thumbnails, too, as far as they can be decoded.
  public var acceptsDamage = false

  /// A request for one variant of each picture.
  public init(variant: ImageVariant = .standard) {
    self.variant = variant
  }

  /// A request for thumbnails that fit a square box.
  public init(size: Int) {
    self.init(variant: ImageVariant(size: size))
  }

  /// The load of one URL.
  func load(of url: String) -> ImageRequest {
    var request = ImageRequest(url: url, variant: variant)
    request.cachePolicy = cachePolicy
    request.expiry = expiry
    request.headers = headers
    request.acceptsDamage = acceptsDamage
    return request
  }
}
