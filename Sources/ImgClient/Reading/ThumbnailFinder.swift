package import ImgModel
import ImgSettings
import ImgStore

/// Finds the thumbnail of a URL, or its facts: in the store, else through the coordinator.
package struct ThumbnailFinder {
  /// What the coordinator reports of a request until it answers. What is `nil` is not asked for.
  package struct Observers {
    package var onPreview: ((PicturePreview) -> Void)?
    package var onProgress: ((BodyProgress) -> Void)?
    package var onWait: (Wait) -> Void = { _ in }

    package init() {}
  }

  private let choice: VariantChoice
  /// Names the place that shows the picture; `nil` for a request by itself.
  private let viewer: String?
  /// Whether the picture is fetched in any case and not stored.
  private let bypassesStore: Bool
  private let store: LocalStore
  /// Whether the store is read before the coordinator is asked.
  private let readsStoreFirst: Bool
  private let connect: () throws -> Client

  /// - Parameters:
  ///   - readsStoreFirst: `false` if to read the store may end the process.
  ///   - connect: makes a connection to the coordinator of the store.
  package init(
    _ choice: VariantChoice, viewer: String?, bypassesStore: Bool, in store: LocalStore,
    readsStoreFirst: Bool, connect: @escaping () throws -> Client
  ) {
    self.choice = choice
    self.viewer = viewer
    self.bypassesStore = bypassesStore
    self.store = store
    self.readsStoreFirst = readsStoreFirst
    self.connect = connect
  }

  /// Reads a hit from the store without the coordinator; else the coordinator makes the thumbnail.
  /// The coordinator also handles a hit with a delay, with a viewer, with a later expiry, or that
  /// bypasses the store.
  ///
  /// - Parameter given: the requested variant may be replaced by one that the store has.
  package func thumbnail(
    of url: ImageURL, _ given: RequestOptions, _ observers: Observers
  ) throws -> FoundThumbnail {
    let options = try resolved(given, for: url)
    if let hit = try stored(url, options) { return .stored(hit, isFromCache: true, nil) }
    let asked = WallTime.now
    let result = try connect().get(
      url.text, viewer: viewer, options: options, bypassesStore: bypassesStore,
      onPreview: observers.onPreview, onProgress: observers.onProgress, onWait: observers.onWait)
    if let picture = result.uncached { return .uncached(picture) }
    guard case .done(_, let isFromCache, _) = result.outcome else {
      let failure = result.outcome.failure(cancelledBecause: reasonOfCancel)
      return .nothing(failure ?? .isGone, result.timings)
    }
    // As of the request, so that a very short expiry does not hide the new thumbnail.
    let made = try store.reader()?.result(
      of: options.fetch.name(of: url), for: options.request, at: asked, recordingAccess: .none)
    guard let made else { throw Failure.isGone }
    return .stored(StoredResult(made), isFromCache: isFromCache, result.timings)
  }

  /// The options with the variant that the store has.
  private func resolved(
    _ options: RequestOptions, for url: ImageURL
  ) throws(StoreError) -> RequestOptions {
    guard !bypassesStore, readsStoreFirst else { return options }
    var resolved = options
    do throws(StoreError) {
      resolved.variant = try choice.resolved(
        for: options.fetch.name(of: url), options.fetch.cachePolicy, at: .now,
        in: try store.reader())
    } catch  where error.reason == .damaged {
      return options
    }
    return resolved
  }

  /// The stored result, if the request needs no more. A damaged store counts as empty, because a worker
  /// will recreate it.
  private func stored(
    _ url: ImageURL, _ options: RequestOptions
  ) throws(StoreError) -> StoredResult? {
    guard viewer == nil, !bypassesStore, options.delay == .zero, readsStoreFirst else { return nil }
    do throws(StoreError) {
      return try store.reader()?.hit(for: url, options, at: .now).map(StoredResult.init)
    } catch  where error.reason == .damaged {
      return nil
    }
  }

  private var reasonOfCancel: String {
    viewer.map { "a later get of the viewer \(Spelling.quoted($0)) replaced this one" }
      ?? "the request was cancelled"
  }
}
