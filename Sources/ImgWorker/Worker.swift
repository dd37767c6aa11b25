import ImgDecode
import ImgFetch
import ImgStore
import ImgSystem
import ImgTransport
import ImgWire

/// A worker process: one loop that talks to the coordinator, drives libcurl and looks up the store,
/// beside one thread that decodes and one that writes.
///
/// A URL's way through it: `look up` answers at once; `fetch` starts a transfer, `ride` joins one or
/// takes the original from the store or the picture from the URL itself, `decode` brings it along;
/// the body goes to the decoder once for each of these leases,
/// what is to be kept to the store, whose commit makes the result.
final class Worker {
  private enum Token {
    static let channel: UInt64 = 0
    static let decoded: UInt64 = 1
    static let stored: UInt64 = 2
    static let answered: UInt64 = 3
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
  /// Look-ups that waited for the store.
  private let answered: Mailbox<LookupResults>
  private let decodeThread: DecodeThread
  private let bodyMaximumByteCount: Int
  let storeThread: StoreThread

  private var fetches: [LeaseID: Fetch] = [:]
  private var transfers = SharedTransfers()
  private var isDraining = false
  private var storeCheckTime = ContinuousClock.now
  /// What this round of the loop has to tell, sent as one message each at its end.
  private var transferred: [LeaseID] = []
  private var gone: [LeaseID] = []
  private var finished: [FetchResults.Result] = []
  /// Thumbnails that are not in the store; here as bytes and not as open files, until the channel
  /// takes more.
  private var handovers: [Handover] = []

