import ImgModel
import ImgScheduler
import ImgWire

/// A journal in memory: answers reads, applies operations, and sees to it that no line has two
/// outcomes. What it holds survives the coordinator.
struct JournalModel {
  struct Job {
    var record: JobRecord
    /// The line at an index; computed, so that a long list costs nothing. `nil` where it is damaged.
    let line: (Int) -> String?
    /// Outcomes with the rounds they were made in.
    var outcomes: [Int: (outcome: Outcome, round: Int)] = [:]
    /// How many lines were handed out in pages.
    var readLineCount = 0

    /// Whether the line has an outcome that stands.
    func hasOutcome(_ index: Int) -> Bool {
      guard let (outcome, round) = outcomes[index] else { return false }
      guard case .failed(let failure, _) = outcome else { return true }
      return !record.retries.isOpen(failureOf: round, isRetryable: failure.isRetryable)
    }

    var outcomeCount: Int { outcomes.keys.count { hasOutcome($0) } }
  }

  private(set) var jobs: [JobID: Job] = [:]
  private var faults: [String] = []

  mutating func add(_ record: JobRecord, line: @escaping (Int) -> String?) {
    jobs[record.id] = Job(record: record, line: line)
  }

  /// What went against the rules since it was asked last.
  mutating func takeFaults() -> [String] {
    defer { faults = [] }
    return faults
  }

  /// Jobs that go on when a coordinator starts.
  var activeJobs: [JobRecord] {
    jobs.values.map(\.record).filter(\.isActive).sorted { $0.id < $1.id }
  }

  mutating func page(_ request: LinePageRequest) -> LinePage {
    let end = request.positions.last?.upperBound ?? 0
    guard let job = jobs[request.job], job.record.isActive else {
      return LinePage(lines: [], next: end)
    }
    var lines: [JobLine] = []
    for position in request.positions.joined() {
      guard lines.count < request.limit else { return LinePage(lines: lines, next: position) }
      let index = request.order.line(at: position, of: job.record.counts.total)
      if job.hasOutcome(index) { continue }
      lines.append(JobLine(index: index, text: job.line(index)))
      jobs[request.job]?.readLineCount += 1
    }
    return LinePage(lines: lines, next: end)
  }

  /// Makes the operation durable.
  mutating func apply(_ operation: JournalOperation) {
    switch operation {
    case .record(let id, let index, let outcome): record(outcome, of: id, index: index)
    case .start(let id, let at):
      if jobs[id]?.record.startedAt != nil { faults.append("job \(id) started twice") }
      jobs[id]?.record.startedAt = at
    case .finish(let id, let at):
      if jobs[id]?.record.isActive != true { faults.append("job \(id) ended twice") }
      jobs[id]?.record.finish(at: at)
    case .change(let id, .remove, _):
      jobs[id] = nil
    case .change(let id, let change, let at):
      do throws(JobChangeRefusal) {
        try jobs[id]?.record.apply(change, at: at)
      } catch {
        faults.append("an illegal change: \(error)")
      }
    case .createJob, .appendURLs, .seal, .discard:
      faults.append("the scheduler does not submit")
    }
  }

  private mutating func record(_ outcome: Outcome, of id: JobID, index: Int) {
    guard let round = jobs[id]?.record.retries.round, jobs[id]?.record.isActive == true else {
      return
    }
    if jobs[id]?.hasOutcome(index) == true {
      faults.append("line \(index) of job \(id) has two outcomes")
    }
    jobs[id]?.outcomes[index] = (outcome, round)
    jobs[id]?.record.count(outcome)
  }
}

/// What the shared store has, as the coordinator sees it, and for how long.
struct StoreModel {
  struct Key: Hashable {
    let url: String
    let variant: Variant
    var part = PicturePart.whole
  }

  var thumbnails: [Key: Retention] = [:]
  /// Those that had to go, also if another request has had them made again since.
  private(set) var evicted: Set<Key> = []
  /// By URL.
  var originals: [String: Retention] = [:]
  /// Of the URLs that are not fresh, whether they may be given out while they are revalidated. While
  /// their origins fail, all of them may.
  var stale: [String: Bool] = [:]

