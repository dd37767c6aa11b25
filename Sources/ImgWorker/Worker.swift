import ImgFacts
import ImgFetch
import ImgModel
import ImgSandbox
import ImgStore
import ImgSystem
import ImgWire
import ImgWorkerMachine

/// A worker process: one loop that talks to the coordinator, drives libcurl and reads the store,
/// beside one thread that waits for the decoder and one that writes the store.
///
/// The loop turns what becomes ready into events for the ``WorkerMachine``, which decides, and
/// performs the effects. Image bytes pass by the machine: the drivers and the threads own them.
final class Worker {
  private enum Token {
    static let channel: UInt64 = 0
    static let inbox: UInt64 = 1
    static let decoders: UInt64 = 2
    /// Above it, the transfer pool's own.
    static let transfers: UInt64 = 1 << 32
  }

  private var machine: WorkerMachine
  private let channel: Channel<CoordinatorMessage, WorkerMessage>
  private let heartbeat: WorkerHeartbeat
  /// What this process has given up.
  private let sandbox: SandboxReport
  let store: SharedStore
  private let storePlaces: StorePlaces
  private let poller: Poller
  /// What the threads have to tell.
  private let inbox: Mailbox<Input>
  private var transfers: TransferDriver
  private var records: StoreDriver
  private let decodeThread: DecodeThread
  /// What the decode thread asks for.
  private let decoderCommands: Mailbox<DecoderCommand>
  /// Those that wait for the coordinator. Bounded: the thread asks for a decoder only in place of another.
  private var waitingDecoderCommands: [DecoderCommand] = []
  private var uncached = UncachedQueue()
  private let bodyMaximumByteCount: Int
  private var isStopped = false
  private var storeCheckTime = ContinuousClock.now
  /// When results that may wait are reported at the latest; `nil` while there are none.
  private var reportDeadline: ContinuousClock.Instant?

  /// The same for every setting, because limits change while the worker runs: all transfers that
  /// the cluster may have under way, and as many leases again that are attached to them or wait for
  /// the decoder.
  static let credits = Credits(
    lookups: 256, leases: 2 * LimitChange.transferRange.upperBound, decodeQueueTarget: 8)

  /// How long results for lists wait for others, or for a message that cannot wait. A decoder needs
  /// about as long for the next picture.
  private static let longestReportWait = Duration.milliseconds(5)

  /// How often the loop runs at least, so that the watchdog sees that it can.
  private static let heartbeatInterval = Duration.seconds(2)

  /// - Parameter channel: greeted and welcomed.
  init(
    channel: Channel<CoordinatorMessage, WorkerMessage>, heartbeat: WorkerHeartbeat,
    bandwidth: SharedBandwidth, welcome: Welcome, storePlaces: StorePlaces, curl: CurlRuntime,
    sandbox: SandboxReport
  ) throws {
    self.storePlaces = storePlaces
    machine = WorkerMachine(
      at: .now, autoOriginalByteCount: Int(clamping: welcome.limits.autoOriginalMaximumByteCount))
    self.channel = channel
    self.heartbeat = heartbeat
    self.sandbox = sandbox
    let limits = welcome.limits
    bodyMaximumByteCount = Int(limits.maxBodyByteCount)
    store = try SharedStore(
      directory: welcome.storeDirectory,
      access: .readWrite(budgetByteCount: limits.storeBudgetByteCount),
      report: { WorkerLog.note("\($0)") })
    poller = try Poller()
    inbox = try Mailbox()
    transfers = try TransferDriver(
      try Self.pool(
        welcome, runtime: curl, poller: poller, heartbeat: heartbeat, bandwidth: bandwidth),
      inbox: inbox)
    records = try StoreDriver(
      store, credits: Self.credits, autoOriginalPercent: limits.autoOriginalPercent, inbox: inbox)
    decoderCommands = try Mailbox()
    decodeThread = try DecodeThread(
      limits: limits, requiresSandbox: welcome.requiresSandbox,
      reader: PictureReader(
        store: store, files: LocalFiles(directories: welcome.allowedDirectories)),
      heartbeat: heartbeat, capacity: Self.credits.leases, commands: decoderCommands,
      inbox: inbox)
    try poller.register(channel.descriptor, .read, token: Token.channel)
    try poller.register(inbox.descriptor, .read, token: Token.inbox)
    try poller.register(decoderCommands.descriptor, .read, token: Token.decoders)
  }

