import Dispatch
import ImgClient
import ImgCrypto
import ImgHTTP
import ImgModel
import ImgSettings

/// The thumbnails that were sent last, so that a hit costs neither a look-up in the store nor a hash.
///
/// An image is compared with the store at least once a second, so that one that was removed or replaced there
/// is not sent for longer.
final class PreparedImages: Sendable {
  struct Entry {
    let image: PreparedImage
    /// When it was the one of the store.
    let checkedAt: WallTime

    /// The same check of another copy of the image.
    func with(_ image: PreparedImage) -> Entry {
      Entry(image: image, checkedAt: checkedAt)
    }

    /// When the image must be compared with the store.
    var end: WallTime {
      let next = checkedAt.advanced(by: PreparedImages.checkInterval)
      return image.expiresAt.map { min($0, next) } ?? next
    }

    fileprivate func isCurrent(at now: WallTime) -> Bool {
      // A clock that was set back makes nothing current.
      checkedAt <= now && now < end
    }
  }

  /// What a look into memory and store finds.
  enum Found {
    case hit(Entry)
    /// A hit without its bytes, which take long to copy or were not expected, see ``copy(_:for:)``.
    case large(LoadedImage)
    case nothing
    /// A hit whose bytes have no room in memory.
    case noRoom
  }

  private static let checkInterval = Duration.seconds(1)
  /// A larger image takes too long to copy and to hash on a thread that other connections need.
  static let smallMaximum = 256 << 10
  static let standardBudget = 512 << 20

  private let client: ImageClient
  /// What all that the gateway keeps may take. Images have three quarters of it, where requests need the rest.
  let memory: MemoryShare
  private let small: RecentImages
  private let large: RecentImages
  private let budget: ByteBudget
  /// Large images are copied one after the other.
  private let copies: DispatchQueue

  /// - Parameters:
  ///   - client: without a memory of its own, which would hide changes of the store.
  ///   - budget: of the bytes of all images, with those that are being sent.
  ///   - copies: a serial queue for large images.
  init(
    _ client: ImageClient, budget: Int = standardBudget,
    copies: DispatchQueue = DispatchQueue(label: "copies of large images")
  ) {
    self.client = client
    memory = client.memory ?? MemoryShare()
    small = RecentImages(in: memory, weight: 3)
    large = RecentImages(in: memory, weight: 3)
    self.copies = copies
    self.budget = ByteBudget(budget)
  }

  /// Makes an image ready to be sent. Waits while a large one is copied.
  ///
  /// - Returns: `nil` if its bytes have no room.
  /// - Throws: ``ImageError/Code/cancelled`` if its task is cancelled while it waits.
  func prepare(_ image: LoadedImage) async throws(ImageError) -> PreparedImage? {
    guard image.bytes.count > Self.smallMaximum else { return prepareHere(image) }
    let (budget, byteCount) = (budget, image.bytes.count)
    // Before it waits, so that the bytes of those that wait are limited, too.
    guard budget.take(byteCount) else { return nil }
    let prepared = await QueuedWork.value(on: copies) {
      PreparedImage(image, takenFrom: budget)
    } skip: {
      budget.release(byteCount)
    }
    guard let prepared else { throw Self.cancelled }
    return prepared
  }

  /// Makes ready an image that was just loaded, and keeps it if it is stored. Those who have waited for the same image
  /// share it.
  ///
  /// - Returns: `nil` if its bytes have no room.
  /// - Throws: as ``prepare(_:)``.
  func add(
    _ image: LoadedImage, for request: ImageRequest
  ) async throws(ImageError) -> PreparedImage? {
    let now = WallTime.now
    if let known = known(request)?.image, known.isCopy(of: image) {
      return known.from(image.origin)
    }
    guard let prepared = try await prepare(image) else { return nil }
    // What is not stored cannot be compared with the store.
    guard prepared.storedAt != nil else { return prepared }
    return insert(prepared, for: request, at: now).image.from(image.origin)
  }

  private func prepareHere(_ image: LoadedImage) -> PreparedImage? {
    PreparedImage(image, within: budget)
  }