  enum Finding {
    case hit, staleHit, original, miss
  }

  /// What a worker says of a line that it looks up.
  func finding(of url: String, in batch: Batch) -> Finding {
    guard batch.request.fetch.cachePolicy != .reload else { return .miss }
    let found = content(of: url, in: batch)
    guard batch.request.fetch.cachePolicy == .byProtocol, let isServed = stale[url] else {
      return found
    }
    guard found == .hit, isServed || batch.takesStale else { return .miss }
    return batch.takesStale ? .hit : .staleHit
  }

  /// Whether a worker makes a thumbnail of the original that it has.
  func hasOriginal(of url: String, for policy: CachePolicy) -> Bool {
    originals[url] != nil && policy != .reload && (policy != .byProtocol || stale[url] == nil)
  }

  /// Whether a lease that follows HTTP has its answer when the origin says that nothing has
  /// changed.
  func holds(_ fetch: WorkerModel.Fetch) -> Bool {
    guard fetch.policy == .byProtocol, !fetch.bypassesStore else { return false }
    return switch fetch.keep {
    case .none, .thumbnail, .auto, .facts, .allFacts, .pixelFacts:
      thumbnails[Self.key(fetch)] != nil
    case .original, .undecodedOriginal: originals[fetch.url] != nil
    case .all: thumbnails[Self.key(fetch)] != nil && originals[fetch.url] != nil
    }
  }

  private func content(of url: String, in batch: Batch) -> Finding {
    let hasThumbnail = thumbnails[Self.key(url, batch)] != nil
    let hasOriginal = originals[url] != nil
    switch batch.request.keep {
    case .none, .thumbnail, .auto, .facts, .allFacts, .pixelFacts:
      return hasThumbnail ? .hit : hasOriginal ? .original : .miss
    case .original, .undecodedOriginal: return hasOriginal ? .hit : .miss
    case .all: return !hasOriginal ? .miss : hasThumbnail ? .hit : .original
    }
  }

  /// What a look-up has found is kept for as long as it asks for, and no shorter than before.
  mutating func extend(_ url: String, as batch: Batch) {
    thumbnails[Self.key(url, batch)]?.formUnion(batch.retention)
    if batch.request.keep.includesOriginal { originals[url]?.formUnion(batch.retention) }
  }

  /// A fetch has succeeded.
  mutating func keep(_ fetch: WorkerModel.Fetch) {
    stale[fetch.url] = nil
    if fetch.keep.includesResult {
      thumbnails[Self.key(fetch), default: fetch.retention].formUnion(fetch.retention)
    }
    if fetch.keep.includesOriginal {
      originals[fetch.url, default: fetch.retention].formUnion(fetch.retention)
    }
  }

  /// The thumbnail had to go at once.
  mutating func evict(_ fetch: WorkerModel.Fetch) {
    evicted.insert(Self.key(fetch))
    thumbnails[Self.key(fetch)] = nil
  }

  private static func key(_ fetch: WorkerModel.Fetch) -> Key {
    Key(url: fetch.url, variant: fetch.variant, part: fetch.keep.part)
  }

  private static func key(_ url: String, _ batch: Batch) -> Key {
    Key(url: url, variant: batch.request.variant, part: batch.request.keep.part)
  }
}

/// A worker process as the coordinator sees it: what it was told and has not answered.
struct WorkerModel {
  /// A lease of a fetch, or one attached to it.
  struct Fetch {
    let lease: LeaseID
    let url: String
    let variant: Variant
    let keep: Keep
    let retention: Retention
    let policy: CachePolicy
    let bypassesStore: Bool
    /// The transfer on which it lives.
    let transfer: LeaseID

    /// The same, pinned by no job.
    var withoutPins: Fetch {
      Fetch(
        lease: lease, url: url, variant: variant, keep: keep, retention: retention.withoutPins,
        policy: policy, bypassesStore: bypassesStore, transfer: transfer)
    }
  }

  /// A body on its way from the origin or held, or an original being decoded.
  struct Transfer {
    enum State {
      case receiving, held, gone
      /// It waits for a slot at the host where its redirect leads.
      case redirected
    }

