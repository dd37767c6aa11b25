import Dispatch
public import Glibc
public import ImgModel
import ImgSystem
import SeededRandom
import Synchronization
import Testing

@testable import ImgFetch

/// A pool, its poller, and the loop that drives both on the calling thread.
final class Fetcher {
  let pool: TransferPool
  private let poller: Poller
  private(set) var finished: [TransferID: FinishedTransfer] = [:]
  /// Where the redirects led that waited for a decision.
  private(set) var redirects: [String] = []
  /// Whether they are followed.
  var followsRedirects = true
  private var lastNumber: UInt64 = 0

  private static let runtime = Result { () throws(CurlError) in try CurlRuntime.start() }
  private static let tokenBase: UInt64 = 7 << 32

  /// - Parameters:
  ///   - networks: blocks that may be connected to, such as `127.0.0.0/8`.
  ///   - adjust: changes the default limits.
  ///   - earlyReject: examines first bytes.
  ///   - bodyBudget: what the bodies in memory may take together, in bytes.
  ///   - spoolDirectories: where long bodies go.
  ///   - proxies: those that origins are asked through.
  ///   - bandwidth: the limits of bandwidth, and their clock.
  init(
    allowing networks: [String] = ["127.0.0.0/8"], bodyBudget: Int = 1 << 30,
    spoolDirectories: [String] = ["/tmp"],
    earlyReject: EarlyReject? = nil, proxies: ProxySettings = .none,
    bandwidth: (limits: SharedBandwidth, clock: () -> UInt64)? = nil,
    adjust: (inout Limits) -> Void = { _ in }
  ) throws {
    var limits = Limits()
    adjust(&limits)
    poller = try Poller()
    pool = try TransferPool(
      runtime: Self.runtime.get(), limits: limits, bodyBudgetByteCount: bodyBudget,
      addressPolicy: AddressPolicy(allowed: networks.map(range)),
      spoolDirectories: spoolDirectories,
      poller: poller, tokenBase: Self.tokenBase, userAgent: "imgctl-test/1",
      earlyReject: earlyReject, proxies: proxies, bandwidth: bandwidth?.limits,
      bandwidthClock: bandwidth?.clock ?? { 0 })
  }

  func start(
    _ url: String, as options: FetchOptions = .standard, resuming partial: PartialBody? = nil,
    unlessMatching validators: Validators? = nil, begunAt: ContinuousClock.Instant = .now
  ) throws -> TransferID {
    try start(url) { id, url in
      pool.start(
        id, url: url, as: options, resuming: partial, unlessMatching: validators,
        begunAt: begunAt)
    }
  }

  /// Fetches one URL to its end; `turn` is called after each turn of the loop.
  func fetch(
    _ url: String, as options: FetchOptions = .standard, resuming partial: PartialBody? = nil,
    unlessMatching validators: Validators? = nil, turn: () -> Void = {}
  ) throws -> FinishedTransfer {
    try end(
      of: try start(url, as: options, resuming: partial, unlessMatching: validators), turn: turn)
  }

  /// Has a transfer started under the next number.
  func start(_ url: String, _ start: (TransferID, ImageURL) -> Void) throws -> TransferID {
    let url = try ImageURL(line: url)
    lastNumber += 1
    let id = TransferID(rawValue: lastNumber)
    start(id, url)
    return id
  }

  /// Fetches the robots.txt of the URL's origin.
  func fetchRobots(of url: String, contact: Contact? = nil) throws -> FinishedTransfer {
    try end(of: try start(url) { pool.startRobots($0, of: $1, contact: contact) })
  }

  func end(of id: TransferID, turn: () -> Void = {}) throws -> FinishedTransfer {
    try run {
      turn()
      return finished[id] != nil
    }
    let transfer = finished.removeValue(forKey: id)
    return try #require(transfer)
  }

  /// Fetches URLs side by side and gives their ends in the order of the URLs.
  func fetch(_ urls: [String]) throws -> [FinishedTransfer] {
    let ids = try urls.map { try start($0) }
    try run { ids.allSatisfy { finished[$0] != nil } }
    return ids.compactMap { finished.removeValue(forKey: $0) }
  }

  /// Runs the loop until `isDone`, which is asked after each turn.
  func run(until isDone: () -> Bool) throws {
    // Far longer than any test takes on the slowest machine.
    let end = ContinuousClock.now + .seconds(240)
    collect()
    while !isDone() {
      let now = ContinuousClock.now
      guard now < end else { throw OutOfTime() }
      let wake = min(pool.deadline ?? end, end)
      for readiness in try poller.wait(timeout: max(wake - now, .zero)) {
        pool.handle(readiness)
      }
      pool.handleDeadline(at: .now)
      collect()
    }
  }

  private func collect() {
    for redirect in pool.takeRedirects() {
      redirects.append(redirect.url.text)
      if followsRedirects { pool.follow(redirect.id) }
    }
    for transfer in pool.takeFinished() { finished[transfer.id] = transfer }
  }

  struct OutOfTime: Error {}
}

extension FinishedTransfer {
  var body: FetchedBody? { try? result.get() }

  var failure: Failure? {
    guard case .failure(let failure) = result else { return nil }
    return failure
  }
}

extension FetchedBody {
  /// All bytes, in memory or in a file; none when they cannot be read.
  var bytes: [UInt8] { (try? content.bytes()) ?? [] }

  var isInFile: Bool { charge.isOfFile }

  /// Whether it is these bytes. A failing test does not print millions of them.
  func holds(_ expected: [UInt8]) -> Bool { bytes == expected }
}