  private static func pool(
    _ welcome: Welcome, runtime: CurlRuntime, poller: Poller, heartbeat: WorkerHeartbeat,
    bandwidth: SharedBandwidth
  ) throws -> TransferPool {
    try TransferPool(
      runtime: runtime, limits: welcome.limits,
      // The other half is for all else.
      bodyBudgetByteCount: Int(welcome.limits.workerMemoryByteCount / 2),
      addressPolicy: AddressPolicy(allowed: welcome.allowedNetworks),
      spoolDirectories: [welcome.storeDirectory, WorkerPlaces.spareSpoolDirectory],
      poller: poller,
      tokenBase: Token.transfers, userAgent: welcome.limits.userAgent,
      // The look that a decoder takes at the first bytes, before the others are fetched.
      earlyReject: EarlyReject(
        byteCount: FormatSniffer.rejectedByteCount,
        examine: { [allowed = welcome.limits.allowedFormats] in
          FormatSniffer.rejection(of: $0, allowing: allowed)
        }),
      authorityFile: welcome.authorityFile, proxies: welcome.proxies, bandwidth: bandwidth,
      // The number of a robots.txt is no lease: a loop that hangs there counts as any death of a
      // worker.
      onWork: { heartbeat.markTransfer($0.map { LeaseID(rawValue: $0.rawValue) }) })
  }

  // MARK: - The loop

  /// Runs until the coordinator drains it or closes the channel.
  func run() throws {
    // Also when no decoder can be started: what was made is not fetched again.
    defer { records.finish() }
    while !isStopped {
      heartbeat.beat()
      try checkStore()
      let ready = try poller.wait(timeout: timeout)
      records.beginTurn()
      for readiness in ready {
        switch readiness.token {
        case Token.channel: guard try channelIsReady(readiness) else { return }
        case Token.inbox:
          for input in inbox.takeAll() {
            // What a removed store has not taken is fetched again for another.
            if input.event.isRefusalOfStore { try storePlaces.requireThere() }
            try feed(input)
          }
        case Token.decoders: waitingDecoderCommands += decoderCommands.takeAll()
        default: transfers.pool.handle(readiness)
        }
      }
      try finishTurn()
    }
  }

  private var timeout: Duration {
    let deadline = transfers.pool.deadline.orLess(records.deadline).orLess(reportDeadline)
      .orLess(machineDeadline?.onContinuousClock)
    guard let deadline else { return Self.heartbeatInterval }
    return min(max(deadline - .now, .zero), Self.heartbeatInterval)
  }

  private var machineDeadline: Instant? {
    machine.previewDeadline.orLess(machine.progressDeadline).orLess(machine.measureDeadline)
  }

  /// Runs at each heartbeat, also while the worker is idle: a store that was replaced takes up disk
  /// space as long as one worker has it open.
  private func checkStore() throws {
    guard storeCheckTime <= .now else { return }
    try storePlaces.requireThere()
    store.releaseIfDetached()
    if store.takeReplacement() {
      records.queries.unstoredRobots.forget()
      try feed(Input(.storeReplaced))
    }
    storeCheckTime = .now + Self.heartbeatInterval
  }

  /// - Returns: `false` if the coordinator has closed the channel.
  private func channelIsReady(_ readiness: Poller.Readiness) throws(ChannelError) -> Bool {
    if readiness.isWritable { try channel.flush() }
    guard readiness.isReadable || readiness.isHungUp else { return true }
    let received = try channel.receive()
    for delivery in received.deliveries {
      if case .decoderExited(let exit) = delivery.message { decodeThread.decoderExited(exit) }
      if case .dropConnections = delivery.message { transfers.pool.dropConnections() }
      try feed(
        Input(
          event(of: delivery.message), with: delivery.file.map(Input.Payload.file) ?? .none))
    }
    return !received.isClosed
  }

