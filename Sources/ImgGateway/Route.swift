import ImgClient
import ImgHTTP

/// What a request is about, by its target.
enum Route: Hashable {
  /// The kinds of routes, as metrics name them.
  enum Name: String, CaseIterable {
    case image, picture, list, jobs, events, gallery, health, ready, metrics, unknown
  }

  /// `/image?url=…`
  case image
  /// `/{signature}/{options}/…`: a path of imgproxy. It may have no options.
  case optionsPath
  /// `/id/…`
  case picture
  /// `/seed/…`, `/300/200`: leads to a picture of the store
  case random(RandomPath)
  /// `/photo/…`: the picture in the gallery
  case photo(PictureID)
  /// `/v2/list`, maybe with a slash at its end
  case list
  case jobs
  case job(ImageJob.ID)
  case retry(ImageJob.ID)
  case events(ImageJob.ID)
  /// `/` and `/assets/…`
  case gallery
  case health
  case ready
  case metrics

  var name: Name {
    switch self {
    case .image, .optionsPath: .image
    case .picture, .random: .picture
    case .list: .list
    case .jobs, .job, .retry: .jobs
    case .events: .events
    case .gallery, .photo: .gallery
    case .health: .health
    case .ready: .ready
    case .metrics: .metrics
    }
  }

  /// Whether it is part of the gallery, which only some gateways serve.
  var belongsToGallery: Bool {
    switch self {
    case .picture, .random, .photo, .list, .jobs, .job, .retry, .events, .gallery: true
    case .image, .optionsPath, .health, .ready, .metrics: false
    }
  }

  /// Whether it is a picture by its URL.
  var hasPictures: Bool {
    switch self {
    case .image, .optionsPath: true
    default: false
    }
  }

  /// Whether it is a picture, by its URL, by its id or by a seed.
  var leadsToPicture: Bool {
    switch self {
    case .image, .optionsPath, .picture, .random: true
    default: false
    }
  }

  /// - Parameter target: as sent. With the URL of a picture, `/` is weserv's own path.
  /// - Returns: `nil` for a path that nothing has.
  init?(target: String) {
    let path = target.prefix { $0 != "?" }
    if let random = RandomPath(target) {
      self = .random(random)
      return
    }
    self.init(path: path)
    guard case .gallery = self, path == "/" else { return }
    let parameters = target[path.endIndex...].dropFirst().split(separator: "&")
    if parameters.contains(where: { $0.prefix { $0 != "=" } == "url" }) { self = .image }
  }

  /// - Parameter path: that of the target, without the query.
  /// - Returns: `nil` for a path that nothing has.
  private init?(path: Substring) {
    // Most requests have this path, so it is compared first.
    if path == "/image" {
      self = .image
      return
    }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    switch (parts.first, parts.count) {
    case ("", 1), ("assets", 3): self = .gallery
    case ("health", 1): self = .health
    case ("ready", 1): self = .ready
    case ("metrics", 1): self = .metrics
    case ("v2", 2) where parts.last == "list": self = .list
    case ("v2", 3) where parts.dropFirst().elementsEqual(["list", ""]): self = .list
    case ("id", 2...): self = .picture
    case ("api", 2...):
      guard let route = Route(jobPath: parts.dropFirst()) else { return nil }
      self = route
    case ("photo", 2):
      guard let id = PictureID(String(parts[parts.endIndex - 1])) else { return nil }
      self = .photo(id)
    // Other paths of the gallery's and of Picsum's forms are not taken for imgproxy's.
    case ("v2", _), ("assets", _), ("seed", _), ("photo", _): return nil
    case ("g", 2...3) where parts.dropFirst().allSatisfy({ $0.utf8.allSatisfy(\.isDigit) }):
      return nil
    case (.some, 2) where parts.last?.isEmpty == false, (.some, 3...): self = .optionsPath
    default: return nil
    }
  }

  /// - Parameter parts: those after `/api/`.
  private init?(jobPath parts: ArraySlice<Substring>) {
    guard parts.first == "jobs" else { return nil }
    let rest = parts.dropFirst()
    guard let number = rest.first else {
      self = .jobs
      return
    }
    guard let id = ImageJob.ID(number), rest.count <= 2 else { return nil }
    switch rest.dropFirst().first {
    case nil: self = .job(id)
    case "retry": self = .retry(id)
    case "events": self = .events(id)
    default: return nil
    }
  }

  /// The methods of the route, as `Allow` lists them.
  var allowedMethods: String {
    if case .retry = self { "POST" } else { "GET, HEAD" }
  }

  func allows(_ method: HTTPMethod) -> Bool {
    switch method {
    case .get, .head: if case .retry = self { false } else { true }
    case .post: if case .retry = self { true } else { false }
    case .other: false
    }
  }
}
