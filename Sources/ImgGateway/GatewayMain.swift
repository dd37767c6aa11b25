import Glibc
import ImgClient
import ImgHTTP
import ImgModel
import ImgSandbox
import ImgSettings
import ImgSystem

/// The program `imggateway`: from the command line to a server that runs.
package enum GatewayMain {
  /// The first of them asks for an end in order, the second for an end at once.
  private static let endingSignals = [SIGTERM, SIGINT, SIGHUP]
  /// How long answers that are under way may take after the first signal.
  private static let drainTime = Duration.seconds(10)

  /// - Returns: the exit status: 0 after a signal, 1 if it cannot start, 2 on wrong use.
  package static func run(arguments: [String]) -> Int32 {
    ThisProcess.ignoreBrokenPipe()
    do {
      let startsCoordinators = CoordinatorStarter.isRequested()
      let invocation = try GatewayInvocation(
        arguments: arguments, environment: ThisProcess.environment, userID: ThisProcess.userID)
      switch invocation {
      case .print(let text): try FileIO.writeAll(STDOUT_FILENO, Array(text.utf8))
      case .run(let settings, let given):
        let places = given.resolved(in: ThisProcess.currentDirectory ?? "/")
        if startsCoordinators {
          try Confinement.serveStarts(at: places)
        } else {
          let confinement = try Confinement(
            arguments: arguments, places: places, isMock: settings.isMock, note: note)
          try serve(settings, places, in: confinement)
        }
      }
      return 0
    } catch {
      note("\(error)")
      if error is HTTPServerError {
        note("--listen chooses where it listens, for example --listen 127.0.0.1:8081")
      }
      return error is UsageError ? 2 : 1
    }
  }

  private static func serve(
    _ settings: GatewaySettings, _ places: Settings, in given: consuming Confinement
  ) throws {
    // Before any thread starts: every thread has the signals blocked.
    let signals = try SignalSource(endingSignals)
    let starter = given.starter
    var confinement: Confinement? = consume given
    let descriptorCount = ThisProcess.raiseDescriptorLimit()
    if !settings.unreadVariables.isEmpty {
      note(
        "not read: \(settings.unreadVariables.joined(separator: ", ")); the guide \"Moving from imgproxy and "
          + "weserv\" names the settings in their place")
    }
    // Before it listens, so that what is wrong with keys, presets and origins is told first.
    let queries = try ImageQueries(settings, note: note)
    let configuration = try configuration(settings, descriptorCount: descriptorCount)
    var gateway: Gateway?
    var protections = SandboxReport()
    let server = try HTTPServer(configuration) { address in
      try settings.requireSafety(isLocal: address.isLocal)
      // It listens, and has one thread.
      if let confinement = confinement.take() {
        protections = try confinement.lock(listeningAt: address)
      }
      let cluster: any PictureLists.Transport =
        settings.isMock ? MockCluster.make() : try ClusterTransport(places, starter: starter)
      let made = Gateway(
        cluster, settings: settings, queries: queries, isLocal: address.isLocal, note: note)
      gateway = made
      return made
    }
    gateway?.measure(server)
    let address = server.address.printedText
    note("serving at \(address)")
    note("sandbox: \(protections)")
    if settings.isJSON {
      let report = StartReport(
        address: address, pid: ThisProcess.processID, sandbox: protections)
      try FileIO.writeAll(STDOUT_FILENO, GatewayJSON.bytes(of: report) + [UInt8(ascii: "\n")])
    }
    let manager = ServiceManager(environment: ThisProcess.environment)
    manager.notify(.ready, status: "serving at \(address)")
    let names = signals.waitBlocking().compactMap(Signal.name).joined(separator: " and ")
    note("stopping after \(names)")
    manager.notify(.stopping, status: "finishing requests")
    stop(server, signals)
  }

  private static func configuration(
    _ settings: GatewaySettings, descriptorCount: Int
  ) throws -> HTTPServer.Configuration {
    let passed = try PassedSockets.descriptors(
      in: ThisProcess.environment, process: ThisProcess.processID)
    guard passed.count <= 1 else {
      throw UsageError("LISTEN_FDS is \(passed.count): the gateway listens on one socket")
    }
    var configuration = HTTPServer.Configuration(
      listener: passed.first.map { .descriptor($0) } ?? settings.listen.listener)
    configuration.threadCount = min(
      max(ThisProcess.usableCoreCount, threadCounts.lowerBound), threadCounts.upperBound)
    configuration.limits.targetBytes = RequestTarget.maximumByteCount
    configuration.limits.headerBytes = 2 * RequestTarget.maximumByteCount
    configuration.limits.waitingRequests = settings.maximumLoads + reservedRequestCount
    // Files, the cluster and pictures that pass through need descriptors, too.
    configuration.limits.connections = max(
      1, min(settings.maximumConnections, descriptorCount - reservedDescriptorCount))
    return configuration
  }

  /// The threads that read requests: one for each core that this process may use, within this range.
  private static let threadCounts = 2...16
  /// Requests that load no picture: lists, jobs, measurements.
  private static let reservedRequestCount = 256
  private static let reservedDescriptorCount = 256

  /// Ends the process when the server has stopped, or returns at a second signal.
  private static func stop(_ server: HTTPServer, _ signals: SignalSource) {
    Task {
      await server.stop(drainingFor: drainTime)
      exit(0)
    }
    _ = signals.waitBlocking()
  }

  /// Writes a line for people, after the name of the program.
  @Sendable private static func note(_ text: String) {
    // A message that cannot be written must not stop the work, and no other place would be read.
    try? FileIO.writeAll(STDERR_FILENO, "imggateway: \(text.withoutPasswords.printable)\n")
  }
}

extension HTTPServer.Address {
  /// What a browser opens, or the path of a socket.
  fileprivate var printedText: String {
    switch self {
    case .tcp: "\(self)/"
    case .unix: "\(self)"
    }
  }
}

extension ListenAddress {
  fileprivate var listener: HTTPServer.Listener {
    switch place {
    case .internet(let host, let port): .tcp(host: host, port: port)
    case .unix(let path): .unix(path: path)
    }
  }
}
