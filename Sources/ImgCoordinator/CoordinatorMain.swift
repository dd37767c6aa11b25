import Glibc
import ImgModel
import ImgSandbox
import ImgSettings
import ImgStore
import ImgSystem
import ImgWire
import Synchronization

/// The program `imgcoordinator`: from the command line to a running loop.
package enum CoordinatorMain {
  /// The first of them asks for a drain, the second for an end at once.
  private static let endingSignals = [SIGTERM, SIGINT, SIGHUP]

  /// - Returns: the exit status: 0 after a drain, 1 when it cannot start or continue, 2 on wrong use.
  package static func run(arguments: [String]) -> Int32 {
    let environment = ThisProcess.environment
    let readiness = ReadinessNotification(environment: environment)
    do {
      let sandbox = try Sandbox(start: .coordinator)
      // Before any thread starts: every thread has the signals blocked, and the loop alone sees them.
      let signals = try SignalSource(endingSignals)
      let invocation = try CoordinatorInvocation(
        arguments: arguments, environment: environment, userID: ThisProcess.userID)
      // They may hold a password, which no child needs there.
      for name in ProxySettings.variables { _ = ThisProcess.takeVariable(name) }
      switch invocation {
      case .print(let text):
        try FileIO.writeAll(1, Array(text.utf8))
        return 0
      case .run(let settings):
        return try serve(settings, in: sandbox, signals: signals, readiness: readiness)
      }
    } catch let error as UsageError {
      readiness.sendFailure(error.description)
      return 2
    } catch {
      readiness.sendFailure(String(describing: error))
      return 1
    }
  }

  /// Refuses settings that would fail one URL after the other, or leave nothing to the sandbox.
  private static func checkPlaces(of settings: Settings) throws(StartError) {
    for (directory, flag) in [
      (settings.dataDirectory, "--data-dir"), (settings.cacheDirectory, "--cache-dir"),
    ] where WritablePlace.around(directory) == nil {
      throw StartError("\(flag): \(directory) is the root of all files")
    }
    try rethrowing(try Directory.requireCreatable(UnixSocket.directory(of: settings.socketPath))) {
      (error: SystemError) in
      StartError("the control socket \(settings.socketPath) cannot be opened: \(error)")
    }
    if let obstacle = Setting.all.lazy.compactMap({ $0.obstacle(in: settings) }).first {
      throw StartError(obstacle)
    }
  }

  /// The flag that commands need to reach the coordinator; empty for the user's own, and for a service.
  private static func place(of settings: Settings) -> String {
    let own = Settings.atDefaultPlaces(
      environment: ThisProcess.environment, userID: ThisProcess.userID)
    return settings.isOfService || settings.dataDirectory == own.dataDirectory
      ? "" : "--data-dir \(settings.dataDirectory.shellWord)"
  }

  private static func serve(
    _ given: Settings, in sandbox: consuming Sandbox, signals: SignalSource,
    readiness: ReadinessNotification
  ) throws -> Int32 {
    var settings = given.resolved(in: ThisProcess.currentDirectory ?? "/")
    if settings.limits.workers == 0 { settings.limits.workers = ThisProcess.coreCount }
    ThisProcess.ignoreBrokenPipe()
    ThisProcess.ignoreFileSizeSignal()
    let descriptors = DescriptorLimits.raised()
    let transferRemark = try descriptors.limitTransfers(of: &settings)
    let clientRemark = descriptors.limitClients(of: &settings)

    try checkPlaces(of: settings)
    let dataDirectory = try DataDirectory(taking: settings)
    // Owned until the process ends: one coordinator a data directory.
    defer { dataDirectory.leave() }
    if settings.isStoreBudgetAutomatic {
      settings.setStoreBudget(
        ofAvailable: try StoreBudget.availableByteCount(
          for: settings.storeDirectory, in: settings.storePlace))
    }
    let journal = try Journal(directory: settings.journalDirectory)
    let listener = try ControlSocket.listen(at: settings.socketPath)
    let executable =
      settings.workerExecutable ?? "\(ThisProcess.executableDirectory ?? ".")/imgworker"

    let serviceManager = ServiceManager(environment: ThisProcess.environment)
    let log = Log(place: place(of: settings))
    let writablePaths = WritablePaths(
      dataDirectory: settings.dataDirectory, cacheDirectory: settings.cacheDirectory,
      socketPath: settings.socketPath, storePlace: settings.storePlace,
      homeDirectory: Settings.homeDirectory(in: ThisProcess.environment),
      runtimeDirectory: Settings.runtimeDirectory(in: ThisProcess.environment))
    // Before the first thread and the first client.
    let confinement = try sandbox.lock(
      .coordinator(
        writablePaths: writablePaths.all, socketPaths: writablePaths.socketPaths),
      isRequired: settings.requiresSandbox)
    let coordinator = try Coordinator(
      settings: settings, workerExecutable: executable, signals: signals, listener: listener,
      dataDirectory: dataDirectory, journal: journal, serviceManager: serviceManager,
      descriptors: descriptors, sandbox: confinement, log: log)
    log.note(
      "imgctl \(Build.version), process \(ThisProcess.processID): listening on \(settings.socketPath), data in "
        + "\(settings.dataDirectory), workers: \(settings.limits.workers), sandbox: \(confinement)")
    // A command that starts it says so if the environment names no proxy.
    let changes = given.changes().filter { $0 != "--proxy none" }
    log.note("settings: \(changes.isEmpty ? "the defaults" : changes.joined(separator: ", "))")
    let remarks = [transferRemark, clientRemark].compactMap(\.self)
    for remark in settings.remarks + remarks + dataDirectory.remarks + writablePaths.remarks {
      log.note(remark)
    }
    readiness.sendReady()
    serviceManager.notify(.ready, status: "listening on \(settings.socketPath)")
    return try coordinator.run()
  }
}

