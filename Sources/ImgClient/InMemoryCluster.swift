import FoundationEssentials
public import ImgFacts
public import ImgModel
import Synchronization

/// A cluster without processes and without a network, for tests, previews and examples.
///
/// It answers with the images that it was given, whatever the variant, and decodes nothing. As in a real
/// cluster, equal requests share a fetch, a fetch ends when nobody waits for it any more, and what was
/// fetched is stored for 7 days, or as long as the request says. Its jobs load their URLs a few at a time,
/// and end with the cluster.
///
/// ```swift
/// let cluster = InMemoryCluster()
/// cluster.serve("https://example.org/a.jpg", image)
/// let client = ImageClient(transport: cluster)
/// ```
public final class InMemoryCluster: ImageTransport {
  /// A part of a fetch.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Step: Hashable, Sendable {
    /// The fetch tells everyone who waits for it, and wants to know.
    case update(ImageUpdate)
    /// The fetch waits for an ``InMemoryCluster/resume(_:)`` of its own.
    case hold
  }

  private struct Answer: Sendable {
    let steps: [Step]
    let result: Result<LoadedImage, ImageError>
  }

  private struct State {
    var answers: [String: Answer] = [:]
    var store = InMemoryStore()
    /// What pictures that are put are decoded to.
    var uploads: [[UInt8]: LoadedImage] = [:]
    /// By the encoded bytes.
    var pixels: [[UInt8]: ImagePixels] = [:]
    var fetches: [ImageRequest: InMemoryFetch] = [:]
    var fetchCounts: [String: Int] = [:]
    /// Holds that fetches of a URL may pass.
    var permits: [String: Int] = [:]

    mutating func storedImage(for request: ImageRequest) -> LoadedImage? {
      guard ![.reload, .bypass].contains(request.cachePolicy), request.delay == .zero else {
        return nil
      }
      return store.image(for: MemoryKey(request), at: .now)
    }
  }

  private let state = Mutex(State())
  let jobs = InMemoryJobs()
  /// It stays the standard one, because no other process has a part of it.
  package let memory = MemoryShare()

  /// A cluster that knows no URL. A fetch of one fails with the status 404.
  public init() {}

  /// Answers for a URL from now on.
  ///
  /// - Parameters:
  ///   - pixels: what the image's bytes decode to, see ``pixels(of:frame:)``.
  ///   - steps: what happens in each fetch before its end.
  public func serve(
    _ url: String, _ image: LoadedImage, pixels: ImagePixels? = nil, after steps: [Step] = []
  ) {
    state.withLock { state in
      state.answers[url] = Answer(steps: steps, result: .success(image))
      if let pixels { state.pixels[image.bytes] = pixels }
    }
  }

  /// Fails for a URL from now on.
  ///
  /// - Parameter steps: what happens in each fetch before its end.
  public func serve(_ url: String, failure: ImageError, after steps: [Step] = []) {
    state.withLock { $0.answers[url] = Answer(steps: steps, result: .failure(failure)) }
  }

  func servedPixels(of image: LoadedImage) -> ImagePixels? {
    state.withLock { $0.pixels[image.bytes] }
  }

  /// Makes an image of an uploaded picture from now on, see ``ImageCache/put(_:for:)``. All other bytes are
  /// refused as no picture.
  public func serve(upload picture: [UInt8], _ image: LoadedImage) {
    state.withLock { $0.uploads[picture] = image }
  }

  /// Lets a fetch of a URL pass one ``Step/hold``: where it holds now, or the next one it comes to.
  public func resume(_ url: String) {
    let fetches = state.withLock { state in
      state.permits[url, default: 0] += 1
      return state.fetches.filter { $0.key.url == url }.map(\.value)
    }
    for fetch in fetches { fetch.resume() }
  }

  private func takePermit(for url: String) -> Bool {
    state.withLock { state in
      guard let count = state.permits[url], count > 0 else { return false }
      state.permits[url] = count - 1
      return true
    }
  }

  /// How many fetches of a URL have begun.
  public func fetchCount(of url: String) -> Int {
    state.withLock { $0.fetchCounts[url] ?? 0 }
  }

  /// How many fetches are under way.
  public var activeFetchCount: Int { state.withLock { $0.fetches.count } }

  /// Removes everything from the store.
  public func removeStoredImages() {
    withStore { $0.removeAll() }
  }

  func withStore<Result: Sendable>(_ body: (inout InMemoryStore) -> Result) -> Result {
    state.withLock { body(&$0.store) }
  }

  func store(
    uploadOf picture: [UInt8], for request: ImageRequest
  ) throws(ImageError) -> LoadedImage {
    let image = state.withLock { state -> LoadedImage? in
      guard let upload = state.uploads[picture] else { return nil }
      let image = Self.stored(upload, for: request)
      state.store.insert(image, for: MemoryKey(request))
      return image.from(.network)
    }
    guard let image else {
      throw ImageError(
        code: .notAnImage, url: request.url,
        message: "the cluster was given no image for these bytes; see serve(upload:_:)")
    }
    return image
  }

  /// The size and the format of the picture that the image is made from.
  public func facts(of request: ImageRequest) async throws(ImageError) -> PictureFacts {
    let picture = try await loadImage(for: request, onUpdate: nil).source
    return PictureFacts(format: picture.format, width: picture.width, height: picture.height)
  }

  /// An image that was fetched before and has not expired.
  public func storedImage(for request: ImageRequest) throws(ImageError) -> LoadedImage? {
    _ = try ClusterRequest(request)
    return state.withLock { $0.storedImage(for: request) }
  }

  /// Runs the steps of the URL's fetch, or joins the one that runs.
  public func loadImage(
    for request: ImageRequest, onUpdate: (@Sendable (ImageUpdate) -> Void)?
  ) async throws(ImageError) -> LoadedImage {
    _ = try ClusterRequest(request)
    // What differs in nothing else shares a fetch.
    var shared = request
    shared.delay = .zero
    shared.timeout = nil
    shared.maximumRetryAfter = nil
    shared.priority = .normal
    shared.isIncremental = false
    let isWanted: @Sendable (ImageUpdate) -> Void = { update in
      switch update {
      case .progress: if !request.isIncremental { onUpdate?(update) }
      case .preview: if request.isIncremental { onUpdate?(update) }
      }
    }
    return try await Deadline.load(request) { [shared] () throws(ImageError) in
      if let image = try self.storedImage(for: shared) { return image }
      guard shared.cachePolicy != .cacheOnly else {
        throw ImageError(code: .notCached, url: shared.url, message: "the store does not have it")
      }
      return try await self.fetch(shared, isWanted)
    }
  }

  private func fetch(
    _ request: ImageRequest, _ onUpdate: @escaping @Sendable (ImageUpdate) -> Void
  ) async throws(ImageError) -> LoadedImage {
    let source: Source = state.withLock { state in
      if let fetch = state.fetches[request], let reader = fetch.reserveReader() {
        return .fetch(fetch, reader: reader)
      }
      // A fetch may have ended since the store was looked at.
      if let image = state.storedImage(for: request) { return .store(image) }
      let fetch = makeFetch(of: request, &state)
      guard let reader = fetch.reserveReader() else {
        preconditionFailure("a new fetch has not ended")
      }
      return .fetch(fetch, reader: reader)
    }
    switch source {
    case .store(let image): return image
    case .fetch(let fetch, let reader):
      return try await fetch.image(for: reader, about: request.url, onUpdate)
    }
  }

  /// Where the image of a load comes from.
  private enum Source {
    case store(LoadedImage)
    case fetch(InMemoryFetch, reader: Int)
  }

  private func makeFetch(of request: ImageRequest, _ state: inout State) -> InMemoryFetch {
    let answer = state.answers[request.url] ?? Self.missing(request.url)
    let result = answer.result.map { image in
      request.cachePolicy == .bypass
        ? image.stored(at: nil, until: nil) : Self.stored(image, for: request)
    }
    let fetch = InMemoryFetch(
      answer.steps, result,
      takesPermit: { [weak self] in self?.takePermit(for: request.url) ?? true },
      onEnd: { [weak self] fetch, isComplete in
        self?.fetchEnded(fetch, of: request, isComplete ? result : nil)
      })
    state.fetches[request] = fetch
    if request.cachePolicy != .bypass { state.store.countMiss() }
    state.fetchCounts[request.url, default: 0] += 1
    return fetch
  }

  private static func missing(_ url: String) -> Answer {
    Answer(
      steps: [],
      result: .failure(
        ImageError(
          code: .httpStatus, url: url, httpStatus: 404, message: "the origin answered 404")))
  }

  /// - Parameter result: `nil` if all loads that waited for it were cancelled.
  private func fetchEnded(
    _ fetch: InMemoryFetch, of request: ImageRequest, _ result: Result<LoadedImage, ImageError>?
  ) {
    state.withLock { state in
      // An equal request may have begun another one.
      if state.fetches[request] === fetch { state.fetches[request] = nil }
      guard case .success(let image) = result, request.cachePolicy != .bypass else { return }
      state.store.insert(image, for: MemoryKey(request))
    }
  }

  private static func stored(_ image: LoadedImage, for request: ImageRequest) -> LoadedImage {
    // As a store has it, in milliseconds.
    let now = Date(WallTime.now)
    let expiresAt =
      switch request.expiry {
      case .standard: now + 7 * 86_400
      case .after(let duration), .afterAccess(let duration): now + duration / .seconds(1)
      }
    return image.stored(at: now, until: expiresAt)
  }
}