  /// The same for every setting, because limits change while the worker runs: all transfers that
  /// the cluster may have under way, and as many leases again that ride on them or wait for the
  /// decoder.
  static let credits = Credits(
    lookups: 256, leases: 2 * LimitChange.transferRange.upperBound, backlog: 8)
  /// The decoder's own look at the first bytes, taken before the others are fetched.
  private static var screen: BodyScreen {
    BodyScreen(byteCount: FormatSniffer.examinedByteCount) { head in
      do throws(Failure) {
        _ = try FormatSniffer.format(of: head)
        return nil
      } catch {
        return error
      }
    }
  }

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
      addressPolicy: AddressPolicy(allowed: welcome.allowedNetworks), poller: poller,
      tokenBase: Token.transfers, userAgent: "imgctl/\(Build.version)", screen: Self.screen)
    decoded = try Mailbox()
    stored = try Mailbox()
    decodeThread = try DecodeThread(
      vips: vips, limits: limits, store: store, board: board, capacity: Self.credits.leases,
      results: decoded)
    answered = try Mailbox()
    storeThread = try StoreThread(
      store: store, credits: Self.credits, results: stored, answers: answered)
    try poller.register(channel.descriptor, .read, token: Token.channel)
    try poller.register(decoded.descriptor, .read, token: Token.decoded)
    try poller.register(stored.descriptor, .read, token: Token.stored)
    try poller.register(answered.descriptor, .read, token: Token.answered)
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
        case Token.answered: for results in answered.takeAll() { try answer(results) }
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
    case .ride(let batch): ride(batch)
    case .decode(let picture): delivery.file.map { decode(picture, in: $0) }
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
    if !transferred.isEmpty { try channel.send(.transferred(LeaseList(leases: transferred))) }
    try handOver()
    if !gone.isEmpty { try channel.send(.gone(LeaseList(leases: gone))) }
    if !finished.isEmpty { try channel.send(.finished(FetchResults(results: finished))) }
    transferred.removeAll(keepingCapacity: true)
    gone.removeAll(keepingCapacity: true)
    finished.removeAll(keepingCapacity: true)
    try poller.update(
      channel.descriptor, channel.hasUnsent ? [.read, .write] : .read, token: Token.channel)
  }

  /// Sends what is not in the store, as far as the coordinator keeps up with the files.
  private func handOver() throws(ChannelError) {
    var count = 0
    for handover in handovers {
      guard channel.takesFile else { break }
      count += 1
      let file: MemoryFile
      do throws(SystemError) {
        file = try MemoryFile(containing: handover.thumbnail.bytes)
      } catch {
        end(handover.lease, with: handover.outcome(becauseOf: error))
        continue
      }
      fetches[handover.lease] = nil
      try channel.send(handover.message, with: file)
    }
    handovers.removeFirst(count)
  }

  // MARK: - Fetching, decoding, storing

  /// Begins a transfer for each assignment.
  private func fetch(_ batch: Batch) {
    for fetch in admit(batch) {
      transfers.begin(fetch.lease, url: fetch.url.text)
      pool.start(fetch.lease.rawValue, url: fetch.url)
    }
  }

  /// Puts each assignment on a transfer of its URL, or has it made from the URL's original, or from
  /// the URL itself.
  private func ride(_ batch: Batch) {
    for fetch in admit(batch) {
      switch transfers.ride(fetch.lease, url: fetch.url.text) {
      case .receiving: break
      case .holding(let share): decode(share)
      case .gone where fetch.url.isLocal: decodeData(of: fetch)
      case .gone where hasOriginal(of: fetch.url):
        decode(.original(ContentKey(originalOf: fetch.url)), for: fetch)
      case .gone: lose(fetch.lease)
      }
    }
  }

  /// Decodes the picture that the URL holds.
  private func decodeData(of fetch: Fetch) {
    do throws(Failure) {
      guard let bytes = try DataURL.contents(of: fetch.url) else { return lose(fetch.lease) }
      guard bytes.count <= bodyMaximumByteCount else {
        throw Failure(
          stage: .fetch, code: .tooLarge,
          detail: "the data: URL holds \(bytes.count) bytes; \(bodyMaximumByteCount) are the most")
      }
      fetches[fetch.lease]?.holdBody(byteCount: bytes.count)
      decode(.body(bytes), for: fetch)
    } catch {
      end(fetch.lease, with: .failed(error))
    }
  }

  /// Decodes what was handed in.
  private func decode(_ picture: HandedInPicture, in file: MemoryFile) {
    do throws(Failure) {
      let fetch = try Fetch(picture)
      fetches[fetch.lease] = fetch
      decode(
        .handedIn(file, byteCount: picture.byteCount, isKept: fetch.keep.includesOriginal),
        for: fetch)
    } catch {
      end(picture.lease, with: .failed(error))
    }
  }

  /// The lease is over without a result: what it was to be made from is not there.
  private func lose(_ lease: LeaseID) {
    fetches[lease] = nil
    gone.append(lease)
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
      // Seconds that would overflow as milliseconds are a wish for ever.
      let retryAfter = transfer.retryAfterSeconds.map { min($0, Int64(Int32.max)) * 1_000 }
      for lease in transfers.fail(id) {
        end(
          lease, with: .failed(failure), retryAfterMilliseconds: retryAfter,
          wasRedirected: transfer.wasRedirected)
      }
    }
  }

  private func decode(_ share: SharedTransfer.Share) {
    guard let fetch = fetches[share.lease] else { return }
    fetches[share.lease]?.bytesFetched = share.bytesFetched
    fetches[share.lease]?.sourceByteCount = share.body.receivedByteCount
    fetches[share.lease]?.bodyByteCount = share.body.bytes.count
    decode(.body(share.body.bytes), for: fetch)
  }

  private func decode(_ source: DecodeSource, for fetch: Fetch) {
    decodeThread.submit(
      DecodeJob(
        lease: fetch.lease, source: source, variant: fetch.variant, isUrgent: fetch.isUrgent,
        cancellation: fetch.cancellation))
  }

  /// The picture is decoded.
  private func settle(_ decode: DecodeResult) {
    var isBodyInUse = false
    switch decode.end {
    case .decoded(let rendered, let original, let handedIn):
      isBodyInUse = keep(
        rendered, original: original, handedIn: handedIn, lease: decode.lease)
    case .failed(let failure): end(decode.lease, with: .failed(failure))
    case .cancelled: end(decode.lease, with: .cancelled)
    case .gone: lose(decode.lease)
    }
    if !isBodyInUse { releaseBody(of: decode.lease) }
  }

  /// Hands the store what is to be kept.
  ///
  /// - Returns: whether the body is among it.
  private func keep(
    _ rendered: RenderedThumbnail, original: StoredThumbnail?, handedIn: [UInt8]?, lease: LeaseID
  ) -> Bool {
    guard let fetch = fetches[lease] else { return false }
    guard !fetch.cancellation.isSet else {
      end(lease, with: .cancelled)
      return false
    }
    let thumbnail = fetch.thumbnail(rendered, original: original, at: wallTime)
    guard fetch.keep != .none, !fetch.bypassesStore else {
      handOver(thumbnail, of: fetch, refused: nil)
      return false
    }
    let body = handedIn ?? keptBody(of: fetch)
    var kept = fetch.keep.includesThumbnail ? [thumbnail] : []
    if let body { kept.append(fetch.original(body, of: rendered.source)) }
    let outcome = fetch.outcome(of: rendered, original: original)
    if kept.isEmpty {
      end(lease, with: outcome)
    } else {
      fetches[lease]?.outcome = outcome
      storeThread.put(StorePut(lease: lease, kept: kept, thumbnail: thumbnail))
    }
    return body != nil
  }

  /// The body that the lease is to keep; `nil` when it keeps none, or the store has it.
  private func keptBody(of fetch: Fetch) -> [UInt8]? {
    guard fetch.keep.includesOriginal else { return nil }
    if let body = transfers.unkeptBody(of: fetch.lease) { return body.bytes }
    // It is kept for as long as either wants.
    storeThread.extend([
      ThumbnailAccess(
        key: ContentKey(originalOf: fetch.url), retention: fetch.retention, at: wallTime)
    ])
    return nil
  }

  private func releaseBody(of lease: LeaseID) {
    if let byteCount = transfers.release(lease) { pool.releaseBody(byteCount: byteCount) }
  }

  /// What is to be kept is in the store, or cannot be.
  private func settle(_ write: StoreResult) {
    defer { releaseBody(of: write.lease) }
    guard let fetch = fetches[write.lease] else { return }
    switch write.ending {
    case .refused(let thumbnail, let refusal):
      handOver(thumbnail, of: fetch, refused: refusal)
    case .stored:
      if fetch.keep.includesOriginal { transfers.noteKept(by: write.lease) }
      fetch.outcome.map { end(write.lease, with: $0) }
    }
  }

  private func handOver(
    _ thumbnail: NewThumbnail, of fetch: Fetch, refused refusal: StoreRefusal?
  ) {
    handovers.append(
      Handover(
        lease: fetch.lease, thumbnail: thumbnail, bytesFetched: fetch.bytesFetched,
        refusal: refusal))
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

  private func end(
    _ lease: LeaseID, with outcome: Outcome, retryAfterMilliseconds: Int64? = nil,
    wasRedirected: Bool = false
  ) {
    fetches[lease] = nil
    finished.append(
      FetchResults.Result(
        lease: lease, outcome: outcome, retryAfterMilliseconds: retryAfterMilliseconds,
        wasRedirected: wasRedirected))
  }
}
