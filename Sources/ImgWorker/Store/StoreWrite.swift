import Glibc
import ImgFetch
import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import ImgWorkerMachine

/// A change of the store.
enum StoreWrite: Sendable {
  case put(StorePut)
  case renew(StoreRenewal)
  case putPartial(PartialPut)
  /// The partial body of the picture, which its origin no longer continues. One that is not removed costs
  /// the next transfer a request in vain.
  case removePartial(PictureName)
  /// A record that a look-up found expired or damaged. The next look-up finds it again.
  case removeStale(ContentKey)
  /// Accesses by which records are kept for longer, of one look-up. The next look-up finds them due again.
  ///
  /// - answer: what the look-up found, if it is answered only after this.
  case extend([ThumbnailAccess], answer: LookupResults?)
  /// The same for jobs that pin what was found.
  case pin([PinnedHit], answer: PinnedAnswer)
  /// The rules of an origin's robots.txt. The leases that wait for them continue once they are
  /// written.
  case putRobots(RobotsRecord, origin: String)
  /// All records that have expired at this moment, in small steps, see ``ExpirySweep``. The coordinator asks
  /// again.
  case sweep(WallTime)
  /// All pins of these jobs, in small steps, see ``PinRelease``. The coordinator asks again.
  case unpin([JobID])

  /// Whether leases or look-ups wait for it.
  var isAwaited: Bool {
    switch self {
    case .put, .putPartial, .pin, .putRobots: true
    case .renew(let renewal): renewal.lease != nil
    case .extend(_, let answer): answer != nil
    case .removePartial, .removeStale, .sweep, .unpin: false
    }
  }
}

/// The records that were found for a lease, which are to be pinned before it is answered.
struct PinnedHit: Sendable {
  let lease: LeaseID
  let accesses: [ThumbnailAccess]
}

/// What is answered once all that was found is pinned.
enum PinnedAnswer: Sendable {
  case lookup(LookupResults)
  /// The thumbnail that is used although the transfer failed.
  case stale(LeaseID, Thumbnail)
}

/// The records that a lease stores.
struct StorePut: Sendable {
  let lease: LeaseID
  /// The thumbnails, the original, or both: all of them are stored, or none.
  let records: [NewThumbnail]
  /// The original among them, if its chunks are to be stored before.
  let longOriginal: LongOriginal?
  /// The accesses by which records are kept for longer that the store has already.
  let accesses: [ThumbnailAccess]
  /// The bytes of the first thumbnail, which the client gets if the store refuses the records; empty if
  /// none was made.
  let thumbnail: [UInt8]

  /// Whether a job pins them.
  var isPinned: Bool {
    records.contains { !$0.retention.pins.isEmpty }
      || accesses.contains { !$0.retention.pins.isEmpty }
  }

  /// The same without an original that is kept only where that is cheap; `nil` if there is none.
  var withoutSpare: StorePut? {
    let rest = records.filter { $0.isSpare != true }
    guard rest.count < records.count else { return nil }
    return StorePut(
      lease: lease, records: rest, longOriginal: nil, accesses: accesses, thumbnail: thumbnail)
  }

  /// The same, pinned by no job.
  var withoutPins: StorePut {
    StorePut(
      lease: lease, records: records.map(\.withoutPins), longOriginal: longOriginal,
      accesses: accesses.map(\.withoutPins), thumbnail: thumbnail)
  }
}

/// Where the bytes of an original are until they are stored.
enum OriginalSource: Sendable {
  case body(BodyContent)
  /// A file that no process can change.
  case upload(MemoryFile)

  /// - Throws: EIO if there are fewer.
  func bytes(in range: Range<Int>) throws(SystemError) -> [UInt8] {
    let bytes =
      switch self {
      case .body(.memory(let bytes)): Array(bytes[range])
      case .body(.file(let file, _)): try FileIO.contents(of: file.descriptor, in: range)
      case .upload(let file): try FileIO.contents(of: file.file.descriptor, in: range)
      }
    guard bytes.count == range.count else { throw SystemError(operation: "pread", code: EIO) }
    return bytes
  }
}

/// An original that is stored in chunks.
struct LongOriginal: Sendable {
  let key: ContentKey
  let content: ChunkedContent
  let source: OriginalSource
}

/// Puts whose originals are stored in chunks: one after the other, in groups of chunks. Between two groups, this
/// thread and those of other processes write what is shorter.
struct LongPuts {
  /// What came of a put.
  enum Ended {
    /// Its chunks are stored.
    case written(StorePut)
    case refused(StorePut, StoreError)
    case unreadable(StorePut, SystemError)

    var put: StorePut {
      switch self {
      case .written(let put), .refused(let put, _), .unreadable(let put, _): put
      }
    }

    var isWritten: Bool {
      if case .written = self { true } else { false }
    }
  }

  /// Each belongs to a lease, so there are no more than these.
  private var waiting: [(put: StorePut, original: LongOriginal)] = []
  /// How much of the first one is stored.
  private var writtenByteCount = 0

  mutating func add(_ put: StorePut) {
    if let original = put.longOriginal { waiting.append((put, original)) }
  }

  /// When a group is due: at once; `nil` while there is none.
  var nextGroup: ContinuousClock.Instant? { waiting.isEmpty ? nil : .now }

