import ImgModel

/// A request as the cluster knows it: normalized and in range.
struct ClusterRequest: Hashable, Sendable {
  let url: ImageURL
  let options: RequestOptions
  /// Whether the store is neither read nor written.
  let bypassesStore: Bool
  let isIncremental: Bool

  /// - Throws: ``ImageError/Code/invalidURL``, ``ImageError/Code/unsupportedScheme``,
  ///   ``ImageError/Code/invalidRequest``.
  init(_ request: ImageRequest) throws(ImageError) {
    do throws(Failure) {
      url = try ImageURL(line: request.url)
    } catch {
      throw ImageError(error, url: request.url)
    }
    do throws(ImageError) {
      var options = try Self.options(of: request)
      options.fetch.cacheKey = try Self.cacheKey(of: url, version: request.version)
      self.options = options
    } catch {
      throw error.about(request.url)
    }
    bypassesStore = request.cachePolicy == .bypass
    isIncremental = request.isIncremental
  }

  /// A request for the facts of a picture. A worker fetches only the bytes that they need.
  ///
  /// - Parameter origins: see ``ImageRequest/redirectOrigins``.
  /// - Throws: ``ImageError/Code/invalidURL``, ``ImageError/Code/unsupportedScheme``.
  init(factsOf url: String, redirectOrigins origins: OriginList = .all) throws(ImageError) {
    do throws(Failure) {
      self.url = try ImageURL(line: url)
    } catch {
      throw ImageError(error, url: url)
    }
    options = RequestOptions(
      variant: .standard, keep: .facts, fetch: FetchOptions(redirectOrigins: origins))
    bypassesStore = false
    isIncremental = false
  }

  static func options(of request: ImageRequest) throws(ImageError) -> RequestOptions {
    guard RequestOptions.delayRange.contains(request.delay) else {
      throw ImageError(invalidRequest: "a delay is at most a day")
    }
    if let timeout = request.timeout {
      guard timeout > .zero, timeout <= RequestOptions.delayRange.upperBound else {
        throw ImageError(invalidRequest: "a timeout is more than nothing, and at most a day")
      }
    }
    if let pause = request.maximumRetryAfter {
      guard RequestOptions.delayRange.contains(pause) else {
        throw ImageError(invalidRequest: "a maximum of Retry-After is at most a day")
      }
    }
    return RequestOptions(
      variant: try request.variant.model(), isLenient: request.acceptsDamage,
      expiry: try request.expiry.model(), priority: request.priority.rawValue,
      delay: request.delay,
      fetch: FetchOptions(
        cachePolicy: CachePolicy(request.cachePolicy), headers: try fields(request.headers),
        redirectOrigins: request.redirectOrigins))
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

  /// A URL has no fragment here, so that no other picture has this name.
  private static func cacheKey(
    of url: ImageURL, version: String?
  ) throws(ImageError) -> CacheKey? {
    guard let version else { return nil }
    do throws(InvalidFetchOption) {
      return try CacheKey("\(url.text)#\(version)")
    } catch {
      throw ImageError(invalidRequest: "\(error)")
    }
  }

  var name: PictureName { options.fetch.name(of: url) }
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
