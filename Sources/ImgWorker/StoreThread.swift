import ImgStore
import ImgSystem
import ImgWire

/// A change of the store.
enum StoreWrite: Sendable {
  case put(NewThumbnail, lease: LeaseID)
  /// A record that a look-up found expired or damaged.
  case removeStale(ContentKey)
}

/// What became of a `put`.
struct StoreResult: Sendable {
  let lease: LeaseID
  /// `nil` when the thumbnail is in the store.
  let failure: Failure?
}

/// The one thread of this process that writes the store.
///
/// LMDB has one writer at a time over all processes, so a write may wait; what gathers meanwhile is
/// committed as one group.
struct StoreThread {
  private let thread: ServiceThread<StoreWrite>

  private static let groupMaximum = 64
  /// Beyond the puts of all leases: lazy deletions, of which any may be dropped.
  private static let deletionCapacity = 4_096

  /// - Parameter putCapacity: thumbnails that may wait; the worker's credits keep within it.
  init(
    store: SharedStore, putCapacity: Int, results: Mailbox<StoreResult>
  ) throws(SystemError) {
    thread = try ServiceThread(
      name: "store", capacity: putCapacity + Self.deletionCapacity
    ) { queue in
      while let writes = queue.take(upTo: Self.groupMaximum) {
        Self.carryOut(writes, in: store, results: results)
      }
    }
  }

  func put(_ thumbnail: NewThumbnail, lease: LeaseID) {
    let isQueued = thread.queue.push(.put(thumbnail, lease: lease))
    precondition(isQueued, "the store's queue holds all leases that the credits allow")
  }

  /// Deletes lazily: a record that is not deleted now is found stale again by the next look-up.
  func removeStale(_ key: ContentKey) {
    guard thread.queue.count < Self.deletionCapacity else { return }
    _ = thread.queue.push(.removeStale(key))
  }

  /// Writes what is queued, then ends the thread.
  func finish() {
    thread.join()
  }

  private static func carryOut(
    _ writes: [StoreWrite], in store: SharedStore, results: Mailbox<StoreResult>
  ) {
    let now = WallTime(rawValue: WallClock.milliseconds())
    var puts: [(thumbnail: NewThumbnail, lease: LeaseID)] = []
    for write in writes {
      switch write {
      case .put(let thumbnail, let lease):
        puts.append((thumbnail, lease))
      case .removeStale(let key):
        // Lazy: the next look-up that finds it will ask again.
        _ = try? store.current().removeStale(key, at: now)
      }
    }
    put(puts, at: now, in: store, results: results)
  }

  private static func put(
    _ puts: [(thumbnail: NewThumbnail, lease: LeaseID)], at now: WallTime,
    in store: SharedStore, results: Mailbox<StoreResult>
  ) {
    guard !puts.isEmpty else { return }
    do throws(StoreError) {
      try store.change { store throws(StoreError) in
        try store.put(puts.map(\.thumbnail), at: now)
      }
      for put in puts { results.post(StoreResult(lease: put.lease, failure: nil)) }
    } catch  where puts.count > 1 {
      // One of the group may be the reason; each has its own outcome.
      for single in puts { put([single], at: now, in: store, results: results) }
    } catch {
      let failure = Failure(
        stage: .store, code: error.isFull ? .storeFull : .internal, detail: error.description)
      for put in puts { results.post(StoreResult(lease: put.lease, failure: failure)) }
    }
  }
}
