import ImgDecode
import ImgFetch
import ImgStore
import ImgSystem
import ImgTransport
import ImgWire

/// A worker process: one loop that talks to the coordinator, drives libcurl and looks up the store,
/// beside one thread that decodes and one that writes.
///
/// A URL's way through it: `look up` answers at once; `fetch` starts a transfer, whose body goes to
/// the decoder, whose thumbnail goes to the store, whose commit makes the result.
final class Worker {
  private enum Token {
    static let channel: UInt64 = 0
    static let decoded: UInt64 = 1
    static let stored: UInt64 = 2
    /// Above it, the transfer pool's own.
    static let transfers: UInt64 = 1 << 32
  }

  private let channel: Channel<CoordinatorMessage, WorkerMessage>
  private let board: WorkerBoard
  private let limits: Limits
  private let store: SharedStore
  private let poller: Poller
  private let pool: TransferPool
  private let decoded: Mailbox<DecodeResult>
  private let stored: Mailbox<StoreResult>
  private let decodeThread: DecodeThread
  private let storeThread: StoreThread

  private var fetches: [LeaseID: Fetch] = [:]
  private var isDraining = false
  /// What this round of the loop has to tell, sent as one message each at its end.
  private var transferred: [LeaseID] = []
  private var finished: [FetchResults.Result] = []

  /// How often the loop runs at least, so that the watchdog sees that it can.
  private static let heartbeatInterval = Duration.seconds(2)

  /// - Parameter channel: greeted and welcomed.
  init(
    channel: Channel<CoordinatorMessage, WorkerMessage>, board: WorkerBoard, welcome: Welcome,
    curl: CurlRuntime, vips: VipsRuntime
  ) throws {
    self.channel = channel
    self.board = board
    limits = welcome.limits
    let credits = Self.credits(for: welcome)
    store = try SharedStore(
      directory: welcome.storeDirectory,
      access: .readWrite(budgetByteCount: limits.storeBudgetByteCount))
    poller = try Poller()
    pool = try TransferPool(
      runtime: curl, limits: limits,
      // The other half is for the decoder and all else.
      bodyBudgetByteCount: Int(limits.workerMemoryByteCount / 2),
      addressPolicy: AddressPolicy(allowed: welcome.allowedNetworks), poller: poller,
      tokenBase: Token.transfers, userAgent: "imgctl/\(Build.version)")
    decoded = try Mailbox()
    stored = try Mailbox()
    decodeThread = try DecodeThread(
      vips: vips, limits: limits, board: board, capacity: credits.fetches, results: decoded)
    storeThread = try StoreThread(store: store, putCapacity: credits.fetches, results: stored)
    try poller.register(channel.descriptor, .read, token: Token.channel)
    try poller.register(decoded.descriptor, .read, token: Token.decoded)
    try poller.register(stored.descriptor, .read, token: Token.stored)
    try channel.send(.ready(credits))
  }

  /// How much this worker takes at once: its share of the cluster's transfers, and a few bodies for
  /// the decoder, so that it never waits for the network. When the decoder lags, the credits are
  /// used up by what waits for it, and no new transfer begins.
  static func credits(for welcome: Welcome) -> Credits {
    let share = (welcome.limits.transfers + welcome.workerCount - 1) / welcome.workerCount
    return Credits(lookups: 1_024, fetches: max(share, 8) + 8)
  }

  // MARK: - The loop

  /// Runs until the coordinator lets it go, or is gone.
  func run() throws {
    while true {
      board.beat()
      for readiness in try poller.wait(timeout: timeout) {
        switch readiness.token {
        case Token.channel: guard try channelIsReady(readiness) else { return }
        case Token.decoded: decoded.takeAll().forEach(settle)
        case Token.stored: stored.takeAll().forEach(settle)
        default: pool.handle(readiness)
        }
      }
      if let deadline = pool.deadline, deadline <= .now { pool.handleDeadline(at: .now) }
      pool.takeFinished().forEach(settle)
      try report()
      if isDraining, fetches.isEmpty { return storeThread.finish() }
    }
  }

  private var timeout: Duration {
    guard let deadline = pool.deadline else { return Self.heartbeatInterval }
    return min(max(deadline - .now, .zero), Self.heartbeatInterval)
  }

  /// - Returns: whether the coordinator is still there.
  private func channelIsReady(_ readiness: Poller.Readiness) throws(ChannelError) -> Bool {
    if readiness.isWritable { try channel.flush() }
    guard readiness.isReadable || readiness.isHungUp else { return true }
    let received = try channel.receive()
    for message in received.messages { try handle(message) }
    return !received.isClosed
  }