  /// The hit for a request, without a long wait.
  func find(_ request: ImageRequest, at now: WallTime) throws(ImageError) -> Found {
    let known = known(request)
    if let known, known.isCurrent(at: now) { return .hit(known) }
    // An image that is still the one of the store needs no bytes.
    let maximum = known == nil ? Self.smallMaximum : 0
    guard let stored = try client.cachedImage(for: request, bytesUpTo: maximum) else {
      remove(request)
      return .nothing
    }
    if let known, known.image.isCopy(of: stored) {
      return .hit(insert(known.image, for: request, at: now))
    }
    guard !stored.bytes.isEmpty else { return .large(stored) }
    return keep(stored, for: request, at: now)
  }

  /// The hit for a request whose large image was found or loaded without its bytes. Waits while they are copied.
  ///
  /// - Returns: nothing if the image was removed meanwhile.
  /// - Throws: also as ``prepare(_:)``.
  func copy(_ image: LoadedImage, for request: ImageRequest) async throws(ImageError) -> Found {
    let now = WallTime.now
    let copied = await QueuedWork.value(on: copies) {
      Result { () throws(ImageError) in try self.copyHere(image, for: request, at: now) }
    }
    guard let copied else { throw Self.cancelled }
    return try copied.get()
  }

  private static let cancelled = ImageError(
    code: .cancelled, message: "the request ended while its picture waited to be copied")

  private func copyHere(
    _ image: LoadedImage, for request: ImageRequest, at now: WallTime
  ) throws(ImageError) -> Found {
    // Others may have waited for the same image.
    if let known = known(request), known.image.isCopy(of: image) { return .hit(known) }
    guard let whole = try client.wholeImage(image, for: request) else { return .nothing }
    return keep(whole, for: request, at: now)
  }

  private func known(_ request: ImageRequest) -> Entry? {
    small.use(request) ?? large.use(request)
  }

  private func remove(_ request: ImageRequest) {
    small.remove(request)
    large.remove(request)
  }

  private func keep(_ stored: LoadedImage, for request: ImageRequest, at now: WallTime) -> Found {
    guard let image = prepareHere(stored) else { return .noRoom }
    return .hit(insert(image, for: request, at: now))
  }

  /// - Returns: an entry with the image, or with a copy of it that another thread has inserted.
  private func insert(
    _ image: PreparedImage, for request: ImageRequest, at now: WallTime
  ) -> Entry {
    let entry = Entry(image: image.from(.store), checkedAt: now)
    let isSmall = image.body.count <= Self.smallMaximum
    (isSmall ? large : small).remove(request)
    return (isSmall ? small : large).insert(entry, for: request)
  }
}

/// A thumbnail as it is sent, but for what depends on the time and on the conditions of a request.
struct PreparedImage: Sendable {
  let format: ImageFormat
  /// In pixels.
  let width: Int
  /// That of the picture that it was made from.
  let sourceWidth: Int
  /// Whether that is a drawing (SVG).
  let isDrawing: Bool
  private(set) var origin: LoadedImage.Origin
  /// A strong validator (RFC 9110, section 8.8.3): a hash of the bytes.
  let entityTag: String
  let storedAt: WallTime?
  let expiresAt: WallTime?
  /// ``storedAt`` and ``expiresAt`` as fields have them.
  let lastModified: String?
  let expires: String?
  /// Its bytes, which all answers share.
  let body: HTTPBody

  /// - Returns: `nil` if there is no room for its bytes.
  init?(_ image: LoadedImage, within budget: ByteBudget) {
    guard budget.take(image.bytes.count) else { return nil }
    self.init(image, takenFrom: budget)
  }

  /// - Parameter budget: has taken the bytes. It gets them back when nothing holds them any more.
  init(_ image: LoadedImage, takenFrom budget: ByteBudget) {
    let byteCount = image.bytes.count
    body = HTTPBody(image.bytes) { budget.release(byteCount) }
    format = image.format
    width = image.width
    sourceWidth = image.source.width
    isDrawing = image.source.format == .svg
    origin = image.origin
    entityTag = "\"\(Base64URL.encoded(BLAKE2b.hash(image.bytes, byteCount: 16)))\""
    storedAt = image.storedAt.map { WallTime($0) }
    expiresAt = image.expiresAt.map { WallTime($0) }
    lastModified = storedAt.map { HTTPDate($0).text }
    expires = expiresAt.map { HTTPDate($0).text }
  }