/// Tells the process that started this coordinator that it listens, or why it cannot: a command that
/// waits at a connection, or a person who reads standard error.
final class ReadinessNotification {
  /// `nil` when no process waits, and after the one message.
  private var connection: OwnedDescriptor?

  init(environment: [String: String]) {
    guard let descriptor = environment[ReadinessMessage.variable].flatMap({ CInt($0) }),
      descriptor > 2
    else { return }
    connection = OwnedDescriptor(adopting: descriptor)
  }

  func sendReady() {
    send(ReadinessMessage.ready)
  }

  func sendFailure(_ reason: String) {
    // Standard error may be closed and the waiting process gone. No other place would be read.
    try? FileIO.writeAll(2, "imgcoordinator: \(reason.printable)\n")
    send(reason)
  }

  private func send(_ message: String) {
    guard let connection = connection.take() else { return }
    _ = try? UnixSocket.send(connection.rawValue, ArraySlice(message.utf8))
  }
}

/// Why a coordinator cannot start, in a sentence.
struct StartError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}

/// The directories of journal and store, which may be one. One coordinator owns each at a time: the process
/// that holds this object. The ownership ends with the object, and so no later than with the process.
///
/// A person may remove a directory, as that of any cache, while a coordinator runs, so it is made again.
/// The rules of the sandbox allow that, see `WritablePaths`.
final class DataDirectory: Sendable {
  /// What a removal ends.
  private struct Held: ~Copyable {
    var lock: OwnedDescriptor
    /// `nil` if both directories are one.
    var cacheLock: OwnedDescriptor?
    var storePlace: FileStatus
  }

  private let settings: Settings
  private let held: Mutex<Held>
  /// What the log should say of what an earlier release has left.
  let remarks: [String]

  /// Creates the directories and that of the store if need be, and takes them. Moves the journal and the
  /// store of an earlier release.
  ///
  /// - Parameter settings: their directories, and where the coordinator will listen, which the locks name
  ///   to others.
  init(taking settings: Settings) throws(DataDirectoryError) {
    self.settings = settings
    let last = FileLock.lastHolder(path: settings.lockPath)
    let lock = try Self.lock(settings.dataDirectory, settings.socketPath)
    let cacheLock = try Self.leaving(lock) { () throws(DataDirectoryError) in
      try Self.lockCache(of: settings)
    }
    let storePlace = try Self.leaving(lock) { () throws(DataDirectoryError) in
      try Self.makePlace(of: settings)
    }
    var remarks: [String] = []
    if let last {
      remarks.append(
        "the last coordinator, process \(last.processID), did not end in order: it was killed, or the machine "
          + "stopped")
    }
    if let directory = LastCache.otherDirectory(than: settings) {
      remarks.append(
        "the store of the last coordinator is in \(directory), that of this one in \(settings.cacheDirectory)"
      )
    }
    LastCache.note(settings)
    if settings.cacheDirectory != settings.dataDirectory {
      let path = settings.dataDirectory
      let remark = try rethrowing(
        try EarlierJournal.move(from: settings.cacheDirectory, to: settings.journalDirectory)
      ) { (error: SystemError) in DataDirectoryError.unusable(path, error) }
      if let remark { remarks.append(remark) }
    }
    if let remark = EarlierStore.move(to: settings.storeDirectory) { remarks.append(remark) }
    held = Mutex(Held(lock: lock, cacheLock: cacheLock, storePlace: storePlace))
    self.remarks = remarks
  }