extension InMemoryCluster {
  /// The pixels that the image was served with; those of each frame are the same. An image that was served
  /// without has the average colour of its ThumbHash, or is grey.
  ///
  /// - Throws: ``ImageError/Code/frameOutOfRange`` for a frame that the image does not have,
  ///   ``ImageError/Code/corruptImage`` for an image without bytes or without a size.
  public func pixels(
    of image: LoadedImage, frame: Int
  ) async throws(ImageError) -> ImagePixels {
    guard !Task.isCancelled else { throw .cancelled(nil) }
    let frameCount = image.animation?.frameCount ?? 1
    guard (0..<frameCount).contains(frame) else {
      throw ImageError(
        code: .frameOutOfRange,
        message: "frame \(frame) does not exist: the image has \(frameCount), counted from 0")
    }
    if let pixels = servedPixels(of: image) { return pixels }
    let colour = image.averageColour ?? Self.grey
    guard !image.bytes.isEmpty,
      let pixels = ImagePixels(
        width: image.width, height: image.height, filledWith: ImagePixels.Pixel(colour))
    else { throw ImageError(code: .corruptImage, message: "the image has no pixels") }
    return pixels
  }

  private static let grey = RGBColour(red: 128, green: 128, blue: 128)
}

extension InMemoryCluster: CacheTransport {
  /// Stores the image that it was given for these bytes.
  ///
  /// - Throws: ``ImageError/Code/notAnImage`` for other bytes.
  public func put(
    _ bytes: [UInt8], for request: ImageRequest
  ) async throws(ImageError) -> LoadedImage {
    _ = try ClusterRequest(request)
    return try store(uploadOf: bytes, for: request)
  }