  /// The same thumbnail, from elsewhere.
  func from(_ origin: LoadedImage.Origin) -> PreparedImage {
    var image = self
    image.origin = origin
    return image
  }

  /// Whether a thumbnail that was stored for the same request is this one.
  func isCopy(of image: LoadedImage) -> Bool {
    storedAt == image.storedAt.map { WallTime($0) }
      && expiresAt == image.expiresAt.map { WallTime($0) }
  }

  /// The same for one that was made ready.
  func isCopy(of image: PreparedImage) -> Bool {
    storedAt == image.storedAt && expiresAt == image.expiresAt
  }
}

extension PreparedImage {
  /// The answer to a request: the image, that the client has it, or that it wants another one.
  func response(
    to request: HTTPRequest, for query: ImageQuery, at now: WallTime
  ) -> HTTPResponse {
    var fields: HTTPFields = [
      "ETag": entityTag, LoadPhase.fieldName: LoadPhase.success.rawValue,
    ]
    if let lifetime = CacheLifetime(
      of: self, maximumAge: query.maximumAge, until: query.expiresAt, at: now)
    {
      lifetime.add(to: &fields)
    } else {
      fields.add("Cache-Control", "no-store")
    }
    if query.format == .negotiated { fields.add("Vary", "Accept") }
    if query.isShared { HTTPResponse.addFieldsForAllPages(to: &fields) }
    if let lastModified { fields.add("Last-Modified", lastModified) }
    let conditions = Conditions(request.fields)
    switch conditions.outcome(tag: entityTag, modifiedAt: storedAt, at: now) {
    case .representation: break
    case .notModified:
      // The server tells the length of the body and leaves the body out (RFC 9110, section 8.6).
      return HTTPResponse(.notModified, fields: fields, body: .bytes(body))
    case .preconditionFailed: return .preconditionFailed
    }
    fields.add("Content-Type", format.mediaType)
    fields.add("X-Content-Type-Options", "nosniff")
    fields.add("X-Imgctl-From", origin.rawValue)
    fields.add("Content-Disposition", ContentDisposition(query, format).text)
    if isLimited(for: query) { fields.add("X-Imgctl-Limit", "maximum-side") }
    switch query.service {
    case .weserv where query.request.url.hasPrefix("http"):
      fields.add("Link", "<\(query.request.url.withoutPasswords)>; rel=\"canonical\"")
    case .picsum(let id): fields.add("Picsum-ID", id)
    case .weserv, .imgproxy: break
    }
    return HTTPResponse(.ok, fields: fields, body: .bytes(body))
  }

  /// Whether a picture whose size the request does not name was made to fit the longest side.
  private func isLimited(for query: ImageQuery) -> Bool {
    guard query.box.isOpen, query.request.variant.mode == .ownSize else { return false }
    return Double(width) < (Double(sourceWidth) * min(query.box.density, 1)).rounded(.down)
  }
}

/// Loads pictures by the cluster, as many as a limit permits, and makes them ready to be sent.
struct PictureLoader: Sendable {
  enum Outcome {
    case image(PreparedImage)
    /// Its bytes have no room in memory.
    case noRoom
    /// It would have to be loaded, but there is no room to load a picture of its host, or no time.
    case noLoad
  }

  let client: ImageClient
  let images: PreparedImages
  let limit: LoadLimit

  /// The picture for a request, which is loaded if it is not stored.
  ///
  /// - Parameter timeout: of the load.
  func image(
    for request: ImageRequest, within timeout: Duration
  ) async throws(ImageError) -> Outcome {
    try await image(for: request, found: images.find(request, at: .now), within: timeout)
  }

