import ImgDecode
import ImgFetch
import ImgModel
import ImgStore
import ImgSystem
import ImgTransport
import ImgWire

/// A worker process: one loop that talks to the coordinator, drives libcurl and looks up the store,
/// beside one thread that decodes and one that writes.
///
/// A URL's way through it: `look up` answers at once; `fetch` starts a transfer, `attach` joins one or
/// takes the original from the store, the picture from the URL itself or the file that it names,
/// `decode` brings it along;
/// the body goes to the decoder once for each of these leases,
/// what is to be kept to the store, whose commit makes the result.
final class Worker {
  private enum Token {
    static let channel: UInt64 = 0
    static let decoded: UInt64 = 1
    static let stored: UInt64 = 2
    static let answered: UInt64 = 3
    static let robots: UInt64 = 4
    static let storedPartials: UInt64 = 5
    /// Above it, the transfer pool's own.
    static let transfers: UInt64 = 1 << 32
  }

  let channel: Channel<CoordinatorMessage, WorkerMessage>
  private let board: WorkerHeartbeat
  let store: SharedStore
  private let poller: Poller
  let pool: TransferPool
  private let decoded: Mailbox<DecodeResult>
  private let stored: Mailbox<StoreResult>
  private let storedPartials: Mailbox<PartialPut>
  /// Look-ups that waited for the store.
  private let answered: Mailbox<LookupResults>
  /// Origins whose robots.txt the store has by now.
  private let keptRobots: Mailbox<String>
  let decodeThread: DecodeThread
  let bodyMaximumByteCount: Int
  let storeThread: StoreThread

  var fetches: [LeaseID: Fetch] = [:]
  var transfers = SharedTransfers()
  var robots = RobotsBook()
  /// Those whose leases are told when what is left is in the store, by the lease that began them.
  var brokenTransfers: [LeaseID: BrokenTransfer] = [:]
  /// Transfers that wait for slots where their redirects lead, by the lease that began them.
  var slotWaits: [LeaseID: SlotWait] = [:]
  private var isDraining = false
  private var storeCheckTime = ContinuousClock.now
  /// What this round of the loop has to tell, sent as one message each at its end.
  var notices = HostUpdates()
  var redirections: [Redirections.Redirection] = []
  var transferred: [LeaseID] = []
  var released: [LeaseID] = []
  var finished: [FetchResults.Result] = []
  /// Thumbnails that are not in the store; here as bytes and not as open files, until the channel
  /// takes more.
  var handovers: [Handover] = []

  /// The same for every setting, because limits change while the worker runs: all transfers that
  /// the cluster may have under way, and as many leases again that ride on them or wait for the
  /// decoder.
  static let credits = Credits(
    lookups: 256, leases: 2 * LimitChange.transferRange.upperBound, backlog: 8)
  /// The decoder's own look at the first bytes, taken before the others are fetched.
  private static var earlyReject: EarlyReject {
    EarlyReject(
      byteCount: FormatSniffer.rejectedByteCount, examine: FormatSniffer.rejection(of:))
  }

  /// A result takes at most some 3 KiB of JSON.
  private static let resultsPerFrame = 256

  /// How often the loop runs at least, so that the watchdog sees that it can.
  private static let heartbeatInterval = Duration.seconds(2)

  /// - Parameter channel: greeted and welcomed.
  init(
    channel: Channel<CoordinatorMessage, WorkerMessage>, board: WorkerHeartbeat, welcome: Welcome,
    curl: CurlRuntime, vips: VipsRuntime
  ) throws {
    self.channel = channel
    self.board = board
    let limits = welcome.limits
    bodyMaximumByteCount = Int(limits.maxBodyByteCount)
    store = try SharedStore(
      directory: welcome.storeDirectory,
      access: .readWrite(budgetByteCount: limits.storeBudgetByteCount),
      report: { WorkerLog.note("\($0)") })
    poller = try Poller()
    pool = try TransferPool(
      runtime: curl, limits: limits,
      // The other half is for the decoder and all else.
      bodyBudgetByteCount: Int(limits.workerMemoryByteCount / 2),
      addressPolicy: AddressPolicy(allowed: welcome.allowedNetworks),
      spoolDirectories: [welcome.storeDirectory, "/tmp"], poller: poller,
      tokenBase: Token.transfers, userAgent: limits.userAgent, earlyReject: Self.earlyReject,
      authorityFile: welcome.authorityFile,
      // A transfer has the number of the lease that began it. The number of a robots.txt is no
      // lease: a loop that hangs there counts as any death of a worker.
      onWork: { board.markTransfer($0.map(LeaseID.init(rawValue:))) })
    decoded = try Mailbox()
    stored = try Mailbox()
    decodeThread = try DecodeThread(
      vips: vips, limits: limits, store: store,
      files: LocalFiles(
        directories: welcome.allowedDirectories, maximumByteCount: bodyMaximumByteCount),
      board: board, capacity: Self.credits.leases, results: decoded)
    answered = try Mailbox()
    keptRobots = try Mailbox()
    storedPartials = try Mailbox()
    storeThread = try StoreThread(
      store: store, credits: Self.credits, results: stored, partials: storedPartials,
      answers: answered, robots: keptRobots)
    try poller.register(channel.descriptor, .read, token: Token.channel)
    try poller.register(decoded.descriptor, .read, token: Token.decoded)
    try poller.register(stored.descriptor, .read, token: Token.stored)
    try poller.register(answered.descriptor, .read, token: Token.answered)
    try poller.register(keptRobots.descriptor, .read, token: Token.robots)
    try poller.register(storedPartials.descriptor, .read, token: Token.storedPartials)
    try channel.send(.ready(Self.credits))
  }