  private func event(of message: CoordinatorMessage) -> WorkerMachine.Event {
    guard case .decodeUpload(let upload) = message, let fields = upload.response else {
      return .received(message)
    }
    return .clientFetched(upload, AnswerReuse(ofClientResponse: fields, at: .now))
  }

  /// Takes what the transfers have brought, and tells the coordinator what the turn has.
  private func finishTurn() throws {
    try performDecoderCommands()
    let pool = transfers.pool
    pool.handleDeadline(at: .now)
    for redirect in pool.takeRedirects() {
      try feed(Input(.redirected(redirect.id, redirect.url)))
    }
    for input in pool.takeFinished().compactMap({ transfers.input(of: $0) }) { try feed(input) }
    for id in machine.watchedTransfers {
      guard let progress = pool.progress(of: id) else { continue }
      try feed(Input(.bodyGrew(id, to: progress)))
    }
    if let deadline = machine.measureDeadline, deadline <= .now {
      try feed(Input(.measured(transfers.measures(of: machine.transfersWithSlots))))
    }
    records.writePuts(amongLeases: machine.leaseCount, at: .now)
    try report(
      HostUpdates(
        cooldowns: pool.takeCooldowns(), extraRequests: pool.takeExtraRequests()),
      at: .now)
    try channel.flush()
    try poller.update(
      channel.descriptor, channel.hasUnsent ? [.read, .write] : .read, token: Token.channel)
  }

  /// Tells the coordinator what the turn has brought, unless that may wait for the next turns.
  private func report(
    _ updates: HostUpdates, at now: ContinuousClock.Instant
  ) throws(ChannelError) {
    if updates.isEmpty, uncached.isEmpty, machine.hasReport, machine.mayReportLater {
      let deadline = reportDeadline ?? now + Self.longestReportWait
      reportDeadline = deadline
      guard deadline <= now else { return }
    }
    reportDeadline = nil
    var updates = updates
    repeat {
      try feed(Input(.turnEnded(updates, decodeQueueCount: decodeThread.waitingCount)))
      updates = HostUpdates()
      // A result that could not be sent is reported as a failure at once.
    } while machine.hasReport
  }

  /// Does what the decode thread asks for, as far as the coordinator keeps up with files. The worker is
  /// ready when its first decoder is.
  private func performDecoderCommands() throws {
    while let command = waitingDecoderCommands.first {
      switch command {
      case .start(let id, let end):
        guard channel.takesFile else { return }
        try channel.send(.startDecoder(id), with: end)
      case .end(let id): try channel.send(.endDecoder(id))
      case .ready(let sandbox):
        try channel.send(.sandboxed(WorkerSandbox(worker: self.sandbox, decoder: sandbox)))
        try channel.send(.ready(Self.credits))
      case .failed(let reason): throw DecodersFailed(reason: reason)
      }
      waitingDecoderCommands.removeFirst()
    }
  }

  // MARK: - The machine

  /// Feeds the machine, and with it the answers to effects that are performed at once.
  private func feed(_ input: Input) throws(ChannelError) {
    var inputs = [input]
    while !inputs.isEmpty {
      let input = inputs.removeFirst()
      if case .decoded(let lease, _, _) = input.event { decodeThread.finished(lease) }
      for effect in machine.handle(input.event, at: .now) {
        inputs += try perform(effect, with: input.payload)
      }
    }
  }