  /// Removes the image from the store.
  public func removeImage(for request: ImageRequest) async throws(ImageError) -> Bool {
    _ = try ClusterRequest(request)
    return withStore { $0.remove(MemoryKey(request)) }
  }

  /// Removes the images of the request's picture from the store.
  public func removeImages(for request: ImageRequest) async throws(ImageError) -> Int {
    _ = try ClusterRequest(request)
    return withStore { $0.removeAll(named: MemoryKey(request).name) }
  }

  /// Removes expired images from the store.
  public func removeExpired() async throws(ImageError) -> Int {
    withStore { $0.removeExpired(at: .now) }
  }

  /// What the store holds.
  public func statistics() async throws(ImageError) -> CacheStatistics {
    withStore { $0.statistics(at: .now) }
  }

  /// The image of a record, if it has not expired.
  public func image(of id: CacheRecord.ID) async throws(ImageError) -> LoadedImage? {
    withStore { $0.image(of: id, at: .now) }
  }

  /// The stored images, in the order in which they were stored.
  public func records(
    after id: CacheRecord.ID?, limit: Int
  ) async throws(ImageError) -> [CacheRecord] {
    withStore { $0.records(after: id, limit: limit) }
  }
}

/// What an ``InMemoryCluster`` has stored.
struct InMemoryStore {
  private struct Entry {
    let record: CacheRecord
    let image: LoadedImage
  }

