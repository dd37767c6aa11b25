public import FoundationEssentials
package import ImgModel

/// A request for one thumbnail: a value that can be compared, stored and changed.
public struct ImageRequest: Hashable, Sendable, ExpressibleByStringLiteral {
  /// Decides when the store answers and when the origin does.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum CachePolicy: String, Hashable, Sendable, CaseIterable {
    /// A thumbnail that has not expired is a hit. Otherwise fetches from the origin.
    case cacheElseLoad = "cache-else-load"
    /// Follows HTTP (RFC 9111): a fresh thumbnail is a hit, a stale one is revalidated.
    case byProtocol = "protocol"
    /// Fetches from the origin, and replaces what the store has.
    case reload
    /// A thumbnail that has not expired is a hit. Never asks the origin: otherwise fails with
    /// ``ImageError/Code/notCached``.
    case cacheOnly = "cache-only"
    /// Fetches from the origin, and neither reads nor writes the store.
    case bypass
  }

  /// When a thumbnail that is made for the request expires.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Expiry: Hashable, Sendable {
    /// After the cluster's default, 7 days if it was not changed.
    case standard
    /// So long after the download, from 1 ms to 100 years.
    case after(Duration)
    /// So long after the last access.
    case afterAccess(Duration)
  }

  /// What the store keeps of the picture that a request loads.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Kept: String, Hashable, Sendable, CaseIterable {
    /// The thumbnail alone. Another size asks the origin again.
    case thumbnail
    /// The thumbnail and, for a while, an original that is not large: another size needs no further request.
    /// The cluster decides how large, and for how long. It keeps no original whose origin forbids to
    /// store it, or permits it to one user alone.
    case auto
    /// The thumbnail and the original.
    case all
  }

  /// How urgent a request is among the requests that wait. All of them go before jobs; of two that are equally
  /// urgent, the newer one goes first.
  public typealias Priority = ImageJob.Priority

  /// A header field that is added to requests to the picture's origin, and not sent to other origins.
  public struct HeaderField: Hashable, Sendable {
    /// Its name, in any case.
    public let name: String
    /// Its value. Logs do not show it.
    public let value: String

    /// A field from its name and its value.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// An `http`, `https`, `data` or `file` URL. The cluster normalizes it: spaces and letters outside
  /// ASCII may be there as they are. Files need a cluster that permits their directory.
  public var url: String
  /// What the thumbnail shows, and how it is encoded.
  public var variant: ImageVariant
  /// Who answers: the store or the origin.
  public var cachePolicy = CachePolicy.cacheElseLoad
  /// When the thumbnail expires.
  public var expiry = Expiry.standard
  /// What the store keeps of the picture.
  public var kept = Kept.auto
  /// How urgent the request is.
  public var priority = Priority.normal
  /// How long the request waits before it looks for the thumbnail anywhere, at most a day. A load that
  /// is cancelled meanwhile costs nothing.
  public var delay = Duration.zero
  /// Fields that are added to requests to the origin. Pictures with other fields are stored apart.
  public var headers: [HeaderField] = []
  /// The name of the picture in the store, in place of its URL: requests with one key are for one picture. `nil` for
  /// the URL.
  public var cacheKey: String?
  /// The query parameters that are no part of the picture's name, such as a signature. `*` matches any text, as in
  /// `X-Amz-*`. The URL is fetched unchanged.
  public var ignoredQuery: [String] = []
  /// Whether the load fails with ``ImageError/Code/optedOut`` if the origin's robots.txt disallows the URL (RFC 9309).
  public var respectsRobots = false
  /// Whether the load fails with ``ImageError/Code/optedOut`` if the origin opts out in an `X-Robots-Tag`.
  public var respectsOptOut = false
  /// How long the load may take, without ``delay``: more than zero, and at most a day; `nil` for no limit but those
  /// of the cluster.
  public var timeout: Duration?
  /// The longest pause of an origin that the load waits for, at most a day: it fails at once if the origin has
  /// asked for a longer one by Retry-After, or fails again and again and is not asked for longer. `nil` stands for
  /// ``timeout``.
  public var maximumRetryAfter: Duration?
  /// Whether the load has previews while the picture arrives. It has no progress then.
  public var isIncremental = false
  /// Whether the previews of an incremental load may show only the first rows of the picture, above grey ones.
  /// That is all that a JPEG that is not progressive shows before its end.
  public var previewsRows = false
  /// Whether a damaged picture has a thumbnail, too, as far as it can be decoded.
  public var acceptsDamage = false
  /// The origins that redirects may lead to. A load that is redirected elsewhere fails with
  /// ``ImageError/Code/blockedOrigin``; a thumbnail of the store is a hit, wherever it came from.
  package var redirectOrigins = OriginList.all
  /// A text that tells versions of the picture at the URL apart: each has a record of its own in the store. `nil` for
  /// the picture by its URL alone. A ``cacheKey`` names the picture without it.
  package var version: String?

  /// A request for a variant.
  public init(url: String, variant: ImageVariant = .standard) {
    self.url = url
    self.variant = variant
  }

  /// A request for a thumbnail that fits a square box.
  public init(url: String, size: Int) {
    self.init(url: url, variant: ImageVariant(size: size))
  }

  /// A request for ``ImageVariant/standard``.
  public init(stringLiteral url: String) {
    self.init(url: url)
  }
}

