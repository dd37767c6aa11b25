import ImgModel
import ImgWire

/// Pictures that a client fetches by itself, with a network layer of its own, for all that wait for them.
///
/// A viewer may offer that its client fetches. If the store lacks the picture and no transfer is under way, its client
/// is asked, and the items of the source wait for it in place of a transfer. What it brings is decoded for each of
/// them, as an upload is. A client that fails, leaves, or takes too long ends its own request alone: the next client
/// that offers is asked, or a worker fetches.
///
/// The limits and pauses of hosts are for the requests of workers. Items that respect robots, or limit redirects, need a
/// transfer, which then serves the others, too, see ``WorkItem/takesClientFetches``.
extension Scheduler {
  /// Whether a client fetches for a source, or is asked to now. If one of its items takes no part in that, a worker fetches
  /// for all of them.
  mutating func isFetchedByClient(_ source: Source, for waiting: [WorkItem]) -> Bool {
    let fetcher = clientFetches.fetcher(of: source.id)
    guard !isDraining, waiting.allSatisfy(\.takesClientFetches) else {
      fetcher.map { _ = clientFetches.end($0) }
      return false
    }
    guard fetcher == nil else { return true }
    guard clientFetches.hasRoom,
      let viewer = waiting.lazy.flatMap(\.waiters).filter(\.offersFetch).compactMap(\.viewer).min()
    else { return false }
    let time = limits.transferTimeout
    clientFetches.begin(viewer, for: source.id, until: now.instant + time)
    effects.append(.askToFetch(viewer, within: time))
    return true
  }

  mutating func viewerFetched(_ viewer: ViewerID, _ body: FetchedBody) {
    guard let id = clientFetches.end(viewer), let source = fetches.sources[id] else {
      return effects.append(.release(body.file))
    }
    guard body.picture.byteCount <= limits.maxBodyByteCount else {
      effects.append(.release(body.file))
      let failure = Failure(
        stage: .fetch, code: .tooLarge,
        detail: "\(body.picture.byteCount) bytes; \(limits.maxBodyByteCount) are the most")
      return endWait(of: viewer, with: failure)
    }
    let served = waitingItems(of: source).filter(\.takesClientFetches)
    guard !served.isEmpty else { return effects.append(.release(body.file)) }
    for item in served {
      clientFetches.use(body.file)
      work.change(item.id) { $0.body = body }
    }
    for item in served { awaitDecode(item.id) }
    fetches.sources.noteChange(of: id)
  }

  mutating func viewerFailedToFetch(_ viewer: ViewerID, _ failure: Failure) {
    guard clientFetches.source(fetchedBy: viewer) != nil else { return }
    endWait(of: viewer, with: failure)
  }

  /// Clients that take too long are waited for no more.
  mutating func endClientFetches() {
    while let viewer = clientFetches.overdueFetcher(at: now.instant) {
      endWait(
        of: viewer,
        with: Failure(
          stage: .fetch, code: .timeout,
          detail: "the client was to fetch the picture, and took longer than "
            + "\(limits.transferTimeout.components.seconds) s"))
    }
  }

  /// The viewer is told a failure. What it was to fetch is fetched otherwise for the others.
  private mutating func endWait(of viewer: ViewerID, with failure: Failure) {
    viewerLeft(viewer)
    effects.append(.answer(viewer, .failed(failure), nil))
  }

  /// A viewer has its answer, or has left: its client fetches no more.
  mutating func endClientFetch(by viewer: ViewerID) {
    if let source = clientFetches.end(viewer) { fetches.sources.noteChange(of: source) }
  }
}