  /// - Parameter payload: what came with the event that led to the effect.
  /// - Returns: the answers that are known at once.
  private func perform(
    _ effect: WorkerMachine.Effect, with payload: Input.Payload
  ) throws(ChannelError) -> [Input] {
    switch effect {
    case .send(let message): try channel.post(message)
    case .sendUncached: return try uncached.send(over: channel).map { Input($0) }
    case .deliver(let result): uncached.add(result, bytes: payload.thumbnails[0])

    case .lookUp(let batch): return records.lookUp(batch).map { Input($0) }
    case .findOriginal(let order):
      let isThere = records.queries.hasOriginal(for: order, at: .now)
      return [Input(.originalFound(order.lease, isThere))]
    case .findStale(let order):
      return records.findStale(order).map { Input($0) }
    case .renew(let order):
      let finding = records.renew(order, confirmedBy: payload.notModified)
      return [Input(.renewalFound(order.lease, finding))]
    case .put(let request): return put(request, payload).map { [$0] } ?? []
    case .storePartial(let transfer, let name):
      let body = transfers[transfer].partial
      records.write(.putPartial(PartialPut(transfer: transfer, name: name, body: body)))
    case .removePartial(let name): records.write(.removePartial(name))
    case .sweep(let moment): records.write(.sweep(moment))
    case .unpin(let jobs): records.write(.unpin(jobs))

    case .readRobots(let url):
      return [Input(.robotsRead(of: url, records.queries.robots(of: url.origin, at: .now)))]
    case .fetchRobots(let url, let contact): transfers.fetchRobots(of: url, contact: contact)
    case .storeRobots(let robots, let origin):
      let record = RobotsRecord(text: robots.rules.text, expiresAt: robots.expiresAt)
      records.write(.putRobots(record, origin: origin))

    case .startTransfer(let order): start(order)
    case .setUrgent(let isUrgent, let transfer): transfers.pool.setUrgent(isUrgent, transfer)
    case .followRedirect(let transfer, let wait): transfers.pool.follow(transfer, excluding: wait)
    case .cancelTransfer(let transfer): transfers.pool.cancel(transfer)
    case .releaseBody(let transfer): transfers.release(transfer)

    case .decode(let order, let source): return decode(order, from: source, payload)
    case .cancelDecode(let lease): decodeThread.cancel(lease)
    case .makePreview(let order):
      if !makePreview(order) { return [Input(.previewed(order, .later))] }
    case .sendPreview(let preview): try send(preview, payload.thumbnails[0])
    case .stop: isStopped = true
    }
    return []
  }

  /// Starts a transfer. It continues what an earlier one left, or asks whether the records of the
  /// store still match.
  private func start(_ order: FetchOrder) {
    let (now, id) = (WallTime.now, TransferID(startedBy: order.lease))
    transfers.pool.start(
      id, url: order.url, part: order.request.keep.part,
      as: order.options,
      resuming: records.queries.partial(for: order, copiedBy: transfers.pool, at: now),
      unlessMatching: records.queries.validators(for: order, at: now),
      begunAt: order.assignedAt.onContinuousClock)
    transfers.pool.setUrgent(order.isUrgent, id)
  }

  /// - Returns: the end, if the body cannot be read.
  private func put(
    _ request: StoreRequest, _ payload: Input.Payload
  ) -> Input? {
    do throws(SystemError) {
      let original = request.body.map { OriginalSource.body(transfers[$0].content) }
      try records.put(
        request, thumbnails: payload.thumbnails,
        original: original ?? payload.upload.map(OriginalSource.upload))
      return nil
    } catch {
      return Input(.stored(request.order.lease, .failed(Failure(unreadableBody: error))))
    }
  }

  /// - Returns: whether the decode thread has it. It tells the end.
  private func makePreview(_ order: PreviewOrder) -> Bool {
    guard let part = transfers.arrivedPart(of: order.transfer, upTo: bodyMaximumByteCount) else {
      return false
    }
    return decodeThread.submit(PreviewJob(order: order, part: part))
  }

  /// A preview that the coordinator cannot take now is dropped: a later one shows more.
  private func send(_ preview: MadePreview, _ bytes: [UInt8]) throws(ChannelError) {
    guard channel.takesFile, let file = try? MemoryFile(containing: bytes).file else { return }
    try channel.post(.preview(preview), with: file)
  }

