import ImgClient
import ImgModel
import ImgSettings
import ImgStore
import ImgWire

/// A thumbnail with its source, or the reason why there is none.
enum FoundThumbnail {
  case stored(StoredThumbnail, bytes: [UInt8], isFromCache: Bool, Timings?)
  case uncached(UncachedPicture)
  case nothing(Failure, Timings?)
}

/// Finds the thumbnail of a URL for `imgctl get`, or its facts for `imgctl info`: in the store, else through the coordinator.
struct ThumbnailFinder {
  let choice: VariantChoice
  /// Names the place that shows the picture; `nil` for a request by itself.
  let viewer: String?
  /// Whether the picture is fetched in any case and not stored.
  let bypassesStore: Bool
  /// Is given previews while the picture arrives; `nil` asks for none.
  var onPreview: ((PicturePreview) -> Void)?
  /// Is given how much of the picture has arrived; `nil` asks for nothing.
  var progress: ProgressOutput?

  /// Reads a hit from the store without the coordinator; else the coordinator makes the thumbnail.
  /// The coordinator also handles a hit with a delay, with a viewer, with `--no-cache`, or with a
  /// later expiry.
  ///
  /// - Parameter given: the requested variant may be replaced by one that the store has.
  func thumbnail(
    of url: ImageURL, _ given: RequestOptions, in context: CommandContext
  ) throws -> FoundThumbnail {
    let options = try resolved(given, for: url, in: context)
    if viewer == nil, !bypassesStore, options.delay == .zero, !StoreCrash.hasHappened,
      let hit = try stored(url, options, in: context)
    {
      return .stored(hit.facts, bytes: hit.bytes, isFromCache: true, nil)
    }
    let asked = context.now
    let client = try context.coordinatorOfStore()
    let result = try result(of: url, options, from: client, in: context)
    if let picture = result.uncached {
      if let failure = picture.facts.failure { context.note("not stored: \(failure.detail)\n") }
      return .uncached(picture)
    }
    guard case .done(_, let isFromCache, _) = result.outcome else {
      let failure = result.outcome.failure(cancelledBecause: reasonOfCancel)
      return .nothing(failure ?? .isGone, result.timings)
    }
    let reader = try context.storeReader()
    // As of the request, so that a very short expiry does not hide the new thumbnail.
    guard
      let made = try reader?.result(
        of: options.fetch.name(of: url), for: options.request, at: asked, recordingAccess: .none)
    else {
      throw Failure.isGone
    }
    return .stored(made.facts, bytes: made.bytes, isFromCache: isFromCache, result.timings)
  }

  /// The coordinator's answer. Until it comes, the user learns what the request waits for.
  private func result(
    of url: ImageURL, _ options: RequestOptions, from client: Client, in context: CommandContext
  ) throws(ClientError) -> GetResult {
    defer { progress?.end() }
    var notes = WaitNotes()
    var hasArrivals = false
    let onPreview = onPreview.map { show in
      { (preview: PicturePreview) in
        hasArrivals = true
        show(preview)
      }
    }
    let onProgress = progress.map { output in
      { (progress: BodyProgress) in
        hasArrivals = true
        output.show(progress)
      }
    }
    return try client.get(
      url.text, viewer: viewer, options: options, bypassesStore: bypassesStore,
      onPreview: onPreview, onProgress: onProgress
    ) { wait in
      // A preview or progress says more.
      guard !hasArrivals else { return }
      if let note = notes.note(on: wait, at: context.now) { context.note(note) }
    }
  }

  /// The options with the variant that the store has.
  private func resolved(
    _ options: RequestOptions, for url: ImageURL, in context: CommandContext
  ) throws(StoreError) -> RequestOptions {
    guard !bypassesStore, !StoreCrash.hasHappened else { return options }
    var resolved = options
    do throws(StoreError) {
      resolved.variant = try choice.resolved(
        for: options.fetch.name(of: url), options.fetch.cachePolicy, at: context.now,
        in: try context.storeReader())
    } catch  where error.reason == .damaged {
      return options
    }
    return resolved
  }

  /// The stored result. A damaged store counts as empty, because a worker will recreate it.
  private func stored(
    _ url: ImageURL, _ options: RequestOptions, in context: CommandContext
  ) throws(StoreError) -> (facts: StoredThumbnail, bytes: [UInt8])? {
    do throws(StoreError) {
      return try context.storeReader()?.hit(for: url, options, at: context.now)
    } catch  where error.reason == .damaged {
      return nil
    }
  }

  private var reasonOfCancel: String {
    viewer.map { "a later get of the viewer \(Spelling.quoted($0)) replaced this one" }
      ?? "the request was cancelled"
  }
}
