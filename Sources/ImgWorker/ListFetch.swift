import Glibc
import ImgFetch
@_spi(Coding) import ImgModel
import ImgSandbox
import ImgSystem
import ImgWire

/// The worker program in the service of a command: it fetches one list of URLs under the rules of a worker,
/// and writes it to its standard output. It serves no coordinator, and opens no store.
struct ListFetch {
  private static let tokenBase: UInt64 = 1 << 32
  private static let maximumBackoff = Duration.seconds(60)
  private static let pieceByteCount = 1 << 20

  private let limits: Limits
  private let poller: Poller
  private let pool: TransferPool
  private var transferCount: UInt64 = 0

  /// - Returns: the exit status: 0 if the list or the reason for its absence was written, 1 on an error, 2
  ///   if no command started the program.
  static func run() -> Int32 {
    guard (try? FileStatus(of: ListAnswer.descriptor)) != nil else {
      WorkerLog.note("started by imgctl, not by hand")
      return 2
    }
    do {
      let sandbox = try Sandbox(start: .worker(keeping: [0, 1, 2, ListAnswer.descriptor]))
      ThisProcess.dieWithParent(signal: SIGKILL)
      ThisProcess.ignoreFileSizeSignal()
      let json = try FileIO.contents(
        of: STDIN_FILENO, named: "the request", upTo: ListRequest.maximumByteCount)
      let request = try Fields.value(ListRequest.self, of: json[...])
      guard request.welcome.hello.protocolVersion == Build.protocolVersion else {
        WorkerLog.note("imgctl is of another version, \(request.welcome.hello.version)")
        return 1
      }
      var fetch = try ListFetch(request.welcome, in: sandbox)
      try fetch.write(try ImageURL(parsing: request.url))
      return 0
    } catch {
      WorkerLog.note("\(error)")
      return 1
    }
  }

  private init(_ welcome: Welcome, in sandbox: consuming Sandbox) throws {
    limits = welcome.limits
    try ThisProcess.limitPrivateMemory(byteCount: limits.workerMemoryByteCount)
    let curl = try CurlRuntime.start()
    let places = WorkerPlaces(
      dataDirectories: [], spoolDirectories: [WorkerPlaces.spareSpoolDirectory],
      allowedDirectories: [], authorityFile: welcome.authorityFile)
    _ = try sandbox.lock(.worker(places), isRequired: welcome.requiresSandbox)
    poller = try Poller()
    pool = try TransferPool(
      runtime: curl, limits: limits,
      bodyBudgetByteCount: Int(limits.workerMemoryByteCount / 2),
      addressPolicy: AddressPolicy(allowed: welcome.allowedNetworks),
      spoolDirectories: places.spoolDirectories, poller: poller, tokenBase: Self.tokenBase,
      userAgent: limits.userAgent, earlyReject: nil, authorityFile: welcome.authorityFile,
      proxies: welcome.proxies)
  }

  private mutating func write(_ url: ImageURL) throws {
    let answer = OwnedDescriptor(adopting: ListAnswer.descriptor)
    switch try fetch(url) {
    case .success(let body):
      let found = ListAnswer.found(byteCount: body.content.byteCount)
      try FileIO.writeAll(answer.rawValue, Fields.json(of: found))
      _ = consume answer
      try write(body.content)
    case .failure(let failure):
      try FileIO.writeAll(answer.rawValue, Fields.json(of: ListAnswer.failed(failure)))
    }
  }

  private func write(_ content: BodyContent) throws(SystemError) {
    switch content {
    case .memory(let bytes): try FileIO.writeAll(STDOUT_FILENO, bytes)
    case .file(let file, let byteCount):
      for start in stride(from: 0, to: byteCount, by: Self.pieceByteCount) {
        let piece = start..<min(start + Self.pieceByteCount, byteCount)
        try FileIO.writeAll(
          STDOUT_FILENO, FileIO.contents(of: file.descriptor, in: piece))
      }
    }
  }

  /// Fetches the list, and again after a failure that may pass.
  private mutating func fetch(_ url: ImageURL) throws -> Result<FetchedBody, Failure> {
    var backoff = limits.backoff
    for _ in 1..<max(limits.attempts, 1) {
      let result = try transfer(url)
      guard case .failure(let failure) = result, failure.isRetryable else { return result }
      let cooldown = pool.takeCooldowns().map(\.duration).max() ?? .zero
      // The command waits, and so does a person.
      guard cooldown <= HostCooldown.maximumForViewers else { return result }
      ThisProcess.pause(for: max(backoff, cooldown))
      backoff = min(backoff * 2, Self.maximumBackoff)
    }
    return try transfer(url)
  }

  private mutating func transfer(_ url: ImageURL) throws -> Result<FetchedBody, Failure> {
    transferCount += 1
    pool.startList(TransferID(rawValue: transferCount), of: url)
    while true {
      if let end = pool.takeFinished().first { return end.result }
      let timeout = pool.deadline.map { max($0 - .now, .zero) }
      for readiness in try poller.wait(timeout: timeout) { pool.handle(readiness) }
      pool.handleDeadline(at: .now)
    }
  }
}