  private var entries: [MemoryKey: Entry] = [:]
  private var counters = CacheStatistics.Counters()
  private var lastNumber: UInt64 = 0

  /// An image that has not expired.
  mutating func image(for key: MemoryKey, at now: Date) -> LoadedImage? {
    guard let entry = entries[key], entry.record.expiresAt > now else { return nil }
    counters.hits += 1
    return entry.image.from(.store)
  }

  /// An image, also one that has expired. Is not counted as an access.
  func image(storedAs key: MemoryKey) -> LoadedImage? {
    entries[key]?.image
  }

  /// The image of a record that has not expired.
  func image(of id: CacheRecord.ID, at now: Date) -> LoadedImage? {
    let entry = entries.values.first { $0.record.id == id && $0.record.expiresAt > now }
    return entry?.image.from(.store)
  }

  mutating func countMiss() {
    counters.misses += 1
  }

  /// - Parameter image: has a time at which it was stored, and an expiry.
  mutating func insert(_ image: LoadedImage, for key: MemoryKey) {
    guard let storedAt = image.storedAt, let expiresAt = image.expiresAt else { return }
    lastNumber += 1
    let record = CacheRecord(
      id: ContentKey(0, 0, 0, lastNumber), url: key.url, kind: .thumbnail,
      thumbnail: image.thumbnail, source: image.source, storedAt: storedAt, expiresAt: expiresAt)
    entries[key] = Entry(record: record, image: image)
    counters.stores += 1
  }

  /// - Returns: whether it was there.
  mutating func remove(_ key: MemoryKey) -> Bool {
    entries.removeValue(forKey: key) != nil
  }

  /// - Returns: how many were there.
  mutating func removeAll(named name: String) -> Int {
    remove { key, _ in key.name == name }
  }

  /// - Returns: how many had expired.
  mutating func removeExpired(at now: Date) -> Int {
    let removedCount = remove { _, entry in entry.record.expiresAt <= now }
    counters.expiredRemovals += UInt64(removedCount)
    return removedCount
  }

  mutating func removeAll() {
    entries = [:]
  }

  private mutating func remove(where isUnwanted: (MemoryKey, Entry) -> Bool) -> Int {
    let before = entries.count
    entries = entries.filter { !isUnwanted($0.key, $0.value) }
    return before - entries.count
  }

  func statistics(at now: Date) -> CacheStatistics {
    var statistics = CacheStatistics()
    let records = entries.values.map(\.record)
    statistics.recordCount = records.count
    statistics.byteCount = records.reduce(0) { $0 + Int64($1.thumbnail.byteCount) }
    statistics.occupiedByteCount = statistics.byteCount
    statistics.expiredCount = records.count { $0.expiresAt <= now }
    statistics.oldestStoredAt = records.map(\.storedAt).min()
    statistics.counters = counters
    return statistics
  }

  func records(after id: CacheRecord.ID?, limit: Int) -> [CacheRecord] {
    let rest = entries.values.map(\.record).filter { record in id.map { record.id > $0 } ?? true }
    return Array(rest.sorted { $0.id < $1.id }.prefix(limit))
  }
}
