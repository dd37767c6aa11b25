package import ImgClient
package import ImgModel
package import ImgSettings
package import ImgStore
import ImgSystem

/// What a command works with: its settings, its two streams, and the ways to coordinator and store.
package struct CommandContext {
  package let settings: Settings
  /// Data.
  package let output: Output
  private let messages: Output
  private let isQuiet: Bool
  /// Whether errors are objects, see ``ErrorReport``.
  private let isJSON: Bool

  /// - Parameter isQuiet: whether notes are left out.
  package init(
    settings: Settings, output: Output, messages: Output, isQuiet: Bool = false,
    isJSON: Bool = false
  ) {
    self.isJSON = isJSON
    self.settings = settings.resolved(in: ThisProcess.currentDirectory ?? "/")
    self.output = output
    self.messages = messages
    self.isQuiet = isQuiet
  }

  /// Tells the person something that is neither data nor an error, such as progress; nothing with
  /// `--quiet`. A reader who leaves, as in `2>&1 | head -1`, ends nothing.
  package func note(_ text: String) {
    if !isQuiet { try? messages.write(text.withoutPasswords) }
  }

  /// Tells the person why something was not done, in a sentence without a full stop, beside the
  /// result that says so. An error that ends the command is thrown instead.
  package func report(error: String) {
    try? messages.write("imgctl: \(error)\n".withoutPasswords)
  }

  /// Tells of an error that has no result and does not end the command.
  func report(_ error: any Error) {
    if let report = ErrorReport(error) { try? messages.write(report.line(isJSON: isJSON)) }
  }

  func noteAbsentStore() {
    note("there is no store in \(settings.dataDirectory) yet\n")
  }

  /// Shows what became of a job that was changed: its status as JSON, or a sentence.
  func show(
    _ status: JobStatus, isJSON: Bool, orSay sentence: String
  ) throws -> ExitCode {
    if isJSON {
      try output.write(json: status)
    } else {
      note(sentence + "\n")
    }
    return .success
  }

  package var now: WallTime { WallTime(rawValue: WallClock.milliseconds()) }

  /// The running coordinator.
  package func runningCoordinator() throws -> Client {
    do throws(ClientError) {
      let client = try Client(socketPath: settings.socketPath)
      try check(client)
      return client
    } catch .unreachable(let socketPath, let reason) {
      guard let process = try coordinatorProcess() else {
        throw ClientError.unreachable(socketPath: socketPath, reason: reason)
      }
      throw ClientError.notListening(
        socketPath: socketPath, dataDirectory: settings.dataDirectory,
        processID: process.processID, reason: reason)
    }
  }

  /// The process that owns the data directory and listens at the socket, or did before the socket
  /// was removed. One that listens elsewhere is not the one that was asked for.
  func coordinatorProcess() throws(SystemError) -> CoordinatorProcess? {
    guard let process = try CoordinatorProcess(lockPath: settings.lockPath),
      process.socketPath == settings.socketPath
    else { return nil }
    return process
  }

  /// The running coordinator or, where commands may start one, a new one that leaves when it is not
  /// needed any more.
  package func coordinator() throws -> Client {
    guard settings.startsCoordinator else {
      do {
        return try runningCoordinator()
      } catch ClientError.unreachable(let socketPath, let reason) {
        throw ClientError.notAutostarted(socketPath: socketPath, reason: reason)
      }
    }
    let (client, wasStarted) = try startCoordinator()
    try check(client)
    if wasStarted {
      note(
        "started a coordinator in the background (process \(client.coordinatorProcessID))\n")
    }
    return client
  }

  /// Starts a coordinator with these settings when none answers.
  package func startCoordinator() throws(ClientError) -> (client: Client, wasStarted: Bool) {
    try CoordinatorLauncher(
      executable: coordinatorExecutable, arguments: settings.arguments,
      socketPath: settings.socketPath, dataDirectory: settings.dataDirectory,
      logPath: settings.logPath
    ).connect()
  }

  /// The jobs, for a command that only looks: starting a coordinator would set their downloads going.
  func jobs() throws -> JobSource {
    do {
      return .coordinator(try runningCoordinator())
    } catch ClientError.unreachable(let socketPath, let reason) {
      // A service's journal is elsewhere, and another user's.
      guard settings.startsCoordinator else {
        throw ClientError.notAutostarted(socketPath: socketPath, reason: reason)
      }
      try requireNoCoordinator()
      do throws(StoreError) {
        let jobs = try journalJobs()
        note("no coordinator runs; this is what its journal says\n")
        return jobs
      } catch  where error.reason == .notPermitted {
        throw ClientError.unreachable(socketPath: socketPath, reason: reason)
      }
    }
  }

  /// - Throws: ``ClientError/listensElsewhere(processID:socketPath:dataDirectory:)`` where a coordinator
  ///   of this data directory listens at another socket.
  private func requireNoCoordinator() throws {
    guard let owner = try CoordinatorProcess(lockPath: settings.lockPath) else { return }
    throw ClientError.listensElsewhere(
      processID: owner.processID, socketPath: owner.socketPath,
      dataDirectory: settings.dataDirectory)
  }

  /// The jobs as the journal has them, where no coordinator runs.
  func journalJobs() throws(StoreError) -> JobSource {
    StoreCrash.prepareForJournal(settings: settings, isJSON: isJSON)
    return try JobSource(journalIn: settings.journalDirectory)
  }

  /// The same of ``coordinator()``, which keeps its thumbnails where ``storeReader()`` reads them.
  func coordinatorOfStore() throws -> Client {
    let client = try coordinator()
    try client.requireStore(in: settings.storeDirectory)
    return client
  }

  /// A person who names a data directory must not be answered from another.
  private func check(_ client: Client) throws(ClientError) {
    let usual = Settings.defaultDataDirectory(
      environment: ThisProcess.environment, userID: ThisProcess.userID)
    guard settings.dataDirectory != usual else { return }
    try client.requireStore(in: settings.storeDirectory)
  }

  /// The program beside this one.
  package var coordinatorExecutable: String {
    "\(ThisProcess.executableDirectory ?? ".")/imgcoordinator"
  }

  /// The store as it is read without a coordinator; `nil` when there is none yet.
  package func storeReader() throws(StoreError) -> StoreReader? {
    try StoreReader(directory: settings.storeDirectory)
  }

  /// The store for changing it; `nil` when there is none yet. Its budget stays what it was, unless
  /// it is damaged: then it begins anew, with the budget of these settings.
  package func storeWriter() throws(StoreError) -> SharedStore? {
    guard let budgetByteCount = try storeBudgetByteCount() else { return nil }
    return try SharedStore(
      directory: settings.storeDirectory, access: .readWrite(budgetByteCount: budgetByteCount)
    ) { event in
      // To standard error as every note; that nobody reads it changes nothing.
      try? FileIO.writeAll(2, "imgctl: \(event)\n")
    }
  }

  private func storeBudgetByteCount() throws(StoreError) -> Int64? {
    do throws(StoreError) {
      return try storeReader()?.summary().budgetByteCount
    } catch  where error.reason == .damaged {
      return settings.limits.storeBudgetByteCount
    }
  }

  /// Has the coordinator that keeps this store remove what has expired from it.
  ///
  /// - Returns: whether it does; `false` when there is none, or none that can be asked.
  func sweepsInBackground() -> Bool {
    askKeeper { (client) throws(ClientError) in try client.sweep() }
  }

  /// Asks something of the coordinator that keeps this store.
  ///
  /// - Returns: whether it does it; `false` when there is none, or none that can be asked.
  @discardableResult
  func askKeeper(_ ask: (Client) throws(ClientError) -> Void) -> Bool {
    do throws(ClientError) {
      let client = try Client(socketPath: settings.socketPath)
      try client.requireStore(in: settings.storeDirectory)
      try ask(client)
      return true
    } catch {
      return false
    }
  }
}
