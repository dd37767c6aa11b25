package import ImgClient
package import ImgModel
package import ImgSettings
import ImgSystem

/// The environment of a command: its settings, its output, and access to the coordinator and the
/// store.
package struct CommandContext {
  package let settings: Settings
  /// The stream for results.
  package let output: Output
  private let messages: Output
  private let isQuiet: Bool
  /// Whether errors are JSON objects, see ``ErrorReport``.
  private let isJSON: Bool

  /// - Parameter isQuiet: whether notes are omitted.
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

  /// Prints a note for the user that is neither a result nor an error, such as progress; nothing
  /// with `--quiet`. If the reader closes standard error, as in `2>&1 | head -1`, the command
  /// continues.
  package func note(_ text: String) {
    if !isQuiet { try? messages.write(text.withoutPasswords.printableLines) }
  }

  /// The same for what a ``RedrawnLine`` returns: its control sequences are meant for the terminal.
  func redraw(_ text: String) {
    if !isQuiet { try? messages.write(text.withoutPasswords) }
  }

  /// Prints why something failed, in addition to a result that says so. Errors that end the command
  /// are thrown instead.
  ///
  /// - Parameter error: a sentence without a full stop.
  package func report(error: String) {
    try? messages.write("imgctl: \(error.withoutPasswords.printableLines)\n")
  }

  /// Prints an error that has no result and does not end the command.
  func report(_ error: any Error) {
    if let report = ErrorReport(error) { try? messages.write(report.line(isJSON: isJSON)) }
  }

  func noteAbsentStore() {
    note("no store in \(settings.cacheDirectory) yet\n")
  }

  /// Prints the result of a change to a job: its status as JSON, or a sentence.
  func show(
    _ status: ImageJob, isJSON: Bool, orSay sentence: String
  ) throws -> ExitCode {
    try answer(status.withoutCookies, isJSON: isJSON, orSay: sentence)
    return .success
  }

  /// Makes one change to several jobs. One that the coordinator refuses keeps no other from it.
  func change(
    _ jobs: [JobID], _ change: ImageJobChange, isJSON: Bool, orSay sentence: (ImageJob) -> String
  ) throws -> ExitCode {
    let client = try coordinator()
    var code = ExitCode.success
    for job in jobs {
      do {
        let status = try client.answer(.change(job, change))
        _ = try show(status, isJSON: isJSON, orSay: sentence(status))
      } catch ClientError.refused(let reason, let message) where !reason.meansNoCoordinator {
        let refusal = ClientError.refused(reason, message: message)
        guard jobs.count > 1 else { throw refusal }
        report(refusal)
        code = .wrongUse
      }
    }
    return code
  }

  /// Writes a value for programs, or a sentence for people.
  func answer(_ value: some Encodable, isJSON: Bool, orSay sentence: String) throws {
    if isJSON { try output.write(json: value) } else { note(sentence + "\n") }
  }

  package var now: WallTime { .now }

  /// The running coordinator.
  package func runningCoordinator() throws -> sending Client {
    do throws(ClientError) {
      let client = try Client(socketPath: settings.socketPath)
      try Self.check(client, settings)
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

  /// The process that owns the data directory and listens at the socket, also if the socket was
  /// removed; `nil` for one that listens elsewhere.
  func coordinatorProcess() throws(SystemError) -> CoordinatorProcess? {
    guard let process = try CoordinatorProcess(lockPath: settings.lockPath),
      process.socketPath == settings.socketPath
    else { return nil }
    return process
  }

  /// The running coordinator. If commands may start one, a new one that ends when it is idle.
  package func coordinator() throws -> sending Client {
    guard settings.startsCoordinator else {
      do {
        return try runningCoordinator()
      } catch ClientError.unreachable(let socketPath, let reason) {
        throw ClientError.notAutostarted(socketPath: socketPath, reason: reason)
      }
    }
    let (client, wasStarted) = try startCoordinator()
    try Self.check(client, settings)
    if wasStarted {
      note(
        "started a coordinator in the background (process \(client.coordinatorProcessID))\n")
    }
    return client
  }

  /// Fetches lists of URLs with the settings of the coordinator, and with the worker program of this command: that
  /// of a coordinator may be one that another user has chosen.
  func listFetch() throws -> ListSubmission.Fetch {
    let cluster = try coordinator().answer(.status)
    var running = try Settings(runningAs: cluster)
    guard let proxies = running.proxies.withCredentials(of: settings.proxies) else {
      throw UsageError(
        "the coordinator fetches through a proxy whose password this command does not know; give it in "
          + Setting.proxy.environmentVariable)
    }
    running.proxies = proxies
    running.workerExecutable =
      settings.workerExecutable ?? "\(ThisProcess.executableDirectory ?? ".")/imgworker"
    return { [running] in try FetchedList(at: $0, under: running) }
  }

  /// The jobs, for a command that only reads them. It starts no coordinator, because that would
  /// start their downloads.
  func jobs() throws -> JobSource {
    do {
      return .coordinator(try runningCoordinator())
    } catch ClientError.unreachable(let socketPath, let reason) {
      // The journal of a service is elsewhere and belongs to another user.
      guard settings.startsCoordinator else {
        throw ClientError.notAutostarted(socketPath: socketPath, reason: reason)
      }
      try requireNoCoordinator()
      prepareForJournal()
      let directory = settings.journalDirectory
      guard let jobs = try JobSource.journal(ifPermittedIn: directory) else {
        throw ClientError.unreachable(socketPath: socketPath, reason: reason)
      }
      note("no coordinator runs; reading the journal\n")
      return jobs
    }
  }

  /// - Throws: ``ClientError/listensElsewhere(processID:socketPath:dataDirectory:)`` if a
  ///   coordinator of this data directory listens at another socket.
  private func requireNoCoordinator() throws {
    guard let owner = try CoordinatorProcess(lockPath: settings.lockPath) else { return }
    throw ClientError.listensElsewhere(
      processID: owner.processID, socketPath: owner.socketPath,
      dataDirectory: settings.dataDirectory)
  }

  /// The jobs in the journal, if no coordinator runs.
  func journalJobs() throws -> JobSource {
    prepareForJournal()
    return try JobSource(journalIn: settings.journalDirectory)
  }

  private func prepareForJournal() {
    StoreCrash.prepareForJournal(settings: settings, isJSON: isJSON)
  }

  /// ``coordinator()``, if it uses the same store as ``store``.
  func coordinatorOfStore() throws -> Client {
    let client = try coordinator()
    try client.requireStore(in: settings.storeDirectory)
    return client
  }

  /// Refuses a coordinator of another data directory than the one that the user named.
  private static func check(
    _ client: Client, _ settings: Settings
  ) throws(ClientError) {
    let standard = Settings.atDefaultPlaces(
      environment: ThisProcess.environment, userID: ThisProcess.userID)
    guard
      settings.dataDirectory != standard.dataDirectory
        || settings.storeDirectory != standard.storeDirectory
    else { return }
    try client.requireStore(in: settings.storeDirectory)
  }

  /// The store, without a coordinator.
  package var store: LocalStore {
    LocalStore(
      directory: settings.storeDirectory, budgetByteCount: settings.limits.storeBudgetByteCount
    ) { sentence in
      // A closed standard error does not matter here.
      try? FileIO.writeAll(2, "imgctl: \(sentence.printable)\n")
    }
  }

  /// Tells the coordinator of this store to remove expired thumbnails.
  ///
  /// - Returns: whether it does; `false` if no coordinator answers.
  func sweepsInBackground() -> Bool {
    requestIfRunning { (client) throws(ClientError) in try client.answer(.sweep) }
  }

  /// Sends a request to the coordinator of this store, if it runs.
  ///
  /// - Returns: whether it succeeded; `false` if no coordinator answers.
  @discardableResult
  func requestIfRunning(_ request: (Client) throws(ClientError) -> Void) -> Bool {
    do throws(ClientError) {
      let client = try Client(socketPath: settings.socketPath)
      try client.requireStore(in: settings.storeDirectory)
      try request(client)
      return true
    } catch {
      return false
    }
  }
}

/// Starts of a coordinator.
extension CommandContext {
  /// The coordinator's program, in the directory of this one.
  package var coordinatorExecutable: String {
    "\(ThisProcess.executableDirectory ?? ".")/imgcoordinator"
  }

  /// Starts a coordinator with these settings if none answers.
  package func startCoordinator() throws(ClientError)
    -> sending (
      client: Client, wasStarted: Bool
    )
  {
    try CoordinatorLauncher(
      executable: coordinatorExecutable, arguments: settings.arguments,
      environment: settings.environment, socketPath: settings.socketPath,
      dataDirectory: settings.dataDirectory, logPath: settings.logPath
    ).connect()
  }

  /// Replaces this process by a coordinator with these settings.
  func becomeCoordinator() throws(SystemError) -> Never {
    for (name, value) in settings.environment { ThisProcess.setVariable(name, to: value) }
    try ThisProcess.replace(with: coordinatorExecutable, arguments: settings.arguments)
  }

  /// Replaces this process by a gateway.
  func becomeGateway(_ arguments: [String]) throws(SystemError) -> Never {
    try ThisProcess.replace(
      with: "\(ThisProcess.executableDirectory ?? ".")/imggateway", arguments: arguments)
  }

  /// The given settings that a running coordinator does not have.
  func differences(
    givenBy arguments: ArgumentReader, from cluster: ClusterStatus
  ) throws -> [Setting.Difference] {
    Setting.differences(
      between: settings, givenBy: arguments, environment: ThisProcess.environment,
      and: try Settings(runningAs: cluster), coreCount: ThisProcess.coreCount)
  }
}

/// Handles a command that crashes while it reads a damaged store.
enum StoreCrash {
  /// Set in the environment of a command that was restarted after such a crash.
  private static let variable = "IMGCTL_STORE_CRASHED"

  /// Whether the command has crashed in the store before. A `get` then leaves the store to the
  /// coordinator, whose workers recreate it, and a `reset` does not open it.
  static var hasHappened: Bool { ThisProcess.environment[variable] != nil }

  /// - Parameters:
  ///   - arguments: the program's arguments, without its name.
  ///   - environment: the program's environment at its start.
  static func prepare(
    for handling: StoreCrashHandling, _ arguments: [String], environment: [String: String],
    settings: Settings, isJSON: Bool
  ) {
    switch handling {
    case .restart where !hasHappened:
      let changed = environment.merging([variable: "1"]) { $1 }
      CrashRegion.restart(arguments: arguments, environment: changed)
    case .restart, .report:
      prepare(
        "store_damaged",
        "the store in \(settings.storeDirectory) is damaged; imgctl cache reset removes it, and "
          + "requests make its thumbnails again", isJSON: isJSON)
    }
  }

  /// ``prepare(for:_:environment:settings:isJSON:)`` before the command reads the journal.
  static func prepareForJournal(settings: Settings, isJSON: Bool) {
    prepare(
      "journal_damaged",
      "the journal in \(settings.journalDirectory) is damaged; imgctl recover "
        + "\(settings.journalDirectory) DIR extracts the intact jobs", isJSON: isJSON)
  }

  private static func prepare(_ code: String, _ sentence: String, isJSON: Bool) {
    let report = ErrorReport(.wrongUse, code: code, "imgctl: \(sentence)")
    CrashRegion.report(report.line(isJSON: isJSON), exitStatus: report.exitCode.rawValue)
  }
}
