import ImgFetch
public import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import TestCluster
import TestFiles

@testable import ImgWorker

/// A worker on a thread of this process, with the test as its coordinator. It exits when the test
/// releases it.
final class RunningWorker {
  private var channel: Channel<WorkerMessage, CoordinatorMessage>?
  private var taken: WorkerMessage?
  private var arrived: [Delivery<WorkerMessage>] = []
  private let poller: Poller
  private let decoders: DecoderHost
  /// All host updates so far, in one.
  private(set) var hostUpdates = HostUpdates()
  private let thread: ServiceThread<Never>
  private let directory: TestDirectory
  /// The worker's own: a process opens a store once.
  let store: SharedStore
  let heartbeat: WorkerHeartbeat
  /// Whether each transfer gets a slot at once where its redirect leads.
  var givesSlots = true

  private static let curl = Result { () throws(CurlError) in try CurlRuntime.start() }

  /// - Parameters:
  ///   - limits: the limit of memory is not set for this process.
  ///   - authorityFile: see `Welcome.authorityFile`.
  /// - Throws: also if the worker does not start.
  init(
    limits given: Limits = Limits(), allowedDirectories: [String] = [],
    authorityFile: String? = nil, proxies: ProxySettings = .none
  ) throws {
    var limits = given
    // A test may be kept waiting for long while the origin holds its picture back.
    limits.transferTimeout = .seconds(600)
    limits.stallTimeout = .seconds(600)
    directory = TestDirectory()
    var pair = try UnixSocket.pair()
    let channel = try Channel<WorkerMessage, CoordinatorMessage>(pair.takeFirst())
    let descriptor = pair.takeSecond().release()
    let loopback = NetworkRange(bytes: [127, 0, 0, 0], prefixLength: 8)
    let welcome = Welcome(
      hello: Hello(processID: ThisProcess.processID), limits: limits,
      storeDirectory: directory.file("store"), allowedNetworks: [loopback].compactMap { $0 },
      allowedDirectories: allowedDirectories, authorityFile: authorityFile, proxies: proxies)
    let curl = try Self.curl.get()
    poller = try Poller()
    decoders = DecoderHost(poller: poller)
    try poller.register(channel.descriptor, .read, token: 0)
    let heartbeat = try WorkerHeartbeat()
    self.heartbeat = heartbeat
    let stores = try BlockingQueue<SharedStore>(capacity: 1)
    thread = try ServiceThread(name: "worker", capacity: 1) { _ in
      // Its end closes the channel, which the test sees.
      try? Self.run(
        Channel(OwnedDescriptor(adopting: descriptor)), heartbeat: heartbeat, welcome: welcome,
        curl: curl, stores: stores)
    }
    self.channel = channel
    guard let store = stores.take(upTo: 1)?.first else {
      throw Unexpected()
    }
    self.store = store
    guard case .ready = try nextDelivery().message else { throw Unexpected() }
  }

  deinit {
    channel = nil
    thread.join()
  }

  private static func run(
    _ channel: Channel<CoordinatorMessage, WorkerMessage>, heartbeat: WorkerHeartbeat,
    welcome: Welcome, curl: CurlRuntime, stores: BlockingQueue<SharedStore>
  ) throws {
    defer { stores.close() }
    let worker = try Worker(
      channel: channel, heartbeat: heartbeat, bandwidth: SharedBandwidth(), welcome: welcome,
      storePlaces: StorePlaces(of: welcome), curl: curl,
      sandbox: SandboxReport())
    _ = stores.push(worker.store)
    try worker.run()
  }

  func send(_ message: CoordinatorMessage, with file: PassedFile? = nil) throws {
    try channel?.send(message, with: file)
  }

  /// What the worker says until it has told the ends of so many leases.
  func messages(untilEnded count: Int) throws -> Said {
    try messages { said in
      said.released.count + said.unpinned.count + said.outcomes.count + said.uncached.count >= count
    }
  }

  /// What the worker says until that is enough; `said` is what it said before.
  func messages(after said: Said = Said(), until isEnough: (Said) -> Bool) throws -> Said {
    var said = said
    while !isEnough(said) {
      let delivery = try nextDelivery()
      switch delivery.message {
      case .hostUpdates(let updates): note(updates)
      case .redirected(let redirections):
        said.redirections += redirections
        if givesSlots { try send(.followRedirects(redirections.map(\.transfer))) }
      case .transferred(let leases): said.transferred += leases
      case .released(let leases): said.released += leases
      case .unpinned(let leases): said.unpinned += leases
      case .finished(let results):
        for result in results.results {
          said.outcomes[result.lease] = result.outcome
          said.signs[result.lease] = result.sign
        }
        said.redirected += results.results.filter(\.wasRedirected).map(\.lease)
      case .uncached(let result):
        said.uncached[result.lease] = result
        said.pictures[result.lease] = try delivery.file.map(MemoryFile.init)?.contents(
          byteCount: result.made.thumbnail.byteCount)
      case .preview(let preview):
        said.previews[preview.lease, default: []].append(
          try delivery.file.map(MemoryFile.init)?.contents(
            byteCount: preview.thumbnail.byteCount) ?? [])
      case .progress(let entries):
        for entry in entries { said.progress[entry.lease, default: []].append(entry.progress) }
      case .hello, .ready, .refused, .lookedUp, .startDecoder, .endDecoder, .store, .sandboxed:
        throw Unexpected()
      }
    }
    return said
  }

  /// The outcome of the only lease of an assignment.
  func outcome(of assignment: CoordinatorMessage) throws -> Outcome? {
    try send(assignment)
    return try messages(untilEnded: 1).outcomes.values.first
  }

