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
    /// The fetch waits for an ``InMemoryCluster/resume(_:)`` of its own.
    case hold
  }

  private struct Answer: Sendable {
    let steps: [Step]
    let result: Result<LoadedImage, ImageError>
  }

  private struct State {
    var answers: [String: Answer] = [:]
    var stored: [MemoryKey: LoadedImage] = [:]
    /// By the encoded bytes.
    var pixels: [[UInt8]: ImagePixels] = [:]
    var fetches: [ImageRequest: InMemoryFetch] = [:]
    var fetchCounts: [String: Int] = [:]
    /// Holds that fetches of a URL may pass.
    var permits: [String: Int] = [:]
  }

  private let state = Mutex(State())

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
    state.withLock { $0.stored = [:] }
  }

  /// An image that was fetched before and has not expired.
  public func storedImage(for request: ImageRequest) throws(ImageError) -> LoadedImage? {
    _ = try ClusterRequest(request)
    guard ![.reload, .bypass].contains(request.cachePolicy), request.delay == .zero else {
      return nil
    }
    return state.withLock { state in
      let image = state.stored[MemoryKey(request)]
      guard let image, let expiry = image.expiresAt, expiry > .now else { return nil }
      return image.from(.store)
    }
  }

  /// Runs the steps of the URL's fetch, or joins the one that runs.
  public func loadImage(
    for request: ImageRequest, onUpdate: @escaping @Sendable (ImageUpdate) -> Void
  ) async throws(ImageError) -> LoadedImage {
    _ = try ClusterRequest(request)
    // What differs in nothing else shares a fetch.
    var shared = request
    shared.delay = .zero
    shared.timeout = nil
    shared.priority = .normal
    shared.isIncremental = false
    let isWanted: @Sendable (ImageUpdate) -> Void = { update in
      switch update {
      case .progress: if !request.isIncremental { onUpdate(update) }
      case .preview: if request.isIncremental { onUpdate(update) }
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
    let (fetch, reader) = state.withLock { state in
      if let fetch = state.fetches[request], let reader = fetch.reserveReader() {
        return (fetch, reader)
      }
      let fetch = makeFetch(of: request, &state)
      guard let reader = fetch.reserveReader() else {
        preconditionFailure("a new fetch has not ended")
      }
      return (fetch, reader)
    }
    return try await fetch.image(for: reader, about: request.url, onUpdate)
  }

  private func makeFetch(of request: ImageRequest, _ state: inout State) -> InMemoryFetch {
    let answer = state.answers[request.url] ?? Self.missing(request.url)
    let result = answer.result.map { image in
      image.expiring(at: request.cachePolicy == .bypass ? nil : .now + Self.expiry)
    }
    let fetch = InMemoryFetch(
      answer.steps, result,
      takesPermit: { [weak self] in self?.takePermit(for: request.url) ?? true },
      onEnd: { [weak self] fetch, isComplete in
        self?.fetchEnded(fetch, of: request, isComplete ? result : nil)
      })
    state.fetches[request] = fetch
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
      state.stored[MemoryKey(request)] = image
    }
  }

  /// In seconds.
  private static let expiry = 7.0 * 86_400
}
