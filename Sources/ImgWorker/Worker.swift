import ImgDecode
import ImgFetch
import ImgStore
import ImgSystem
import ImgTransport
import ImgWire

/// A worker process: one loop that talks to the coordinator, drives libcurl and looks up the store,
/// beside one thread that decodes and one that writes.
///
/// A URL's way through it: `look up` answers at once; `fetch` starts a transfer and `ride` joins
/// one; the body goes to the decoder once for each of these leases, the thumbnail to the store,
/// whose commit makes the result.
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
  let store: SharedStore
  private let poller: Poller
  private let pool: TransferPool
  private let decoded: Mailbox<DecodeResult>
  private let stored: Mailbox<StoreResult>
  private let decodeThread: DecodeThread
  let storeThread: StoreThread

  private var fetches: [LeaseID: Fetch] = [:]
  private var transfers = SharedTransfers()
  private var isDraining = false
  /// What this round of the loop has to tell, sent as one message each at its end.
  private var transferred: [LeaseID] = []
  private var gone: [LeaseID] = []
  private var finished: [FetchResults.Result] = []

  /// The same for every setting, because limits change while the worker runs: all transfers that
  /// the cluster may have under way, and as many leases again that ride on them or wait for the
  /// decoder.
  static let credits = Credits(
    lookups: 256, leases: 2 * TransferLimits.transferRange.upperBound, backlog: 8)
  /// How often the loop runs at least, so that the watchdog sees that it can.
  private static let heartbeatInterval = Duration.seconds(2)

  /// - Parameter channel: greeted and welcomed.
  init(
    channel: Channel<CoordinatorMessage, WorkerMessage>, board: WorkerBoard, welcome: Welcome,
    curl: CurlRuntime, vips: VipsRuntime
  ) throws {
    self.channel = channel
    self.board = board
    let limits = welcome.limits
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
      vips: vips, limits: limits, board: board, capacity: Self.credits.leases, results: decoded)
    storeThread = try StoreThread(store: store, putCapacity: Self.credits.leases, results: stored)
    try poller.register(channel.descriptor, .read, token: Token.channel)
    try poller.register(decoded.descriptor, .read, token: Token.decoded)
    try poller.register(stored.descriptor, .read, token: Token.stored)
    try channel.send(.ready(Self.credits))
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
    case .fetch(let batch): fetch(batch)
    case .ride(let batch): ride(batch)
    case .cancel(let list): list.leases.forEach(cancel)
    case .drain: isDraining = true
    case .welcome: break
    }
  }

  /// Tells the coordinator what this round has brought.
  private func report() throws {
    if !transferred.isEmpty { try channel.send(.transferred(LeaseList(leases: transferred))) }
    if !gone.isEmpty { try channel.send(.gone(LeaseList(leases: gone))) }
    if !finished.isEmpty { try channel.send(.finished(FetchResults(results: finished))) }
    transferred.removeAll(keepingCapacity: true)
    gone.removeAll(keepingCapacity: true)
    finished.removeAll(keepingCapacity: true)
    try poller.update(
      channel.descriptor, channel.hasUnsent ? [.read, .write] : .read, token: Token.channel)
  }

  // MARK: - Fetching, decoding, storing

  /// Begins a transfer for each assignment.
  private func fetch(_ batch: Batch) {
    for fetch in admit(batch) {
      transfers.begin(fetch.lease, url: fetch.url.text)
      pool.start(fetch.lease.rawValue, url: fetch.url)
    }
  }

  /// Puts each assignment on a transfer of its URL.
  private func ride(_ batch: Batch) {
    for fetch in admit(batch) {
      switch transfers.ride(fetch.lease, url: fetch.url.text) {
      case .receiving: break
      case .holding(let share): decode(share)
      case .gone:
        fetches[fetch.lease] = nil
        gone.append(fetch.lease)
      }
    }
  }

  /// Keeps the assignments that name a URL; the others have failed.
  private func admit(_ batch: Batch) -> [Fetch] {
    batch.items.compactMap { item in
      do throws(Failure) {
        let fetch = try Fetch(item, of: batch)
        fetches[fetch.lease] = fetch
        return fetch
      } catch {
        end(item.lease, with: .failed(error))
        return nil
      }
    }
  }

  /// The transfer has ended.
  private func settle(_ transfer: FinishedTransfer) {
    let id = LeaseID(rawValue: transfer.id)
    switch transfer.result {
    case .success(let fetched):
      let shares = transfers.receive(
        SharedTransfer.Body(
          bytes: fetched.bytes, heldByteCount: fetched.heldByteCount,
          receivedByteCount: transfer.bytesReceived),
        by: id)
      transferred += shares.map(\.lease)
      shares.forEach(decode)
    case .failure(let failure):
      for lease in transfers.fail(id) { end(lease, with: .failed(failure)) }
    }
  }

  private func decode(_ share: SharedTransfer.Share) {
    guard let fetch = fetches[share.lease] else { return }
    fetches[share.lease]?.bytesFetched = share.bytesFetched
    fetches[share.lease]?.sourceByteCount = share.body.receivedByteCount
    decodeThread.submit(
      DecodeJob(
        lease: share.lease, bytes: share.body.bytes, variant: fetch.variant,
        isUrgent: fetch.isUrgent, cancellation: fetch.cancellation))
  }

  /// The picture is decoded.
  private func settle(_ decode: DecodeResult) {
    if let byteCount = transfers.decoded(decode.lease) { pool.releaseBody(byteCount: byteCount) }
    guard let fetch = fetches[decode.lease] else { return }
    switch decode.result {
    case .success(let rendered) where !fetch.cancellation.isSet:
      fetches[decode.lease]?.thumbnail = rendered.thumbnail
      storeThread.put(
        fetch.stored(rendered, at: WallTime(rawValue: WallClock.milliseconds())),
        lease: decode.lease)
    case .success, nil:
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

  /// Nobody waits any more: a transfer without other leases is aborted; a decode that has begun
  /// runs to its end and is dropped.
  private func cancel(_ lease: LeaseID) {
    guard let fetch = fetches[lease] else { return }
    switch transfers.leave(lease) {
    case .left:
      end(lease, with: .cancelled)
    case .leftLast(let id):
      pool.cancel(id.rawValue)
      end(lease, with: .cancelled)
    case .tooLate:
      fetch.cancellation.set()
    }
  }

  private func end(_ lease: LeaseID, with outcome: Outcome) {
    fetches[lease] = nil
    finished.append(FetchResults.Result(lease: lease, outcome: outcome))
  }
}
