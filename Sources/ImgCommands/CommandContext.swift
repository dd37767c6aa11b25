import Glibc
package import ImgClient
package import ImgModel
package import ImgSettings
import ImgSystem

/// The environment of a command: its settings, its output, and access to the coordinator and the
/// store.
package struct CommandContext {
  package private(set) var settings: Settings
  /// The stream for results.
  package let output: Output
  let messages: Output
  private let isQuiet: Bool
  /// Whether errors are JSON objects, see ``ErrorReport``.
  private let isJSON: Bool
  /// Those of the command line, unless ``advisingOriginal()`` names others.
  private(set) var places: TypedPlaces

  /// - Parameters:
  ///   - isQuiet: whether notes are omitted.
  ///   - places: those that advised commands carry.
  package init(
    settings: Settings, output: Output, messages: Output, isQuiet: Bool = false,
    isJSON: Bool = false, places: TypedPlaces = .none
  ) {
    self.isJSON = isJSON
    self.places = places
    self.settings = settings.resolved(in: ThisProcess.currentDirectory ?? "/").located
    self.output = output
    self.messages = messages
    self.isQuiet = isQuiet
  }

  /// Prints a note for the user that is neither a result nor an error, such as progress; nothing
  /// with `--quiet`. If the reader closes standard error, the command continues.
  package func note(_ text: String) {
    if let text = completedNote(text) { try? messages.write(text) }
  }

  /// The same for a text that has the places already.
  func noteCompleted(_ text: String) {
    if !isQuiet { try? messages.write(text.withoutPasswords.printableLines) }
  }

  /// Prints with `--quiet` alone what only the user can end. Otherwise notes tell it.
  func noteIfQuiet(_ text: String) {
    if isQuiet { try? messages.write(completed(text).withoutPasswords.printableLines) }
  }

  /// What ``note(_:)`` prints of a text; `nil` if it prints nothing.
  func completedNote(_ text: String) -> String? {
    isQuiet ? nil : completed(text).withoutPasswords.printableLines
  }

  /// A text for the user in which the commands that it advises carry the places of the command line.
  func completed(_ text: String) -> String { places.completed(text) }

  /// The same for what a ``RedrawnLine`` returns: its control sequences are meant for the terminal.
  func redraw(_ text: String) {
    if !isQuiet { try? messages.write(text.withoutPasswords) }
  }

  /// Prints why something failed, in addition to a result that says so. Errors that end the command
  /// are thrown instead.
  ///
  /// - Parameter error: a sentence without a full stop.
  package func report(error: String) {
    try? messages.write("imgctl: \(completed(error).withoutPasswords.printableLines)\n")
  }

  /// Prints an error that has no result and does not end the command.
  func report(_ error: any Error) {
    if let report = ErrorReport(error) { try? messages.write(line(of: report)) }
  }

  /// - Returns: with a line feed.
  func line(of report: ErrorReport) -> String {
    report.line(isJSON: isJSON, places: places)
  }

  func noteAbsentStore() {
    let others = store.siblings.map(\.printable)
    note(
      others.isEmpty
        ? "no store in \(settings.cacheDirectory) yet\n"
        : "no store named \(settings.storeName) in \(settings.cacheDirectory); there is: "
          + "\(others.joined(separator: ", "))\n")
  }

  /// Writes a value for programs, or a sentence for people.
  func answer(_ value: some Encodable, isJSON: Bool, orSay sentence: String) throws {
    if isJSON { try output.write(json: value) } else { note(sentence + "\n") }
  }

  package var now: WallTime { .now }

  /// The running coordinator.
  ///
  /// - Parameter patience: how long one may own the data directory that has left its socket.
  package func runningCoordinator(patience: Duration = .seconds(1)) throws -> sending Client {
    do throws(ClientError) {
      let client = try Client(socketPath: settings.socketPath)
      try Self.check(client, settings)
      return client
    } catch .unreachable(let socketPath, let reason) {
      guard let process = try coordinatorProcess(),
        try !process.hasEnded(within: patience)
      else { throw noneRuns(at: socketPath, reason) }
      throw ClientError.notListening(
        socketPath: socketPath, dataDirectory: settings.dataDirectory,
        processID: process.processID, reason: reason)
    }
  }

  private func noneRuns(at socketPath: String, _ reason: String) -> ClientError {
    if let original = LastCache.originalOfCopy(settings) {
      return .copy(dataDirectory: settings.dataDirectory, original: original)
    }
    // The place may be mistyped. That of a socket says more.
    if settings.isNamed(.dataDirectory), !settings.isNamed(.socket), !settings.hasDataDirectory,
      !hasJournal
    {
      return .absent(reason: absence)
    }
    return settings.startsCoordinator
      ? .unreachable(socketPath: socketPath, reason: reason)
      : .notAutostarted(socketPath: socketPath, reason: reason)
  }

  /// The running coordinator; `nil` if none runs.
  func coordinatorIfRunning() throws -> sending Client? {
    do {
      return try runningCoordinator()
    } catch let error as ClientError where error.meansNoneRuns {
      return nil
    }
  }

  /// The same with the data directory of the coordinator at a socket, if the socket alone is named.
  ///
  /// - Throws: ``UsageError`` if that coordinator is one of another user, who could name any directory.
  func withDataDirectoryOfSocket() throws -> CommandContext {
    guard settings.isNamed(.socket), !settings.isNamed(.dataDirectory),
      let client = try coordinatorIfRunning()
    else { return self }
    let status = try client.answer(.status)
    guard client.isOfOwnUser else {
      throw UsageError(
        "the coordinator at \(settings.socketPath) runs as another user; "
          + "name its data directory: --data-dir \(status.dataDirectory)")
    }
    return withPlaces(of: status)
  }

  /// These settings with those that are kept.
  ///
  /// - Parameter kept: `nil` for the content of the file.
  func completedSettings(with kept: KeptSettings? = nil) throws -> Settings {
    try settings.record.completed(settings, with: kept, environment: ThisProcess.environment)
  }

  /// Whether a variable of the environment has a value.
  func isSet(_ variable: String) -> Bool {
    ThisProcess.environment[variable].map { !$0.isEmpty } ?? false
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
    guard settings.startsCoordinator else { return try runningCoordinator() }
    let isNew = settings.isNamed(.dataDirectory) && !hasJournal
    let hint = hintOfLastCache
    let (client, started) = try startCoordinator(isAskedFor: false)
    try Self.check(client, settings)
    if let started {
      note(
        "started a coordinator in the background (process \(client.coordinatorProcessID))"
          + (isNew ? " in the new data directory \(settings.dataDirectory)" : "")
          + "\(Self.text(ofSettingsFrom: started))\(hint)\n")
    }
    return client
  }

  /// ``coordinator()`` for a command that has pictures fetched. Says if the coordinator fetches them through other
  /// proxies than the environment names.
  func fetchingCoordinator() throws -> sending Client {
    let client = try coordinator()
    if settings.startsCoordinator, client.isOfOwnUser, let asked = proxiesOfEnvironment,
      asked.texts != client.proxies.texts
    {
      let texts = [asked, client.proxies].map {
        $0.isEmpty ? "no proxy" : "the proxy \($0.texts.joined(separator: ", "))"
      }
      note(
        "imgctl: the environment names \(texts[0]); the coordinator (process "
          + "\(client.coordinatorProcessID)) has \(texts[1]); to change it: imgctl stop && imgctl start\n"
      )
    }
    return client
  }

  /// The proxies that the environment names for the next coordinator; `nil` if `--proxy` or what is kept decides.
  private var proxiesOfEnvironment: ProxySettings? {
    guard let settings = try? completedSettings(), settings.takesProxiesOfEnvironment else {
      return nil
    }
    return settings.proxies
  }

  /// Fetches lists of URLs with the settings of the coordinator, and with the worker program of this command: that
  /// of a coordinator may be one that another user has chosen.
  func listFetch() throws -> ListSubmission.Fetch {
    let cluster = try coordinator().answer(.status)
    var running = try Settings(runningAs: cluster)
    let own = try? completedSettings()
    guard let proxies = running.proxies.withCredentials(of: (own ?? settings).proxies) else {
      throw UsageError(
        "the coordinator fetches through a proxy whose password this command does not know; give it in "
          + Setting.proxy.environmentVariable)
    }
    running.proxies = proxies
    running.workerExecutable =
      settings.workerExecutable ?? "\(ThisProcess.executableDirectory ?? ".")/imgworker"
    return { [running] in try FetchedList(at: $0, under: running) }
  }

  /// Reads the local files of a job, over a connection of its own, until the reader is released.
  func fileReader(of job: JobID) throws -> JobFileReader {
    let client = try runningCoordinator()
    return try JobFileReader(of: job, over: ClusterTransport(settings, continuing: client))
  }

  /// The jobs, for a command that only reads them. It starts no coordinator, because that would
  /// start their downloads.
  func jobs() throws -> JobSource {
    do {
      return .coordinator(try runningCoordinator())
    } catch let error as ClientError where error.meansNoneRuns && readsJournal {
      try requireNoCoordinator()
      StoreCrash.prepareForJournal(self)
      let directory = settings.journalDirectory
      guard let jobs = try JobSource.journal(ifPermittedIn: directory) else { throw error }
      if case .nothing = jobs {
        note("\(absence)\n")
      } else {
        note("no coordinator runs; reading the journal\(hintOfLastCache)\n")
      }
      return jobs
    }
  }

  /// Says that no coordinator runs, and that a named data directory, which may be mistyped, is none.
  var absence: String {
    guard !hasJournal, let source = settings.sources[Setting.dataDirectory.option.flag] else {
      return "no coordinator runs"
    }
    let option = Setting.dataDirectory.option
    let name = source == .variable ? option.environmentVariable : option.flag
    guard settings.hasDataDirectory else {
      return
        "no coordinator runs, and no data directory is at \(settings.dataDirectory); check \(name)"
    }
    return "no coordinator runs, and \(settings.dataDirectory) has no jobs yet"
      + (settings.isOfService ? "" : "; check \(name)")
  }

  /// Whether the data directory has one, or this user may not see that.
  private var hasJournal: Bool {
    do throws(SystemError) {
      _ = try FileStatus(following: "\(settings.journalDirectory)/data.mdb")
      return true
    } catch {
      return ![ENOENT, ENOTDIR].contains(error.code)
    }
  }

  /// ``coordinator()`` for a command about some jobs. It starts none if the journal has none of them, because that
  /// would start the downloads of all others.
  ///
  /// - Throws: ``ClientError/refused(_:message:)`` if there is none of the jobs; ``UsageError`` if the directory is
  ///   named and no data directory.
  func coordinator(of jobs: [JobID]) throws -> sending Client {
    if let client = try coordinatorIfRunning() { return client }
    guard settings.startsCoordinator || hasJournal && readsJournal else { return try coordinator() }
    guard !settings.isNamed(.dataDirectory) || hasJournal else {
      throw UsageError("imgctl: \(absence)")
    }
    // A coordinator that is started says why the journal cannot be read.
    if let journal = try? journalJobs(), let first = jobs.first,
      !jobs.contains(where: { (try? journal.status(of: $0)) != nil })
    {
      _ = try journal.status(of: first)
    }
    return try coordinator()
  }

  /// - Throws: ``ClientError/listensElsewhere(processID:socketPath:dataDirectory:)`` if a
  ///   coordinator of this data directory listens at another socket.
  private func requireNoCoordinator() throws {
    guard let owner = try CoordinatorProcess(lockPath: settings.lockPath) else { return }
    throw ClientError.listensElsewhere(
      processID: owner.processID, socketPath: owner.socketPath,
      dataDirectory: settings.dataDirectory)
  }

  /// ``coordinator()``, if it uses the same store as ``store``.
  func coordinatorOfStore() throws -> Client {
    let client = try fetchingCoordinator()
    try client.requireStore(in: settings.storeDirectory)
    return client
  }

  /// Refuses a coordinator of another data directory than the one that the user named.
  private static func check(
    _ client: Client, _ settings: Settings
  ) throws(ClientError) {
    guard settings.isStoreNamed || settings.isNamed(.dataDirectory) else { return }
    do throws(ClientError) {
      try client.requireStore(in: settings.storeDirectory)
    } catch .otherStore(_, _, _, let status?)
      where !settings.isStoreNamed
      && DirectorySpelling.areSame(status.dataDirectory, settings.dataDirectory)
    {
      // The data directory alone is named, and the store is elsewhere.
    }
  }

  /// The same for a job in a journal. In a copy of a data directory, where no command starts a coordinator, the commands
  /// that messages advise are those for the original.
  func advisingOriginal() -> CommandContext {
    guard let original = LastCache.originalOfCopy(settings) else { return self }
    var other = self
    other.places = TypedPlaces(
      in: [Setting.dataDirectory.option.flag, original], environment: ThisProcess.environment)
    return other
  }

  /// The same with the store of a coordinator, if the user named its data directory and not its store.
  func withStore(of client: Client) throws(ClientError) -> CommandContext {
    do throws(ClientError) {
      try client.requireStore(in: settings.storeDirectory)
      return self
    } catch .otherStore(_, _, _, let status?)
      where !settings.isStoreNamed && settings.isNamed(.dataDirectory)
      && DirectorySpelling.areSame(status.dataDirectory, settings.dataDirectory)
    {
      return withPlaces(of: status)
    }
  }

  private func withPlaces(of status: ClusterStatus) -> CommandContext {
    var other = self
    other.settings.dataDirectory = status.dataDirectory
    other.settings.cacheDirectory = status.cacheDirectory
    other.settings.storeName = status.storeName
    return other
  }

  /// The store, without a coordinator.
  package var store: LocalStore {
    LocalStore(
      directory: settings.storeDirectory, budgetByteCount: settings.limits.storeBudgetByteCount
    ) { [places] sentence in
      // A closed standard error does not matter here.
      try? FileIO.writeAll(2, "imgctl: \(places.completed(sentence).printable)\n")
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

extension Settings {
  /// Whether the place of the store is named, apart from the data directory.
  fileprivate var isStoreNamed: Bool { isNamed(.cacheDirectory) || isNamed(.storeName) }
}

/// Starts of a coordinator.
extension CommandContext {
  /// The coordinator's program, in the directory of this one.
  package var coordinatorExecutable: String {
    "\(ThisProcess.executableDirectory ?? ".")/imgcoordinator"
  }

  /// Starts a coordinator with these settings, and those that are kept, if none answers.
  ///
  /// - Parameters:
  ///   - isFresh: whether what is kept does not count.
  ///   - isAskedFor: whether the user has asked for the start, so that one in a copy is meant.
  /// - Returns: the settings of a coordinator that was started.
  package func startCoordinator(isFresh: Bool = false, isAskedFor: Bool = true) throws(ClientError)
    -> sending (
      client: Client, started: Settings?
    )
  {
    try CoordinatorLauncher(executable: coordinatorExecutable, places: settings) {
      [settings] () throws(ClientError) in
      if !isAskedFor { try settings.requireOriginal() }
      return try settings.record.settingsOfStart(
        settings, with: isFresh ? KeptSettings.none : nil, environment: ThisProcess.environment)
    }.connect()
  }

  /// Replaces this process by a coordinator with these settings, and keeps them.
  ///
  /// - Parameter isFresh: whether what is kept does not count, and is forgotten.
  func becomeCoordinator(isFresh: Bool) throws -> Never {
    let settings = try settings.record.settingsOfStart(
      settings, with: isFresh ? KeptSettings.none : nil, environment: ThisProcess.environment)
    // The coordinator refuses to start if another one owns the data directory.
    if try CoordinatorProcess(lockPath: settings.lockPath) == nil {
      try keep(isFresh: isFresh, in: settings.record)
    }
    for (name, value) in settings.environment { ThisProcess.setVariable(name, to: value) }
    try ThisProcess.replace(with: coordinatorExecutable, arguments: settings.arguments)
  }

  /// Keeps the settings of the command line and the environment for later starts.
  ///
  /// - Parameter isFresh: whether what was kept is forgotten.
  func keep(isFresh: Bool, in record: SettingsRecord) throws {
    let given = KeptSettings(settings, from: [.flag, .variable])
    if given.isEmpty, !isFresh { return }
    try record.change(isFresh: isFresh) { $0.merge(given) }
  }

  /// Says that settings of a coordinator that was started differ from the defaults; empty if none does.
  static func text(ofSettingsFrom started: Settings) -> String {
    let parts = [
      (Settings.Source.kept, "the kept settings"),
      (.variable, "the settings of the environment"),
    ].compactMap { source, name -> String? in
      let changes = started.changes(from: source)
      return changes.isEmpty ? nil : "\(name): \(changes.joined(separator: ", "))"
    }
    return parts.isEmpty ? "" : " with \(parts.joined(separator: "; and with "))"
  }

  /// The signatures that a gateway with the same key file requires.
  func signatures(of arguments: ArgumentReader) throws(UsageError) -> RequestSignatures {
    let settings = try GatewaySettings(signingBy: arguments, environment: ThisProcess.environment)
    return try RequestSignatures(settings) { note("\($0)\n") }
  }

  /// Replaces this process by a gateway.
  func becomeGateway(_ arguments: [String]) throws(SystemError) -> Never {
    try ThisProcess.replace(
      with: "\(ThisProcess.executableDirectory ?? ".")/imggateway", arguments: arguments)
  }

  /// The number of workers that `auto` means.
  var coreCount: Int { ThisProcess.coreCount }

  /// The given settings that a running coordinator does not have.
  ///
  /// - Parameter isFresh: whether the other settings should have their defaults.
  func differences(
    from cluster: ClusterStatus, isFresh: Bool
  ) throws -> [Setting.Difference] {
    let others = Set(
      Setting.keepable.filter { isFresh && !$0.dependsOnStart }.map(\.option.flag))
    let running = try Settings(runningAs: cluster)
    let proxy = isFresh || proxiesOfEnvironment == nil ? nil : Setting.proxy.option.flag
    return Setting.differences(
      between: settings.spelled(as: running), and: running, coreCount: coreCount
    ) {
      settings.isGiven($0) || others.contains($0.option.flag) || $0.option.flag == proxy
    }
  }
}
