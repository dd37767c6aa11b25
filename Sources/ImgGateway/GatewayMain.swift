import Dispatch
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
        // Later, the gateway cannot read who owns the data directory.
        let places = given.resolved(in: ThisProcess.currentDirectory ?? "/").located
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
      let advice = "; name another address with --listen, for example --listen 127.0.0.1:8081"
      note("\(error)" + (error is HTTPServerError ? advice : ""))
      return error is UsageError ? 2 : 1
    }
  }

  private static func serve(
    _ settings: GatewaySettings, _ places: Settings, in given: consuming Confinement
  ) throws {
    ThisProcess.returnFreedBlocks(from: PreparedImages.smallMaximum)
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
    if starter == nil, !settings.isMock {
      let reason = places.autostart == nil ? "the socket is that of a service" : "--autostart is no"
      note("starts no coordinator: \(reason)")
    }
    if settings.isJSON {
      // The address is that of the page in a browser, with a slash at its end; or `unix:` and the path of a
      // socket. The schema is that of the JSON of commands.
      let report = JSONObject([
        "address": address, "pid": ThisProcess.processID, "sandbox": protections, "schema": 1,
      ])
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

/// What the gateway gives up before its first request, and the process that does what it then cannot: start
/// a coordinator.
struct Confinement: ~Copyable {
  /// What starts coordinators; `nil` if the gateway starts none.
  let starter: CoordinatorStarter?
  private let places: Settings
  private let isMock: Bool

  /// Launches the process that starts coordinators, which needs the privileges that this one gives up later.
  ///
  /// - Parameters:
  ///   - arguments: of the gateway.
  ///   - places: of the cluster; absolute.
  ///   - isMock: whether the cluster is in memory, so that the places mean nothing.
  ///   - note: takes a line for the log.
  init(
    arguments: [String], places: Settings, isMock: Bool, note: @escaping @Sendable (String) -> Void
  ) throws {
    starter =
      places.startsCoordinator && !isMock
      ? try CoordinatorStarter(
        executable: "\(ThisProcess.executableDirectory ?? ".")/imggateway", arguments: arguments,
        note: note)
      : nil
    self.places = places
    self.isMock = isMock
  }

  /// Gives up privileges, and locks this process, which has one thread. Not before it listens, because a port
  /// below 1024 needs a privilege.
  ///
  /// - Parameter address: where it listens already.
  /// - Returns: the protections in force.
  consuming func lock(listeningAt address: HTTPServer.Address) throws(SandboxError) -> SandboxReport
  {
    let sandbox = try Sandbox(start: .gateway)
    if !isMock { Self.makeDirectories(of: places) }
    let manager = ServiceManager(environment: ThisProcess.environment)
    let profile = SandboxProfile.gateway(
      storePlace: places.storePlace, listeningPath: address.path,
      hasAbstractManager: manager.isAbstract)
    return try sandbox.lock(profile, isRequired: false)
  }

  /// Is the process that starts coordinators until the gateway ends. A coordinator inherits what this
  /// process gives up.
  ///
  /// - Parameter places: of the cluster; absolute.
  static func serveStarts(at places: Settings) throws {
    let sandbox = try Sandbox(start: .coordinator)
    makeDirectories(of: places)
    let paths = WritablePaths(
      dataDirectory: places.dataDirectory, cacheDirectory: places.cacheDirectory,
      socketPath: places.socketPath, storePlace: places.storePlace,
      homeDirectory: Settings.homeDirectory(in: ThisProcess.environment),
      runtimeDirectory: Settings.runtimeDirectory(in: ThisProcess.environment))
    _ = try sandbox.lock(
      .coordinator(writablePaths: paths.all, socketPaths: paths.socketPaths), isRequired: false)
    try CoordinatorStarter.serve(places)
  }

  /// A rule for a directory needs the directory. Where it cannot be made, nothing is stored.
  private static func makeDirectories(of places: Settings) {
    for directory in [places.dataDirectory, places.cacheDirectory] {
      try? Directory.createPrivate(directory)
    }
    try? Directory.create(places.storePlace, mode: 0o700)
  }
}

extension HTTPServer.Address {
  /// Of the file of a socket; `nil` for a port.
  fileprivate var path: String? {
    if case .unix(let path) = self { path } else { nil }
  }
}

/// A cluster in memory with some pictures of `mock.example`, and a job that loads them. Clients and the gallery can be
/// tried with it without a coordinator and without a network.
enum MockCluster {
  /// The URLs of the job, from `https://mock.example/0.png`.
  private static let urlCount = 100
  /// One of so many URLs has no picture.
  private static let missingInterval = 25
  private static let (width, height) = (96, 72)

  /// Returns when the job is accepted.
  static func make() -> InMemoryCluster {
    let cluster = InMemoryCluster()
    let urls = (0..<urlCount).map { "https://mock.example/\($0).png" }
    for (index, url) in urls.enumerated() where index % missingInterval != missingInterval - 1 {
      cluster.serve(url, picture(index))
    }
    let isAccepted = DispatchSemaphore(value: 0)
    Task {
      _ = try? await ImageClient(transport: cluster, memoryCache: nil).jobs.submit(urls)
      isAccepted.signal()
    }
    isAccepted.wait()
    return cluster
  }

  /// A PNG file with a colour of its own.
  private static func picture(_ index: Int) -> LoadedImage {
    let bytes = (0..<height).flatMap { row in
      (0..<width).flatMap { column in
        [UInt8(truncatingIfNeeded: 67 * index), UInt8(2 * column), UInt8(3 * row), .max]
      }
    }
    guard let pixels = ImagePixels(width: width, height: height, bytes: bytes) else {
      preconditionFailure("each pixel has four bytes")
    }
    let file = pixels.pngFile
    return LoadedImage(
      bytes: file, format: .png, width: width, height: height,
      source: SourcePicture(format: .png, width: width, height: height, byteCount: file.count),
      origin: .network)
  }
}

extension ImageQueries {
  /// What the settings permit.
  ///
  /// - Parameter note: takes a line for the log.
  init(_ settings: GatewaySettings, note: (String) -> Void) throws(UsageError) {
    self.init(
      signatures: try RequestSignatures(settings, note: note),
      presets: try Self.read(GatewayOptions.preset) { () throws(InvalidValue) in
        try ImgproxyPresets(parsing: settings.presets)
      },
      origins: try Self.read(GatewayOptions.allowOrigin) { () throws(InvalidValue) in
        try OriginList(parsing: settings.allowedOrigins)
      },
      sides: SideLimit(settings.maximumSide),
      kept: ImageRequest.Kept(rawValue: settings.keep.rawValue) ?? .auto)
  }

  private static func read<Value>(
    _ option: OptionDescription, _ body: () throws(InvalidValue) -> Value
  ) throws(UsageError) -> Value {
    try rethrowing(try body()) { (error: InvalidValue) in UsageError(option.flag, error) }
  }
}