  /// Stores the next chunks of the first put.
  ///
  /// - Returns: the put, if these were the last ones, or cannot be stored.
  mutating func writeGroup(to store: SharedStore, at now: WallTime) -> Ended? {
    guard let (put, original) = waiting.first else { return nil }
    let (content, offset) = (original.content, writtenByteCount)
    let end = min(offset + ChunkedContent.groupByteCount, content.byteCount)
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try original.source.bytes(in: offset..<end)
    } catch {
      return finish(.unreadable(put, error))
    }
    do throws(StoreError) {
      try store.change { store throws(StoreError) in
        try store.putChunks(bytes, at: offset, of: content, for: original.key, at: now)
      }
    } catch {
      return finish(.refused(put, error))
    }
    writtenByteCount = end
    return end == content.byteCount ? finish(.written(put)) : nil
  }

  private mutating func finish(_ ended: Ended) -> Ended {
    waiting.removeFirst()
    writtenByteCount = 0
    return ended
  }
}

extension Failure {
  init(unreadableBody error: SystemError) {
    self.init(stage: .store, code: .internal, detail: "the body cannot be read: \(error)")
  }
}

/// The records that a lease found confirmed by their origin.
struct StoreRenewal: Sendable {
  /// The lease whose result waits for it; `nil` if none does.
  let lease: LeaseID?
  /// All of them are renewed, or none.
  let renewals: [Renewal]
}

/// A partial body, for the next transfer of the picture.
struct PartialPut: Sendable {
  /// The transfer that left it.
  let transfer: TransferID
  let name: PictureName
  let body: PartialBody
}

extension StoreRefusal {
  init(_ error: StoreError) {
    self.init(
      failure: Failure(
        stage: .store, code: error.isFull ? .storeFull : .internal, detail: error.description),
      isStoreDegraded: error.reason != .tooLarge && error.reason != .pinned)
  }
}

extension NewThumbnail {
  init(_ record: NewRecord, of order: FetchOrder, content: NewContent) {
    let resultKeys = ContentKey.results(of: order.name, for: order.request)
    let originalKey = ContentKey(originalOf: order.name)
    let (key, other) =
      switch record.kind {
      case .thumbnail(let index): (resultKeys[index], originalKey)
      case .original: (originalKey, resultKeys[0])
      }
    self.init(
      key: key, url: order.name.recordText, thumbnail: record.picture, source: record.source,
      retention: record.retention, terms: record.terms,
      replaces: record.replacesOther ? other : nil,
      outdates: record.outdatesSpare ? originalKey : nil, isSpare: record.isSpare, content: content)
  }
}

/// Removes what has expired in small batches with pauses between them, so that the other writers of
/// all processes are hardly delayed. Two sweeps at the same time share the work.
struct ExpirySweep {
  /// What has expired at this moment is removed; `nil` while there is nothing to do.
  private var moment: WallTime?
  /// When the next batch is due; `nil` while there is nothing to do.
  private(set) var nextBatch: ContinuousClock.Instant?

  /// So at most five batches a second, of some milliseconds each.
  private static let pause = Duration.milliseconds(200)

  /// Starts to remove what has expired at `moment`, or adds that to the sweep under way.
  mutating func begin(at moment: WallTime) {
    self.moment = max(self.moment ?? moment, moment)
    nextBatch = nextBatch ?? .now
  }

  /// Removes a batch. If there is nothing to remove it costs a look-up and takes no lock.
  mutating func removeBatchIfDue(from store: SharedStore, at now: ContinuousClock.Instant) {
    guard let moment, let nextBatch, nextBatch <= now else { return }
    // A store that cannot be changed now is swept another time.
    if (try? removeBatch(from: store, expiredAt: moment)) ?? false {
      self.nextBatch = .now + Self.pause
    } else {
      self = ExpirySweep()
    }
  }

  /// - Returns: whether more may be left.
  private func removeBatch(
    from store: SharedStore, expiredAt moment: WallTime
  ) throws(StoreError) -> Bool {
    guard try store.current().hasExpired(at: moment) else { return false }
    let limit = ThumbnailStore.expiredBatchCount
    return try store.change { store throws(StoreError) in
      try store.removeExpired(at: moment, limit: limit)
    } == limit
  }
}

/// Removes the pins of jobs in small batches with pauses between them, so that the other writers of all
/// processes are hardly delayed.
struct PinRelease {
  /// The jobs whose pins are still to be removed.
  private var jobs: [JobID] = []
  /// How far those of the first job are removed.
  private var cursor = PinCursor()
  /// When the next batch is due; `nil` while there is nothing to do.
  private(set) var nextBatch: ContinuousClock.Instant?

  private static let pause = Duration.milliseconds(20)

  /// Adds jobs to those whose pins are removed.
  mutating func begin(of jobs: [JobID]) {
    self.jobs += jobs.filter { !self.jobs.contains($0) }
    guard !self.jobs.isEmpty else { return }
    nextBatch = nextBatch ?? .now
  }

  /// Removes a batch.
  ///
  /// - Returns: whether it was the last one.
  mutating func removeBatchIfDue(
    from store: SharedStore, at now: ContinuousClock.Instant
  ) -> Bool {
    guard let nextBatch, nextBatch <= now else { return false }
    // The coordinator asks again for what cannot be removed now.
    if (try? removeBatch(from: store)) ?? true {
      jobs.removeFirst()
      cursor = PinCursor()
    }
    self.nextBatch = jobs.isEmpty ? nil : .now + Self.pause
    return jobs.isEmpty
  }

  /// - Returns: whether it was the last batch of the first job.
  private mutating func removeBatch(from store: SharedStore) throws(StoreError) -> Bool {
    try store.change { store throws(StoreError) in
      try store.unpinPart(of: jobs[0], at: &cursor)
    }
  }
}