extension ImageRequest {
  /// A request for a variant of the picture at a URL of Foundation.
  public init(url: URL, variant: ImageVariant = .standard) {
    self.init(url: url.absoluteString, variant: variant)
  }

  /// A request for a thumbnail that fits a square box.
  ///
  /// - Parameter size: the side of the box in pixels.
  public init(url: URL, size: Int) {
    self.init(url: url.absoluteString, size: size)
  }
}

/// A request as the cluster knows it: normalized and in range.
struct ClusterRequest: Hashable, Sendable {
  let url: ImageURL
  let options: RequestOptions
  /// What the client is told before the answer, if it listens.
  let updates: ArrivalUpdates

  /// - Throws: ``ImageError/Code/invalidURL``, ``ImageError/Code/unsupportedScheme``,
  ///   ``ImageError/Code/invalidRequest``.
  init(_ request: ImageRequest) throws(ImageError) {
    url = try rethrowing(try ImageURL(line: request.url)) { (error: Failure) in
      ImageError(error, url: request.url)
    }
    do throws(ImageError) {
      var options = try Self.options(of: request)
      options.fetch.cacheKey = try Self.cacheKey(of: request, url: url)
      self.options = options
    } catch {
      throw error.about(request.url)
    }
    updates =
      !request.isIncremental ? .progress : request.previewsRows ? [.previews, .rows] : .previews
  }

  /// The same request for the facts of the picture. A worker fetches only the bytes that they need.
  var forFacts: ClusterRequest {
    var options = options
    options.request = ThumbnailRequest(variant: .standard, keep: .facts, fetch: options.fetch)
    return ClusterRequest(url: url, options: options, updates: .progress)
  }

  private init(url: ImageURL, options: RequestOptions, updates: ArrivalUpdates) {
    self.url = url
    self.options = options
    self.updates = updates
  }

