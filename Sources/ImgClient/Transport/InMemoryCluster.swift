import FoundationEssentials
import Synchronization

/// A cluster without processes and without a network, for tests, previews and examples.
///
/// It answers with the images that it was given, whatever the variant, and decodes nothing. As in a real
/// cluster, equal requests share a fetch, a fetch ends when nobody waits for it any more, and what was
/// fetched is stored for 7 days.
///
/// ```swift
/// let cluster = InMemoryCluster()
/// cluster.serve("https://example.org/a.jpg", image)
/// let client = ImageClient(transport: cluster)
/// ```
public final class InMemoryCluster: ImageTransport {
  /// A part of a fetch.
  public enum Step: Hashable, Sendable {
    /// The fetch tells everyone who waits for it, and wants to know.
    case update(ImageUpdate)
    /// The fetch waits for ``InMemoryCluster/resume(_:)``.
    case hold
  }

  private struct Answer: Sendable {
    let steps: [Step]
    let result: Result<LoadedImage, ImageError>
  }

  private struct State {
    var answers: [String: Answer] = [:]
    var stored: [MemoryKey: LoadedImage] = [:]
    var fetches: [ImageRequest: InMemoryFetch] = [:]
    var fetchCounts: [String: Int] = [:]
  }

  private let state = Mutex(State())

  /// A cluster that knows no URL. A fetch of one fails with the status 404.
  public init() {}

  /// Answers for a URL from now on.
  ///
  /// - Parameter steps: what happens in each fetch before its end.
  public func serve(_ url: String, _ image: LoadedImage, after steps: [Step] = []) {
    state.withLock { $0.answers[url] = Answer(steps: steps, result: .success(image)) }
  }

  /// Fails for a URL from now on.
  ///
  /// - Parameter steps: what happens in each fetch before its end.
  public func serve(_ url: String, failure: ImageError, after steps: [Step] = []) {
    state.withLock { $0.answers[url] = Answer(steps: steps, result: .failure(failure)) }
  }

  /// Lets all fetches of a URL go on that hold, each up to its next ``Step/hold``.
  ///
  /// - Returns: how many held.
  @discardableResult
  public func resume(_ url: String) -> Int {
    let fetches = state.withLock { state in
      state.fetches.filter { $0.key.url == url }.map(\.value)
    }
    return fetches.count { $0.resume() }
  }

  /// How many fetches of a URL have begun.
  public func fetchCount(of url: String) -> Int {
    state.withLock { $0.fetchCounts[url] ?? 0 }
  }

  /// How many fetches are under way.
  public var activeFetchCount: Int { state.withLock { $0.fetches.count } }

  /// Removes everything from the store.
  public func removeStoredImages() {
    state.withLock { $0.stored = [:] }
  }

  /// An image that was fetched before and has not expired.
  public func storedImage(for request: ImageRequest) throws(ImageError) -> LoadedImage? {
    _ = try ClusterRequest(request)
    guard ![.reload, .bypass].contains(request.cachePolicy), request.delay == .zero else {
      return nil
    }
    return state.withLock { state in
      let image = state.stored[MemoryKey(identityOf: request)]
      guard let image, let expiry = image.expiresAt, expiry > .now else { return nil }
      return image.from(.store)
    }
  }

  /// Runs the steps of the URL's fetch, or joins the one that runs.
  public func loadImage(
    for request: ImageRequest, onUpdate: @escaping @Sendable (ImageUpdate) -> Void
  ) async throws(ImageError) -> LoadedImage {
    _ = try ClusterRequest(request)
    let limit = request.timeout.map { request.delay + $0 }
    return try await Deadline.load(request.url, within: limit) { () throws(ImageError) in
      do {
        try await Task.sleep(for: request.delay)
      } catch {
        throw .cancelled(request.url)
      }
      var request = request
      request.delay = .zero
      request.timeout = nil
      if let image = try self.storedImage(for: request) { return image }
      guard request.cachePolicy != .cacheOnly else {
        throw ImageError(code: .notCached, url: request.url, message: "the store does not have it")
      }
      return try await self.fetch(request, onUpdate)
    }
  }

  private func fetch(
    _ request: ImageRequest, _ onUpdate: @escaping @Sendable (ImageUpdate) -> Void
  ) async throws(ImageError) -> LoadedImage {
    let fetch = state.withLock { state in
      if let fetch = state.fetches[request] { return fetch }
      let answer = state.answers[request.url] ?? Self.missing(request.url)
      let result = answer.result.map { image in
        image.expiring(at: request.cachePolicy == .bypass ? nil : .now + Self.expiry)
      }
      let fetch = InMemoryFetch(answer.steps, result) { [weak self] isComplete in
        self?.fetchEnded(of: request, isComplete ? result : nil)
      }
      state.fetches[request] = fetch
      state.fetchCounts[request.url, default: 0] += 1
      return fetch
    }
    let isWanted: @Sendable (ImageUpdate) -> Void = { update in
      if case .preview = update, !request.isIncremental { return }
      if case .progress = update, request.isIncremental { return }
      onUpdate(update)
    }
    return try await fetch.image(about: request.url, isWanted)
  }

  private static func missing(_ url: String) -> Answer {
    Answer(
      steps: [],
      result: .failure(
        ImageError(
          code: .httpStatus, url: url, httpStatus: 404, message: "the origin answered 404")))
  }

  /// - Parameter result: `nil` if nobody waited for it any more.
  private func fetchEnded(of request: ImageRequest, _ result: Result<LoadedImage, ImageError>?) {
    state.withLock { state in
      state.fetches[request] = nil
      guard case .success(let image) = result, request.cachePolicy != .bypass else { return }
      state.stored[MemoryKey(identityOf: request)] = image
    }
  }

  /// In seconds.
  private static let expiry = 7.0 * 86_400
}