/// Reads a block such as `127.0.0.0/8`.
func range(_ text: String) throws -> NetworkRange {
  let parts = text.split(separator: "/")
  guard let bytes = parts.first.flatMap({ IPAddress.bytes(parsing: String($0)) }),
    let prefixLength = parts.count == 2 ? Int(parts[1]) : bytes.count * 8,
    let range = NetworkRange(bytes: bytes, prefixLength: prefixLength)
  else { throw NotANetwork(text: text) }
  return range
}

struct NotANetwork: Error {
  let text: String
}

/// Bytes without a short period, so that a lost, doubled or misplaced part shows.
func noise(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  var random = SeededGenerator(seed: seed)
  let words = (0..<(count + 7) / 8).map { _ in random.next() }
  return unsafe words.withUnsafeBytes { unsafe Array($0.prefix(count)) }
}

/// Runs a test on a thread of its own.
///
/// For a test that waits for real time to pass: it would hold one of the few threads that all tests
/// share.
struct OwnThread: TestTrait, TestScoping {
  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(ThreadExecutor()) { try await function() }
  }
}

extension Trait where Self == OwnThread {
  static var ownThread: OwnThread { OwnThread() }
}

/// Runs the parts of one task, one after the other, on a serial queue, which takes a further thread
/// where all others are busy.
private final class ThreadExecutor: TaskExecutor {
  private let queue = DispatchQueue(label: "test")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = unsafe asUnownedTaskExecutor()
    queue.async { unsafe job.runSynchronously(on: executor) }
  }
}

/// The head with these fields, a line each.
func responseHead(
  _ lines: [String], status: Int = 200, receivedAt: WallTime = WallTime(rawValue: 784_111_777_000)
) -> ResponseHead {
  ResponseHead(status: status, fields: headFields(lines), receivedAt: receivedAt)
}

/// The fields of a head, a line each.
func headFields(_ lines: [String]) -> HeadFields {
  var fields = HeadFields()
  for line in lines { fields.take(line: Array("\(line)\r\n".utf8)) }
  return fields
}

extension Identifier: ExpressibleByIntegerLiteral {
  /// The thing of this number.
  public init(integerLiteral value: UInt64) {
    self.init(rawValue: value)
  }
}

/// Answers for host names, which libcurl gets in place of the system's.
enum FakeResolver {
  private struct Name {
    var answers: [[String]]
    var queryCount = 0
    var isHeld = false
  }

  private typealias Resolve =
    @convention(c) @Sendable (
      UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<addrinfo>?, List?
    ) -> CInt
  typealias List = UnsafeMutablePointer<UnsafeMutablePointer<addrinfo>?>

  private static let names = Mutex<[String: Name]>([:])
  /// Locked while a name is held.
  private static let gate = Mutex(())

  /// Gives a name its answers: the first for the first query, and so on; the last one for all that
  /// follow.
  /// - Parameter answers: IPv4 addresses each; without any, the name does not exist.
  static func serve(_ name: String, _ answers: [String]...) {
    names.withLock { $0[name] = Name(answers: answers) }
  }

  /// Has the queries for a name wait until `body` returns.
  static func holding(_ name: String, while body: () throws -> Void) throws {
    try gate.withLock { _ in
      names.withLock { $0[name]?.isHeld = true }
      defer { names.withLock { $0[name]?.isHeld = false } }
      try body()
    }
  }

  static func queryCount(of name: String) -> Int {
    names.withLock { $0[name]?.queryCount ?? 0 }
  }

  fileprivate static func nextAnswer(for name: String) -> [String]? {
    if names.withLock({ $0[name]?.isHeld == true }) { gate.withLock { _ in } }
    return names.withLock { names in
      guard let entry = names[name] else { return nil }
      names[name]?.queryCount += 1
      return entry.answers[min(entry.queryCount, entry.answers.count - 1)]
    }
  }

  /// The C library's `getaddrinfo` (dlsym(3)).
  private static let next: Resolve = {
    let nextLibrary = unsafe UnsafeMutableRawPointer(bitPattern: -1)
    guard let address = unsafe dlsym(nextLibrary, "getaddrinfo") else {
      preconditionFailure("no library has getaddrinfo")
    }
    return unsafe unsafeBitCast(address, to: Resolve.self)
  }()

  fileprivate static func resolve(
    _ name: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?,
    _ hints: UnsafePointer<addrinfo>?, _ result: List?
  ) -> CInt {
    guard let answer = unsafe name.map({ unsafe String(cString: $0) }).flatMap(nextAnswer) else {
      return unsafe next(name, service, hints, result)
    }
    guard !answer.isEmpty else { return EAI_NONAME }
    // The C library frees every entry of a list by itself, so lists may be chained.
    var end = unsafe result
    for address in answer {
      let code = unsafe next(address, service, hints, end)
      guard code == 0 else { return code }
      while let entry = unsafe end?.pointee { unsafe end = withAddress(of: entry) }
    }
    return 0
  }

  private static func withAddress(of entry: UnsafeMutablePointer<addrinfo>) -> List? {
    unsafe UnsafeMutableRawPointer(entry)
      .advanced(by: MemoryLayout<addrinfo>.offset(of: \.ai_next) ?? 0)
      .assumingMemoryBound(to: UnsafeMutablePointer<addrinfo>?.self)
  }
}

/// `getaddrinfo`. The manifest makes the linker export it, so that libcurl finds it before the C
/// library's.
@c(getaddrinfo)
public func resolveByTest(
  _ name: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?,
  _ hints: UnsafePointer<addrinfo>?,
  _ result: UnsafeMutablePointer<UnsafeMutablePointer<addrinfo>?>?
) -> CInt {
  unsafe FakeResolver.resolve(name, service, hints, result)
}