  // MARK: - The loop

  /// Runs until the coordinator lets it go, or is gone.
  func run() throws {
    while true {
      board.beat()
      checkStore()
      for readiness in try poller.wait(timeout: timeout) {
        switch readiness.token {
        case Token.channel: guard try channelIsReady(readiness) else { return }
        case Token.decoded: decoded.takeAll().forEach(settle)
        case Token.stored: stored.takeAll().forEach(settle)
        case Token.storedPartials: storedPartials.takeAll().forEach(settle)
        case Token.answered: for results in answered.takeAll() { try answer(results) }
        case Token.robots: keptRobots.takeAll().forEach(settleRobots(of:))
        default: pool.handle(readiness)
        }
      }
      pool.handleDeadline(at: .now)
      pool.takeRedirects().forEach(take)
      pool.takeFinished().forEach(settle)
      try report()
      if isDraining, fetches.isEmpty { return storeThread.finish() }
    }
  }

  private var timeout: Duration {
    guard let deadline = pool.deadline else { return Self.heartbeatInterval }
    return min(max(deadline - .now, .zero), Self.heartbeatInterval)
  }

  /// Now and then, also while there is nothing to do: a store that was replaced takes up room as
  /// long as one worker has it open.
  private func checkStore() {
    guard storeCheckTime <= .now else { return }
    store.releaseIfDetached()
    storeCheckTime = .now + Self.heartbeatInterval
  }

  /// - Returns: whether the coordinator is still there.
  private func channelIsReady(_ readiness: Poller.Readiness) throws(ChannelError) -> Bool {
    if readiness.isWritable { try channel.flush() }
    guard readiness.isReadable || readiness.isHungUp else { return true }
    let received = try channel.receive()
    for delivery in received.deliveries { try handle(delivery) }
    return !received.isClosed
  }

  private func handle(_ delivery: Delivery<CoordinatorMessage>) throws(ChannelError) {
    switch delivery.message {
    case .lookup(let batch): if let results = lookUp(batch) { try answer(results) }
    case .fetch(let batch): fetch(batch)
    case .attach(let batch): attach(batch)
    case .decode(let picture): delivery.file.map { decode(picture, in: $0) }
    case .followRedirects(let list): followRedirects(of: list.transfers)
    case .cancel(let list): list.leases.forEach(cancel)
    case .sweep(let sweep): storeThread.sweep(at: sweep.moment)
    case .drain: isDraining = true
    case .welcome: break
    }
  }

  private func answer(_ results: LookupResults) throws(ChannelError) {
    try channel.send(.lookedUp(results))
  }

  /// Tells the coordinator what this round has brought.
  private func report() throws {
    notices.cooldowns = pool.takeCooldowns()
    notices.extraRequests += pool.takeSameHostRedirects()
    if !notices.isEmpty { try channel.send(.hostUpdates(notices)) }
    if !redirections.isEmpty {
      try channel.send(.redirected(Redirections(redirections: redirections)))
    }
    if !transferred.isEmpty { try channel.send(.transferred(LeaseList(leases: transferred))) }
    try handOver()
    if !released.isEmpty { try channel.send(.released(LeaseList(leases: released))) }
    // Many may fail at once, each with a long sentence: in parts that fit a frame.
    for start in stride(from: 0, to: finished.count, by: Self.resultsPerFrame) {
      let part = finished[start...].prefix(Self.resultsPerFrame)
      try channel.send(
        .finished(
          FetchResults(results: Array(part), decodeQueueCount: decodeThread.waitingCount)))
    }
    notices = HostUpdates()
    redirections.removeAll(keepingCapacity: true)
    transferred.removeAll(keepingCapacity: true)
    released.removeAll(keepingCapacity: true)
    finished.removeAll(keepingCapacity: true)
    try poller.update(
      channel.descriptor, channel.hasUnsent ? [.read, .write] : .read, token: Token.channel)
  }

  /// Nobody waits any more: a transfer without other leases is aborted; a decode that has begun
  /// runs to its end and is dropped.
  private func cancel(_ lease: LeaseID) {
    guard let fetch = fetches[lease] else { return }
    switch transfers.leave(lease) {
    case .left:
      end(lease, with: .cancelled)
    case .leftLast(let id):
      slotWaits[id] = nil
      pool.cancel(id.rawValue)
      end(lease, with: .cancelled)
    case .tooLate:
      fetch.cancellation.set()
    }
  }

  func end(
    _ lease: LeaseID, with outcome: Outcome, wasRedirected: Bool = false,
    failureBehind: Failure? = nil
  ) {
    let fetch = fetches.removeValue(forKey: lease)
    let timings = fetch?.timings
    // What took its time with a picture from the cache was another request's.
    let isTimed = if case .done(_, fromCache: true, _) = outcome { false } else { true }
    finished.append(
      FetchResults.Result(
        lease: lease, outcome: outcome.fetched(fetch?.bytesFetched ?? 0),
        wasRedirected: wasRedirected,
        timings: isTimed && timings != Timings() ? timings : nil, failureBehind: failureBehind))
  }
}
