import ImgClient
import ImgModel

/// The search of a command for one thumbnail, see ``ThumbnailFinder``. The user learns what it waits for.
struct ThumbnailSearch {
  let choice: VariantChoice
  /// Names the place that shows the picture; `nil` for a request by itself.
  let viewer: String?
  /// Whether the picture is fetched in any case and not stored.
  let bypassesStore: Bool
  /// Is given previews while the picture arrives; `nil` asks for none.
  var onPreview: ((PicturePreview) -> Void)?
  /// Is given how much of the picture has arrived; `nil` asks for nothing.
  var progress: ProgressOutput?

  /// - Parameter options: the requested variant may be replaced by one that the store has.
  func thumbnail(
    of url: ImageURL, _ options: RequestOptions, in context: CommandContext
  ) throws -> FoundThumbnail {
    let found = try find(url, options, in: context)
    if case .uncached(let picture) = found, let failure = picture.facts.failure {
      context.note("not stored: \(failure.detail)\n")
    }
    return found
  }

  private func find(
    _ url: ImageURL, _ options: RequestOptions, in context: CommandContext
  ) throws -> FoundThumbnail {
    defer { progress?.end() }
    let finder = ThumbnailFinder(
      choice, viewer: viewer, bypassesStore: bypassesStore, in: context.store,
      readsStoreFirst: !StoreCrash.hasHappened, connect: context.coordinatorOfStore)
    return try finder.thumbnail(of: url, options, observers(in: context))
  }

  private func observers(in context: CommandContext) -> ThumbnailFinder.Observers {
    var notes = WaitNotes()
    var hasArrivals = false
    var observers = ThumbnailFinder.Observers()
    observers.onPreview = onPreview.map { show in
      { preview in
        hasArrivals = true
        show(preview)
      }
    }
    observers.onProgress = progress.map { output in
      { progress in
        hasArrivals = true
        output.show(progress)
      }
    }
    observers.onWait = { wait in
      // A preview or progress says more.
      guard !hasArrivals else { return }
      if let note = notes.note(on: wait, at: context.now) { context.note(note) }
    }
    return observers
  }
}
