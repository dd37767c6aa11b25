import Dispatch
public import ImgModel
import ImgStore
import ImgSystem
import ImgWire

/// A put goes to a worker like a load. The other changes happen in this process, which opens the store
/// for writing as long as one takes.
extension ClusterTransport: CacheTransport {
  /// Has a worker decode and store a picture.
  public func put(
    _ bytes: [UInt8], for request: ImageRequest
  ) async throws(ImageError) -> LoadedImage {
    let undelayed = request.undelayed
    let asked = try ClusterRequest(undelayed)
    return try await Deadline.load(undelayed) { () throws(ImageError) in
      try await self.upload(bytes, asked, as: request)
    }
  }

  private func upload(
    _ bytes: [UInt8], _ asked: ClusterRequest, as request: ImageRequest
  ) async throws(ImageError) -> LoadedImage {
    guard await decodes.enter() else { throw .cancelled(request.url) }
    defer { decodes.leave() }
    let askedAt = WallTime.now
    let upload = try Self.upload(bytes, as: asked.url.text, options: asked.options)
    let result = try await answer(upload.inTurn(of: asked), about: request.url)
    if let failure = result.uncached?.facts.failure ?? result.outcome.failure() {
      throw ImageError(failure, url: request.url)
    }
    guard let image = try stored(asked, as: request, at: askedAt, from: .network) else {
      throw ImageError(Failure.isGone, url: request.url)
    }
    return image
  }

  /// Removes the thumbnail from the store.
  public func removeImage(for request: ImageRequest) async throws(ImageError) -> Bool {
    let asked = try ClusterRequest(request)
    let store = openedStore
    return try await BlockingCall.run(about: request.url) {
      try store.removeResult(of: asked.name, for: asked.options.request)
    }
  }

  /// Removes the records from the store. A coordinator that runs forgets that the picture was missing.
  public func removeImages(for request: ImageRequest) async throws(ImageError) -> Int {
    let name = try ClusterRequest(request).name
    return try await BlockingCall.run(about: request.url) { [places, store = openedStore] in
      let removedCount = try store.removeRecords(of: [name]).count
      // Last, so that a request that follows finds neither a record nor a remembered failure.
      places.forgetFailures(of: [name.text])
      return removedCount
    }
  }

  /// Removes expired records from the store.
  public func removeExpired() async throws(ImageError) -> Int {
    let store = openedStore
    return try await BlockingCall.run { try store.removeExpired(at: .now) }
  }

  /// Reads the store. Without one, all numbers are 0.
  public func statistics() async throws(ImageError) -> CacheStatistics {
    let store = openedStore
    return try await BlockingCall.run { try store.statistics() ?? CacheStatistics() }
  }

  /// Reads the thumbnail of a record.
  public func image(of id: CacheRecord.ID) async throws(ImageError) -> LoadedImage? {
    let store = openedStore
    return try await BlockingCall.run {
      try store.thumbnail(ofRecord: id).map { LoadedImage($0, origin: .store) }
    }
  }

  /// Reads the original from the store.
  public func original(for request: ImageRequest) async throws(ImageError) -> LoadedImage? {
    let asked = try ClusterRequest(request)
    let store = openedStore
    return try await BlockingCall.run(about: request.url) {
      try store.original(of: asked.name, isLenient: request.acceptsDamage)
        .map { LoadedImage($0, origin: .store) }
    }
  }

  /// Reads a part of the store.
  public func records(
    after id: CacheRecord.ID?, limit: Int
  ) async throws(ImageError) -> [CacheRecord] {
    let store = openedStore
    return try await BlockingCall.run {
      try store.records(after: id, limit: limit)
    }
  }

  /// The store, which the transport keeps open between the calls once it exists.
  private var openedStore: LocalStore {
    // Each call finds out what is wrong with the store.
    _ = try? openedReader()
    return places.store
  }
}

/// Runs calls that block on a thread that belongs to no task.
enum BlockingCall {
  /// - Parameters:
  ///   - url: what an error is about.
  ///   - body: is not ended by the cancellation of the task.
  static func run<Result: Sendable>(
    about url: String? = nil, _ body: @escaping @Sendable () throws -> Result
  ) async throws(ImageError) -> Result {
    guard !Task.isCancelled else { throw .cancelled(url) }
    let result: Swift.Result<Result, ImageError> = await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        do {
          continuation.resume(returning: .success(try body()))
        } catch {
          continuation.resume(returning: .failure(ImageError(cause: error, url: url)))
        }
      }
    }
    return try result.get()
  }
}