  /// - Returns: the end, if there is nothing to decode.
  private func decode(
    _ order: FetchOrder, from source: DecodeSource, _ payload: Input.Payload
  ) -> [Input] {
    var declaredType: String?
    if case .body(let transfer) = source {
      if let record = transfers[transfer].facts {
        return [Input(order.lease, factsOf: FactsReader.Reading(record: record))]
      }
      declaredType = transfers[transfer].mediaType
    }
    do throws(Failure) {
      let picture: PictureSource? =
        switch source {
        case .body(let transfer): .body(transfers[transfer].content)
        case .storedOriginal: .original(ContentKey(originalOf: order.name))
        case .url: try PictureSource(order.url, upTo: bodyMaximumByteCount)
        case .upload(let byteCount):
          .upload(
            MemoryFile(payload.file), byteCount: byteCount,
            isStored: order.request.keep.includesOriginal)
        }
      guard let picture else {
        return [Input(.decoded(order.lease, .sourceMissing, time: nil))]
      }
      decodeThread.submit(
        DecodeJob(
          lease: order.lease, source: picture, variants: order.request.variants,
          facts: order.request.keep.part.factsExtent,
          describesPixels: order.request.keep == .pixelFacts, declaredType: declaredType,
          isLenient: order.request.isLenient, isUrgent: order.isUrgent,
          wantsPixels: order.wantsPixels,
          readsHeaderAlone: order.request.keep == .undecodedOriginal))
      return []
    } catch {
      return [Input(.decoded(order.lease, .failed(error), time: nil))]
    }
  }
}

extension WorkerMachine.Event {
  /// Whether the store takes nothing now.
  fileprivate var isRefusalOfStore: Bool {
    if case .stored(_, .refused(let refusal)) = self { refusal.isStoreDegraded } else { false }
  }
}

/// Thumbnails that are not in the store, on their way to the coordinator. They wait as bytes and not
/// as open files, until the channel takes more files.
struct UncachedQueue {
  private var waiting: [(result: UncachedResult, bytes: [UInt8])] = []

  var isEmpty: Bool { waiting.isEmpty }

  mutating func add(_ result: UncachedResult, bytes: [UInt8]) {
    waiting.append((result, bytes))
  }

  /// Sends as many as the coordinator keeps up with.
  ///
  /// - Returns: what became of them.
  mutating func send(
    over channel: Channel<CoordinatorMessage, WorkerMessage>
  ) throws(ChannelError) -> [WorkerMachine.Event] {
    var events: [WorkerMachine.Event] = []
    for (result, bytes) in waiting {
      guard channel.takesFile else { break }
      let file: PassedFile
      do throws(SystemError) {
        file = try MemoryFile(containing: bytes).file
      } catch {
        events.append(.uncachedFailed(result.lease, detail: error.description))
        continue
      }
      try channel.send(.uncached(result), with: file)
      events.append(.uncachedSent(result.lease))
    }
    waiting.removeFirst(events.count)
    return events
  }
}

/// An event of the machine and what belongs to it that the machine does not see.
struct Input: Sendable {
  enum Payload: Sendable {
    case none
    /// The file beside an upload.
    case file(PassedFile)
    /// The bytes of the thumbnails that were made, in the order of the request's variants.
    ///
    /// - upload: the file with the picture, if it was uploaded and its original is kept.
    case thumbnails([[UInt8]], upload: MemoryFile?)
    /// What the origin confirmed.
    case notModified(NotModified)
  }

  let event: WorkerMachine.Event
  let payload: Payload

  init(_ event: WorkerMachine.Event, with payload: Payload = .none) {
    self.event = event
    self.payload = payload
  }
}

/// An effect needs the payload of the event that led to it.
extension Input.Payload {
  var file: PassedFile {
    guard case .file(let file) = self else {
      preconditionFailure("an upload comes with a file")
    }
    return file
  }

  var thumbnails: [[UInt8]] {
    guard case .thumbnails(let bytes, _) = self else {
      preconditionFailure("thumbnails come with their bytes")
    }
    return bytes
  }

  /// `nil` if the picture was not uploaded.
  var upload: MemoryFile? {
    if case .thumbnails(_, let upload) = self { upload } else { nil }
  }

  var notModified: NotModified {
    guard case .notModified(let notModified) = self else {
      preconditionFailure("a renewal follows an answer of the origin")
    }
    return notModified
  }
}