  var path: String { settings.dataDirectory }

  /// The coordinator ends in order, which the next one sees.
  func leave() {
    held.withLock { FileLock.removeNote(of: $0.lock) }
  }

  /// Makes again and takes what was removed: the directories, their locks, the directory of the store and the
  /// log. Costs a few system calls if nothing was.
  ///
  /// - Returns: a sentence for the log; `nil` if nothing was removed.
  /// - Throws: if that is not possible, or another coordinator has taken a directory.
  func restore() throws(DataDirectoryError) -> String? {
    try held.withLock { held throws(DataDirectoryError) in
      var removed: [String] = []
      if !FileLock.isHeld(by: held.lock, at: settings.lockPath) {
        held.lock = try Self.lock(path, settings.socketPath)
        removed.append("the data directory \(path)")
      }
      if try restoreCache(&held) {
        removed.append("the cache directory \(settings.cacheDirectory)")
      }
      // A line in a file without a name would reach no reader.
      try? FileIO.renewLog(at: settings.logPath)
      guard !removed.isEmpty else { return nil }
      return
        "\(removed.joined(separator: " and ")), or a part of it, had been removed; it is there again"
    }
  }

  private func restoreCache(_ held: inout Held) throws(DataDirectoryError) -> Bool {
    var isRestored = false
    if let lock = held.cacheLock.take() {
      if FileLock.isHeld(by: lock, at: Settings.lockPath(in: settings.cacheDirectory)) {
        held.cacheLock = consume lock
      } else {
        held.cacheLock = try Self.lockCache(of: settings)
        isRestored = true
      }
    }
    let place = try? FileStatus(following: settings.storePlace)
    guard place?.isSameFile(as: held.storePlace) != true else { return isRestored }
    held.storePlace = try Self.makePlace(of: settings)
    return true
  }

  /// Removes the note of a lock if something else fails: a start that fails is no end out of order.
  private static func leaving<Result: ~Copyable>(
    _ lock: borrowing OwnedDescriptor, ifFails body: () throws(DataDirectoryError) -> Result
  ) throws(DataDirectoryError) -> Result {
    do throws(DataDirectoryError) {
      return try body()
    } catch {
      FileLock.removeNote(of: lock)
      throw error
    }
  }

  private static func lockCache(
    of settings: Settings
  ) throws(DataDirectoryError) -> OwnedDescriptor? {
    guard settings.cacheDirectory != settings.dataDirectory else { return nil }
    return try lock(settings.cacheDirectory, settings.socketPath, isCache: true)
  }

  private static func lock(
    _ path: String, _ socketPath: String, isCache: Bool = false
  ) throws(DataDirectoryError) -> OwnedDescriptor {
    let lockPath = Settings.lockPath(in: path)
    do throws(SystemError) {
      try Directory.createPrivate(path)
      if let lock = try FileLock.acquire(path: lockPath, note: socketPath) { return lock }
    } catch {
      throw .unusable(path, error)
    }
    throw .taken(path, isCache: isCache, by: FileLock.holder(path: lockPath))
  }

  private static func makePlace(of settings: Settings) throws(DataDirectoryError) -> FileStatus {
    do throws(SystemError) {
      try Directory.create(settings.storePlace, mode: 0o700)
      return try FileStatus(following: settings.storePlace)
    } catch {
      throw .unusable(settings.cacheDirectory, error)
    }
  }
}

/// Why a coordinator cannot own a data directory.
enum DataDirectoryError: Error, CustomStringConvertible {
  case unusable(_ path: String, SystemError)
  /// Another coordinator owns it: its process, if that is known.
  ///
  /// - isCache: whether the directory is that of the cache alone.
  case taken(_ path: String, isCache: Bool, by: FileLock.Holder?)

  /// Whether it can be owned once the disk has space.
  var isLackOfSpace: Bool {
    if case .unusable(_, let error) = self { error.meansFullDisk } else { false }
  }