    /// The lease that began it.
    let id: LeaseID
    let url: String
    var part = PicturePart.whole
    /// The host that is asked, or waited for; `nil` where none is.
    var host: String?
    var isOriginal = false
    var state = State.receiving
  }

  let id: WorkerID
  let number: Int
  var isReady = false
  var lookups: [Batch] = []
  var fetches: [Fetch] = []
  var transfers: [Transfer] = []
  var cancelled: Set<LeaseID> = []
  var isDraining = false

  /// Every lease it holds.
  var leases: [LeaseID] {
    lookups.flatMap { $0.items.map(\.lease) } + fetches.map(\.lease)
  }

  func isFromOriginal(_ fetch: Fetch) -> Bool { transfer(fetch.transfer)?.isOriginal ?? false }

  func decodesOriginal(of url: String) -> Bool {
    fetches.contains { $0.url == url && isFromOriginal($0) }
  }

  func transfer(_ id: LeaseID) -> Transfer? { transfers.first { $0.id == id } }

  /// The newest transfer of the URL whose body is on its way or held.
  func joinableTransfer(of url: String, _ part: PicturePart) -> Transfer? {
    transfers.last { $0.url == url && $0.part == part && $0.state != .gone }
  }

  mutating func setState(_ state: Transfer.State, of id: LeaseID) {
    for index in transfers.indices where transfers[index].id == id {
      transfers[index].state = state
    }
  }

  mutating func redirect(_ id: LeaseID, to host: String) {
    for index in transfers.indices where transfers[index].id == id {
      transfers[index].state = .redirected
      transfers[index].host = host
    }
  }

  /// Takes a lease out; a transfer without leases is over.
  mutating func remove(_ lease: LeaseID) {
    fetches.removeAll { $0.lease == lease }
    cancelled.remove(lease)
    transfers.removeAll { transfer in !fetches.contains { $0.transfer == transfer.id } }
  }

  /// What the origin is asked for: transfers that a lease still wants.
  var receiving: [Transfer] {
    transfers.filter { transfer in
      transfer.state == .receiving
        && fetches.contains { $0.transfer == transfer.id && !cancelled.contains($0.lease) }
    }
  }
}

extension Thumbnail {
  static let sample = Thumbnail(format: .jpeg, width: 256, height: 192, byteCount: 1_000)
}

extension UncachedThumbnail {
  /// As the request wanted it.
  static let wanted = uncached(nil)
  /// The store has no room.
  static let refused = uncached(Failure(stage: .store, code: .storeFull, detail: "no room"))

  private static func uncached(_ failure: Failure?) -> UncachedThumbnail {
    UncachedThumbnail(
      thumbnail: .sample,
      source: SourcePicture(
        format: .jpeg, width: 4_000, height: 3_000, byteCount: 50_000), failure: failure)
  }
}

extension Outcome {
  static let fetchedSample = Outcome.done(.sample, fromCache: false, bytesFetched: 50_000)
  static let cachedSample = Outcome.done(.sample, fromCache: true, bytesFetched: 0)
  /// For whom the bytes were not fetched, but who waited for them.
  static let sharedSample = Outcome.done(.sample, fromCache: false, bytesFetched: 0)

  static func failure(_ code: Failure.Code, stage: Failure.Stage = .fetch) -> Outcome {
    .failed(Failure(stage: stage, code: code, detail: ""))
  }

  /// The status of the origin that it has failed with.
  var failedHTTPStatus: Int? {
    if case .failed(let failure, _) = self { failure.httpStatus } else { nil }
  }

  /// Whether nothing was fetched for it because of a pause of the host.
  var isRefusal: Bool {
    if case .failed(let failure, _) = self {
      failure.stage == .queue && failure.retryAt != nil
    } else {
      false
    }
  }

  var failureCode: Failure.Code? {
    if case .failed(let failure, _) = self { failure.code } else { nil }
  }
}

/// The URL of a picture with this number at this host.
func url(_ number: Int, host: String = "example.com") -> String {
  "http://\(host)/\(number)"
}

/// URLs that are all at different hosts.
func spreadURLs(_ numbers: some Sequence<Int>) -> [String] {
  numbers.map { url($0, host: "host\($0)") }
}