  /// - Parameters:
  ///   - timeout: that the coordinator keeps. A load keeps its own in this process, so that it counts also while
  ///     no coordinator answers.
  ///   - limits: of a job, see ``RequestOptions``; in their ranges.
  static func options(
    of request: ImageRequest, timeout: Duration? = nil,
    _ limits: (hostRatePerMinute: Int, attempts: Int?) = (0, nil)
  ) throws(ImageError) -> RequestOptions {
    guard RequestOptions.delayRange.contains(request.delay) else {
      throw ImageError(invalidRequest: "a delay is at most a day")
    }
    if let timeout = request.timeout {
      guard timeout > .zero, timeout <= RequestOptions.delayRange.upperBound else {
        throw ImageError(invalidRequest: "a timeout is more than zero, and at most a day")
      }
    }
    if let timeout {
      guard RequestOptions.timeoutRange.contains(timeout) else {
        throw ImageError(invalidRequest: "a timeout of a job is from 1 ms to a day")
      }
    }
    if let pause = request.maximumRetryAfter {
      guard RequestOptions.delayRange.contains(pause) else {
        throw ImageError(invalidRequest: "a maximum of Retry-After is at most a day")
      }
    }
    return RequestOptions(
      ThumbnailRequest(
        variant: try checked(request.variant), isLenient: request.acceptsDamage,
        keep: Keep(request.kept),
        fetch: FetchOptions(
          cachePolicy: CachePolicy(request.cachePolicy), headers: try fields(request.headers),
          ignoredQuery: try ignoredQuery(request.ignoredQuery),
          respectsOptOut: request.respectsOptOut, respectsRobots: request.respectsRobots,
          redirectOrigins: request.redirectOrigins),
        bypassesStore: request.cachePolicy == .bypass),
      expiry: try request.expiry.model(), priority: request.priority.rawValue, delay: request.delay,
      timeout: timeout, hostRatePerMinute: limits.hostRatePerMinute, attempts: limits.attempts)
  }

  private static func checked(_ variant: ImageVariant) throws(ImageError) -> Variant {
    try rethrowing(try Variant(variant)) { (error: VariantError) in
      ImageError(invalidRequest: "\(error)")
    }
  }

  private static func fields(
    _ headers: [ImageRequest.HeaderField]
  ) throws(ImageError) -> HeaderFields {
    do throws(InvalidFetchOption) {
      var fields: [HeaderField] = []
      for header in headers {
        fields.append(try HeaderField(name: header.name, value: header.value))
      }
      return try HeaderFields(fields)
    } catch {
      throw ImageError(invalidRequest: "\(error)")
    }
  }

  private static func ignoredQuery(_ patterns: [String]) throws(ImageError) -> QueryFilter {
    try rethrowing(try QueryFilter(patterns)) { (error: InvalidFetchOption) in
      ImageError(invalidRequest: "\(error)")
    }
  }

  /// A URL has no fragment here, so that no other URL has the name of a version.
  private static func cacheKey(
    of request: ImageRequest, url: ImageURL
  ) throws(ImageError) -> CacheKey? {
    let name = request.cacheKey ?? request.version.map { "\(url.text)#\($0)" }
    guard let name else { return nil }
    return try rethrowing(try CacheKey(name)) { (error: InvalidFetchOption) in
      ImageError(invalidRequest: "\(error)")
    }
  }

  var name: PictureName { options.fetch.name(of: url) }
}

extension Keep {
  fileprivate init(_ kept: ImageRequest.Kept) {
    self =
      switch kept {
      case .thumbnail: .thumbnail
      case .auto: .auto
      case .all: .all
      }
  }
}

extension CachePolicy {
  fileprivate init(_ policy: ImageRequest.CachePolicy) {
    self =
      switch policy {
      // The store is not asked at all.
      case .cacheElseLoad, .bypass: .cacheElseLoad
      case .byProtocol: .byProtocol
      case .reload: .reload
      case .cacheOnly: .cacheOnly
      }
  }
}

extension ImageRequest.Expiry {
  fileprivate func model() throws(ImageError) -> Expiry {
    switch self {
    case .standard: return .standard
    case .after(let duration): return Expiry(.after(try Self.checked(duration)))
    case .afterAccess(let duration):
      return Expiry(.after(try Self.checked(duration)), isSliding: true)
    }
  }

  private static func checked(_ duration: Duration) throws(ImageError) -> Duration {
    guard RequestOptions.expiryRange.contains(duration) else {
      throw ImageError(invalidRequest: "an expiry is from 1 ms to 100 years")
    }
    return duration
  }
}

extension ImageRequest {
  /// The same request after its delay.
  var undelayed: ImageRequest {
    var request = self
    request.delay = .zero
    return request
  }
}