  private func handle(_ message: CoordinatorMessage) throws(ChannelError) {
    switch message {
    case .lookup(let batch): try channel.send(.lookedUp(lookUp(batch)))
    case .fetch(let batch): begin(batch)
    case .cancel(let list): list.leases.forEach(cancel)
    case .drain: isDraining = true
    case .welcome: break
    }
  }

  /// Tells the coordinator what this round has brought.
  private func report() throws {
    if !transferred.isEmpty { try channel.send(.transferred(LeaseList(leases: transferred))) }
    if !finished.isEmpty { try channel.send(.finished(FetchResults(results: finished))) }
    transferred.removeAll(keepingCapacity: true)
    finished.removeAll(keepingCapacity: true)
    try poller.update(
      channel.descriptor, channel.hasUnsent ? [.read, .write] : .read, token: Token.channel)
  }

  // MARK: - Looking up

  /// Answers a batch from one snapshot of the store. A line that is no URL is a miss, whose fetch
  /// says why.
  private func lookUp(_ batch: Batch) -> LookupResults {
    var wanted: [(lease: LeaseID, key: ContentKey)] = []
    var hits: [LookupResults.Hit] = []
    var misses: [LeaseID] = []
    for item in batch.items {
      if let url = try? ImageURL(parsing: item.url) {
        wanted.append((item.lease, ContentKey(url: url, variant: batch.variant)))
      } else {
        misses.append(item.lease)
      }
    }
    for ((lease, key), found) in zip(wanted, stored(wanted.map(\.key))) {
      if case .stale = found { storeThread.removeStale(key) }
      if case .hit(let stored) = found {
        hits.append(LookupResults.Hit(lease: lease, thumbnail: stored.thumbnail))
      } else {
        misses.append(lease)
      }
    }
    return LookupResults(hits: hits, misses: misses)
  }

  /// A store that cannot be read is a store without the records: the URLs are fetched.
  private func stored(_ keys: [ContentKey]) -> [StoreLookup] {
    let now = WallTime(rawValue: WallClock.milliseconds())
    return (try? store.current().lookup(keys, at: now))
      ?? [StoreLookup](repeating: .miss, count: keys.count)
  }

  // MARK: - Fetching, decoding, storing

  private func begin(_ batch: Batch) {
    for item in batch.items {
      do throws(Failure) {
        let url = try ImageURL(parsing: item.url)
        fetches[item.lease] = Fetch(
          lease: item.lease, url: url, variant: batch.variant,
          expireAfterMilliseconds: batch.expireAfterMilliseconds)
        pool.start(item.lease.rawValue, url: url)
      } catch {
        end(item.lease, with: .failed(error))
      }
    }
  }

  /// The transfer has ended.
  private func settle(_ transfer: FinishedTransfer) {
    let lease = LeaseID(rawValue: transfer.id)
    guard let fetch = fetches[lease] else { return }
    fetches[lease]?.isTransferring = false
    fetches[lease]?.bytesFetched = transfer.bytesReceived
    switch transfer.result {
    case .success(let body):
      transferred.append(lease)
      decodeThread.submit(
        DecodeJob(
          lease: lease, bytes: body.bytes, heldByteCount: body.heldByteCount,
          variant: fetch.variant))
    case .failure(let failure):
      end(lease, with: .failed(failure))
    }
  }

  /// The picture is decoded.
  private func settle(_ decode: DecodeResult) {
    pool.releaseBody(byteCount: decode.releasedByteCount)
    guard let fetch = fetches[decode.lease] else { return }
    switch decode.result {
    case .success(let rendered) where !fetch.isCancelled:
      fetches[decode.lease]?.thumbnail = rendered.thumbnail
      storeThread.put(
        fetch.stored(rendered, at: WallTime(rawValue: WallClock.milliseconds())),
        lease: decode.lease)
    case .success:
      end(decode.lease, with: .cancelled)
    case .failure(let failure):
      end(decode.lease, with: .failed(failure))
    }
  }

  /// The thumbnail is in the store, or cannot be.
  private func settle(_ write: StoreResult) {
    guard let fetch = fetches[write.lease] else { return }
    if let failure = write.failure {
      end(write.lease, with: .failed(failure))
    } else if let thumbnail = fetch.thumbnail {
      end(
        write.lease, with: .done(thumbnail, fromCache: false, bytesFetched: fetch.bytesFetched))
    }
  }

  /// Nobody waits any more: a transfer is aborted, a decode runs to its end and is dropped.
  private func cancel(_ lease: LeaseID) {
    guard let fetch = fetches[lease] else { return }
    if fetch.isTransferring {
      pool.cancel(lease.rawValue)
      end(lease, with: .cancelled)
    } else {
      fetches[lease]?.isCancelled = true
    }
  }

  private func end(_ lease: LeaseID, with outcome: Outcome) {
    fetches[lease] = nil
    finished.append(FetchResults.Result(lease: lease, outcome: outcome))
  }
}