  /// The same for a caller that has looked into the store.
  func image(
    for request: ImageRequest, found: PreparedImages.Found, within timeout: Duration
  ) async throws(ImageError) -> Outcome {
    switch found {
    case .hit(let entry): return .image(entry.image)
    case .noRoom: return .noRoom
    case .large, .nothing: break
    }
    guard timeout > .zero else { return .noLoad }
    let deadline = ContinuousClock.now + timeout
    // Also while it waits for the copies of others.
    return try await Deadline.value(within: timeout) { () async throws(ImageError) in
      if case .large(let facts) = found, let outcome = try await copy(facts, for: request) {
        return outcome
      }
      return try await newImage(for: request, until: deadline)
    }
  }

  private func newImage(
    for request: ImageRequest, until deadline: ContinuousClock.Instant
  ) async throws(ImageError) -> Outcome {
    let maximum = PreparedImages.smallMaximum
    guard let loaded = try await load(request, bytesUpTo: maximum, until: deadline) else {
      return .noLoad
    }
    guard loaded.bytes.isEmpty else { return try await add(loaded, for: request) }
    // Those who wait for a large one share a copy if memory keeps it.
    if let outcome = try await copy(loaded, for: request) { return outcome }
    // It was evicted before it was copied.
    guard let whole = try await load(request, bytesUpTo: .max, until: deadline) else {
      return .noLoad
    }
    return try await add(whole, for: request)
  }

  /// - Returns: `nil` without a load.
  private func load(
    _ request: ImageRequest, bytesUpTo maximumByteCount: Int,
    until deadline: ContinuousClock.Instant
  ) async throws(ImageError) -> LoadedImage? {
    let timeout = deadline - .now
    guard timeout > .zero else { return nil }
    var request = request
    request.timeout = timeout
    return try await limit.load(of: request.url) { [request] () async throws(ImageError) in
      try await client.newImage(for: request, bytesUpTo: maximumByteCount)
    }
  }

  /// - Returns: `nil` if the image was removed from the store meanwhile.
  private func copy(
    _ image: LoadedImage, for request: ImageRequest
  ) async throws(ImageError) -> Outcome? {
    switch try await images.copy(image, for: request) {
    case .hit(let entry): .image(entry.image.from(image.origin))
    case .noRoom: .noRoom
    case .large, .nothing: nil
    }
  }

  private func add(
    _ image: LoadedImage, for request: ImageRequest
  ) async throws(ImageError) -> Outcome {
    try await images.add(image, for: request).map { .image($0) } ?? .noRoom
  }
}

/// The name under which a browser saves an answer (RFC 6266).
struct ContentDisposition {
  /// The value of the field.
  let text: String

  /// - Parameter format: its extension replaces that of the name.
  init(_ query: ImageQuery, _ format: ImageFormat) {
    let kind = query.isAttachment ? "attachment" : "inline"
    let fileName = query.fileName ?? Self.standardName(of: query)
    let stem = fileName.lastIndex(of: ".").map { String(fileName[..<$0]) } ?? fileName
    let name = "\(stem.isEmpty ? "image" : stem).\(format.fileExtension)"
    let plainStem = String(decoding: stem.utf8.filter(Self.isPlain), as: UTF8.self)
    let plain = "\(plainStem.isEmpty ? "image" : plainStem).\(format.fileExtension)"
    let escaped = name.utf8.map { byte in
      byte.isUnreserved
        ? String(Unicode.Scalar(byte)) : "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16))"
    }
    text =
      name == plain
      ? "\(kind); filename=\"\(plain)\""
      : "\(kind); filename=\"\(plain)\"; filename*=UTF-8''\(escaped.joined())"
  }

  /// The name where a request has none, as each server has it.
  private static func standardName(of query: ImageQuery) -> String {
    switch query.service {
    case .weserv: return "image"
    case .picsum(let id): return id
    case .imgproxy:
      let path = query.request.url.prefix { $0 != "?" && $0 != "#" }
      guard path.contains("://") else { return "image" }
      let last = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(3).last
      let name = String(decoding: PercentEncoding.decoded((last ?? "").utf8), as: UTF8.self)
      return name.isEmpty ? "image" : name
    }
  }

  /// A character of a quoted string that needs no escape and is no part of a path.
  private static func isPlain(_ byte: UInt8) -> Bool {
    (0x20..<0x7F).contains(byte) && !"\"\\/%".utf8.contains(byte)
  }
}
