import Glibc
import ImgFetch
@_spi(Coding) import ImgModel
import ImgSandbox
import ImgSystem
import ImgWire

/// The program `imgworker`: started by a coordinator, which passes on what ``WorkerDescriptor``
/// lists, or by a command that reads a list of URLs from a server, see ``ListRequest``.
package enum WorkerMain {
  /// How long the coordinator may take to send its welcome.
  private static let welcomeTime = Duration.seconds(30)

  /// - Returns: the exit status: 0 if the coordinator drained it or closed the channel, 1 on an error,
  ///   2 if it was not started by a coordinator.
  package static func run() -> Int32 {
    if CommandLine.arguments.dropFirst() == [ListRequest.argument] { return ListFetch.run() }
    guard isStartedByCoordinator else {
      WorkerLog.note("started by imgcoordinator, not by hand")
      return 2
    }
    do {
      let sandbox = try Sandbox(
        start: .worker(
          keeping: [
            0, 1, 2, WorkerDescriptor.channel, WorkerDescriptor.heartbeat,
            WorkerDescriptor.bandwidth, WorkerDescriptor.bandwidthRates,
          ]))
      ThisProcess.dieWithParent(signal: SIGKILL)
      ThisProcess.ignoreFileSizeSignal()
      ThisProcess.keepFreedMemory()
      let heartbeat = try WorkerHeartbeat(
        adopting: OwnedDescriptor(adopting: WorkerDescriptor.heartbeat))
      heartbeat.recordStoreCrashes()
      let bandwidth = try SharedBandwidth(
        adopting: OwnedDescriptor(adopting: WorkerDescriptor.bandwidth),
        rates: OwnedDescriptor(adopting: WorkerDescriptor.bandwidthRates))
      let channel = try Channel<CoordinatorMessage, WorkerMessage>(
        OwnedDescriptor(adopting: WorkerDescriptor.channel))
      let welcome = try greet(channel)
      try serve(channel, heartbeat: heartbeat, bandwidth: bandwidth, welcome: welcome, in: sandbox)
      return 0
    } catch ChannelError.closed {
      return 0
    } catch {
      WorkerLog.note("\(error)")
      return 1
    }
  }

  private static func greet(
    _ channel: Channel<CoordinatorMessage, WorkerMessage>
  ) throws -> Welcome {
    try channel.send(.hello(Hello(processID: ThisProcess.processID)))
    guard case .welcome(let welcome) = try channel.next(until: .now + welcomeTime) else {
      throw MessageError(description: "the coordinator did not begin with a welcome")
    }
    return welcome
  }

  /// A worker that cannot start, or whose decoders cannot, sends the reason before it exits; the
  /// coordinator logs it.
  private static func serve(
    _ channel: Channel<CoordinatorMessage, WorkerMessage>, heartbeat: WorkerHeartbeat,
    bandwidth: SharedBandwidth, welcome: Welcome, in sandbox: consuming Sandbox
  ) throws {
    do {
      try ThisProcess.limitPrivateMemory(byteCount: welcome.limits.workerMemoryByteCount)
      let curl = try CurlRuntime.start()
      if let remark = WorkerPlaces.remark(on: welcome) { WorkerLog.note(remark) }
      let storePlaces = StorePlaces(of: welcome)
      let report = try sandbox.lock(
        .worker(WorkerPlaces(welcome)), isRequired: welcome.requiresSandbox)
      let worker = try Worker(
        channel: channel, heartbeat: heartbeat, bandwidth: bandwidth, welcome: welcome,
        storePlaces: storePlaces, curl: curl, sandbox: report)
      try worker.run()
    } catch let error as ChannelError {
      throw error
    } catch {
      try channel.send(.refused(reason: String(describing: error)))
      try channel.flush(until: .now + .seconds(1))
      throw error
    }
  }

  private static var isStartedByCoordinator: Bool {
    (try? UnixSocket.credentials(of: WorkerDescriptor.channel)) != nil
  }
}

/// The log of a worker: one line an event on standard error. The worker inherits it from its
/// coordinator, so that both write to the same log.
enum WorkerLog {
  static func note(_ message: String) {
    let time = WallTime.now
    // Standard error may be closed; there is no other log.
    try? FileIO.writeAll(2, "\(time) imgworker: \(message.withoutPasswords.printable)\n")
  }
}

extension WorkerPlaces {
  /// Where `SpoolDirectories` looks next if the data directory takes no unnamed files.
  static let spareSpoolDirectory = "/tmp"

  /// The files that a worker needs for what its coordinator has told it.
  ///
  /// It writes beside the store as well as in it, because a store is replaced by a directory that is
  /// made beside it. The store may be a symbolic link to another disk.
  init(_ welcome: Welcome) {
    let directories = Self.directories(aroundStoreOf: welcome)
    let takesSpoolFiles = directories.contains { (try? SpoolFile(in: $0)) != nil }
    self.init(
      dataDirectories: directories,
      spoolDirectories: takesSpoolFiles ? [] : [Self.spareSpoolDirectory],
      allowedDirectories: welcome.allowedDirectories, authorityFile: welcome.authorityFile)
  }

  /// What the log should say of the places; `nil` for nothing.
  static func remark(on welcome: Welcome) -> String? {
    stores(welcome).first { WritablePlace.around($0) == $0 }.map {
      "\($0) lies in /, where no worker may write: the store is emptied in place instead of replaced"
    }
  }

  fileprivate static func directories(aroundStoreOf welcome: Welcome) -> [String] {
    Set(stores(welcome).compactMap(WritablePlace.around)).sorted()
  }

  /// The paths of the store: as it is given, and without symbolic links.
  private static func stores(_ welcome: Welcome) -> [String] {
    let store = welcome.storeDirectory
    return [store] + [try? Directory.resolve(store)].compactMap(\.self)
  }
}

/// The directories around a store, as they were when a worker started. The rules of its sandbox are for these
/// alone, and not for others that are made in their place.
struct StorePlaces {
  private let directories: [String: FileStatus]

  init(of welcome: Welcome) {
    let paths = WorkerPlaces.directories(aroundStoreOf: welcome)
    directories = Dictionary(
      uniqueKeysWithValues: paths.compactMap { path in
        (try? FileStatus(following: path)).map { (path, $0) }
      })
  }

  /// Leaves the work to a worker that reaches the directories that are there now. Costs a system call for each.
  ///
  /// - Throws: if one of them was removed or replaced.
  func requireThere() throws(StorePlaceGone) {
    for (path, status) in directories {
      let found = try? FileStatus(following: path)
      guard found?.isSameFile(as: status) == true else { throw StorePlaceGone(path: path) }
    }
  }
}

/// A worker whose store cannot be opened any more leaves. The coordinator makes the directory again, and starts
/// another worker.
struct StorePlaceGone: Error, CustomStringConvertible {
  let path: String

  var description: String { "the directory \(path) of the store was removed or replaced" }
}

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
