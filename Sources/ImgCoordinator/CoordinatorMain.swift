import Glibc
import ImgModel
import ImgSandbox
import ImgSettings
import ImgStore
import ImgSystem
import ImgTransport

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
    guard WritablePlace.around(settings.dataDirectory) != nil else {
      throw StartError("--data-dir: \(settings.dataDirectory) is the root of all files")
    }
    do throws(SystemError) {
      try Directory.requireCreatable(UnixSocket.directory(of: settings.socketPath))
    } catch {
      throw StartError("the control socket \(settings.socketPath) cannot be opened: \(error)")
    }
    for directory in settings.allowedDirectories {
      do throws(SystemError) {
        _ = try OpenDirectory(directory)
      } catch {
        throw StartError("--allow-directory: \(directory) cannot be opened: \(error)")
      }
    }
    guard let file = settings.authorityFile else { return }
    do throws(SystemError) {
      _ = try FileIO.contents(of: file, upTo: 1 << 24)
    } catch {
      throw StartError("--ca-file: \(file) cannot be read: \(error)")
    }
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
    let dataDirectory = try DataDirectory(
      taking: settings.dataDirectory, socketPath: settings.socketPath)
    // Owned until the process ends: one coordinator a data directory.
    defer { withExtendedLifetime(dataDirectory) {} }
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
    let log = Log()
    let writablePaths = WritablePaths(
      dataDirectory: settings.dataDirectory, socketPath: settings.socketPath,
      storePlace: settings.storePlace)
    // Before the first thread and the first client.
    let confinement = try sandbox.lock(
      .coordinator(writablePaths: writablePaths.all),
      isRequired: settings.requiresSandbox)
    let coordinator = try Coordinator(
      settings: settings, workerExecutable: executable, signals: signals, listener: listener,
      dataDirectory: dataDirectory, journal: journal, serviceManager: serviceManager,
      descriptors: descriptors, sandbox: confinement, log: log)
    log.note("listening on \(settings.socketPath), data in \(settings.dataDirectory)")
    let remarks = [
      settings.remark, transferRemark, clientRemark, writablePaths.remark, dataDirectory.remark,
    ]
    for remark in remarks.compactMap(\.self) { log.note(remark) }
    readiness.sendReady()
    serviceManager.notify(.ready, status: "listening on \(settings.socketPath)")
    return try coordinator.run()
  }
}
