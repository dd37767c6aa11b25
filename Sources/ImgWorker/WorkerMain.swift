import Glibc
import ImgFetch
import ImgModel
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