  /// Returns when the worker has handled what it was sent before.
  func waitUntilHandled() throws {
    _ = try lookUp([])
  }

  /// What the store has of these.
  func lookUp(_ items: [Assignment]) throws -> LookupResults {
    try send(
      .lookup(
        Batch(
          ThumbnailRequest(variant: .standard), retention: Retention(), isUrgent: false,
          items: items)))
    return try lookupResults()
  }

  /// The answer to the oldest look-up. Only host updates may come before it.
  func lookupResults() throws -> LookupResults {
    while case .hostUpdates(let updates)? = try take() { note(updates) }
    guard case .lookedUp(let results)? = taken else { throw Unexpected() }
    return results
  }

  private func take() throws -> WorkerMessage? {
    taken = try nextDelivery().message
    return taken
  }

  /// The next message that does not concern decoders. The worker gets those that it asks for.
  private func nextDelivery() throws -> Delivery<WorkerMessage> {
    let deadline = ContinuousClock.now + ProgramRun.patience
    while let channel {
      while !arrived.isEmpty {
        let delivery = arrived.removeFirst()
        switch delivery.message {
        case .startDecoder(let decoder):
          guard let end = delivery.file else { throw Unexpected() }
          try decoders.start(decoder, channel: end)
        case .endDecoder(let decoder): decoders.end(decoder)
        case .sandboxed, .store: break
        default: return delivery
        }
      }
      for exit in decoders.takeExits() { try channel.send(.decoderExited(exit)) }
      guard ContinuousClock.now < deadline else { throw Unexpected() }
      _ = try poller.wait(timeout: deadline - .now)
      let received = try channel.receive()
      arrived += received.deliveries
      guard !received.isClosed || !arrived.isEmpty else { throw Unexpected() }
    }
    throw Unexpected()
  }

  private func note(_ new: HostUpdates) {
    hostUpdates.cooldowns += new.cooldowns
    hostUpdates.extraRequests += new.extraRequests
    hostUpdates.robotsKnown += new.robotsKnown
  }

  var now: WallTime { .now }

  /// How many records the store has.
  func entryCount() throws -> Int { try store.current().size().recordCount }

  /// The stored original of a URL; `nil` if there is none.
  func original(of url: ImageURL) throws -> [UInt8]? {
    try store.current().contents(of: ContentKey(originalOf: PictureName(url)), at: now)?.bytes
  }

  /// Puts an original into the store.
  func keepOriginal(of url: ImageURL, _ bytes: [UInt8]) throws {
    let facts = Thumbnail(format: .jpeg, width: 1, height: 1, byteCount: bytes.count)
    let new = NewThumbnail(
      key: ContentKey(originalOf: PictureName(url)), url: url.text, thumbnail: facts,
      source: SourcePicture(format: .jpeg, width: 1, height: 1, byteCount: bytes.count),
      retention: Retention(after: .seconds(60)), bytes: bytes)
    try store.current().put([new], at: now)
  }

  struct Said {
    /// Transfers that went on at another host.
    var redirections: [Redirection] = []
    var transferred: [LeaseID] = []
    var released: [LeaseID] = []
    var unpinned: [LeaseID] = []
    var outcomes: [LeaseID: Outcome] = [:]
    /// What the transfers of those say of the network.
    var signs: [LeaseID: NetworkSign] = [:]
    /// Those that have failed behind a redirect.
    var redirected: [LeaseID] = []
    /// Pictures that are not in the store, and their bytes.
    var uncached: [LeaseID: UncachedResult] = [:]
    var pictures: [LeaseID: [UInt8]] = [:]
    /// The bytes of previews, in their order.
    var previews: [LeaseID: [[UInt8]]] = [:]
    var progress: [LeaseID: [ImageProgress]] = [:]
  }

  struct Unexpected: Error {}
}

extension Batch {
  /// An assignment of one URL for a square thumbnail of at most that width.
  init(
    _ lease: LeaseID, _ url: String, width: Int = 64, isLenient: Bool = false,
    keep: Keep = .thumbnail, fetch: FetchOptions = .standard, bypassesStore: Bool = false,
    retention: Duration = .seconds(60), takesStale: Bool = false
  ) throws {
    let request = ThumbnailRequest(
      variant: try Variant(ImageVariant(width: width, height: width)), isLenient: isLenient,
      keep: keep,
      fetch: fetch, bypassesStore: bypassesStore)
    self.init(
      request, retention: Retention(after: retention), isUrgent: false,
      items: [Assignment(lease: lease, url: url)], takesStale: takesStale)
  }
}

/// The parts of an outcome; `nil` of one that has no such part.
extension Outcome {
  var width: Int? {
    if case .done(let thumbnail, _, _) = self { thumbnail.width } else { nil }
  }

  var isDamaged: Bool? {
    if case .done(let thumbnail, _, _) = self { thumbnail.isDamaged } else { nil }
  }

  var bytesFetched: Int? {
    switch self {
    case .done(_, _, let byteCount), .failed(_, let byteCount): byteCount
    case .cancelled: nil
    }
  }

  var isFromCache: Bool? {
    if case .done(_, let isFromCache, _) = self { isFromCache } else { nil }
  }

  var failure: Failure? {
    if case .failed(let failure, _) = self { failure } else { nil }
  }

  var failureCode: Failure.Code? { failure?.code }
}

extension Identifier: ExpressibleByIntegerLiteral {
  /// The thing of this number.
  public init(integerLiteral value: UInt64) {
    self.init(rawValue: value)
  }
}