  var description: String {
    switch self {
    case .unusable(let path, let error):
      return "the data directory \(path) cannot be used: \(error.sentence); name another --data-dir"
    case .taken(let path, let isCache, let holder):
      let process = holder.map { " (process \($0.processID))" } ?? ""
      let socket = holder.map { "--socket \($0.note.shellWord)" } ?? "its --socket"
      let (place, flag) = isCache ? ("cache", "--cache-dir") : ("data", "--data-dir")
      // The flags of this start lead to no coordinator, or to another one.
      return "\(ReadinessMessage.taken)\(process) owns the \(place) directory \(path); ask it by "
        + "\(socket), end it with imgctl \(socket) stop, or name another \(flag)"
    }
  }
}

/// What the limit of open descriptors permits. Each process may have so many: the coordinator needs
/// them for clients and workers, a worker for transfers.
struct DescriptorLimits {
  /// The limit of each process.
  private let maximum: Int

  /// Descriptors of the coordinator for everything but clients and workers: files, pictures that pass
  /// through, and connections that are refused.
  private static let reservedByCoordinator = 256
  /// A worker's connection, process, heartbeat page and error stream; and for each of its decoders
  /// the process and the error stream, or the connection while it waits for its start.
  private static let perWorker = 4 + 2 * DecoderChildren.maximumPerWorker
  /// Descriptors of a worker for everything but transfers: store, decoders, spool files.
  private static let reservedByWorker = 256
  /// A look-up has two for its thread and one for the name server, and a connection one, or two while
  /// two addresses are tried.
  private static let perTransfer = 3
  private static let remedy = "raise the hard limit (ulimit -H -n, LimitNOFILE=)"

  /// - Parameter maximum: the limit of a process.
  init(maximum: Int) {
    self.maximum = maximum
  }

  /// Raises the soft limit of this process, and with it those of the workers, to the hard one.
  static func raised() -> DescriptorLimits {
    DescriptorLimits(maximum: ThisProcess.raiseDescriptorLimit())
  }

  /// What a worker needs in which all transfers run, with the slow ones that are not counted. These are
  /// connected, so each needs its connection alone.
  private static func needed(forTransfers count: Int) -> Int {
    var limits = Limits()
    limits.transfers = count
    return reservedByWorker + perTransfer * count + limits.slowTransfers
  }

  private var maximumTransferCount: Int {
    let room = maximum - Self.reservedByWorker
    let few = room / (Self.perTransfer + Limits.slowTransfersPerTransfer)
    let many = (room - Limits.maximumSlowTransfers) / Self.perTransfer
    return max(few, many, 1)
  }

  /// Why so many transfers cannot run at once; `nil` if they can.
  func reasonForRefusing(transfers: Int) -> String? {
    guard transfers > maximumTransferCount else { return nil }
    let needed = Self.needed(forTransfers: transfers)
    return
      "\(transfers) transfers need \(needed) open files, but a process may have \(maximum) here; "
      + "\(Self.remedy), or use at most \(maximumTransferCount) transfers"
  }

  /// As many of some transfers as can run at once.
  func permitted(transfers: Int) -> Int { min(transfers, maximumTransferCount) }

  /// Lets no more transfers run than workers can have descriptors for.
  ///
  /// - Throws: for more than the default, because they were asked for, except "unlimited".
  /// - Returns: a remark for the log; `nil` when all transfers fit.
  func limitTransfers(of settings: inout Settings) throws(StartError) -> String? {
    guard let reason = reasonForRefusing(transfers: settings.limits.transfers) else { return nil }
    let isAsked = settings.limits.transfers > Limits().transfers
    guard !isAsked || settings.limits.transfers == LimitChange.unlimitedTransfers else {
      throw StartError("--transfers: \(reason)")
    }
    settings.limits.transfers = permitted(transfers: settings.limits.transfers)
    return reason
  }

  /// Lets no more clients connect than this process can have descriptors for.
  ///
  /// - Returns: a remark for the log; `nil` when all clients fit.
  func limitClients(of settings: inout Settings) -> String? {
    let reserved = Self.reservedByCoordinator + Self.perWorker * settings.limits.workers
    let room = max(maximum - reserved, 1)
    let wanted = settings.limits.clients
    guard wanted > room else { return nil }
    settings.limits.clients = room
    return "\(room) clients may connect, not \(wanted): this process may open \(maximum) files "
      + "and needs \(reserved) of them itself; \(Self.remedy)"
  }
}
