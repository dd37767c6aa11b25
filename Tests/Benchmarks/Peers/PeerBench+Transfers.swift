import FoundationEssentials
import Glibc
import ImgClient
import ImgHTTP
import ImgSystem
import ImgWire

/// What a picture costs beside its decoding, in processor time.
extension PeerBench {
  private static let fetchedCount = 4_000

  func coordinatorFigures() throws -> [PeerFigure] {
    var report = Report()
    try bench.measureCoordinator(into: &report)
    let feeds = try report.figure(named: "coordinator: one processor feeds")
    return try costFigures(.coordinator, "a fetched picture", .atMost(0.05), \.coordinator) + [
      PeerFigure(
        .coordinator, "one processor feeds", "/s", own: feeds.values, target: .atLeast(20_000),
        command: feeds.command)
    ]
  }

  func transferFigures() throws -> [PeerFigure] {
    try costFigures(.transfers, "worker and store, a fetched picture", .atMost(0.4), \.workers)
      + oneKilobyteFigures()
  }

  private func costFigures(
    _ row: PeerRow, _ name: String, _ target: PeerFigure.Target, _ time: (ProcessorTime) -> Double
  ) throws -> [PeerFigure] {
    let list = try smallList(urlCount: bench.options.scaled(Self.fetchedCount))
    let path = try bench.imgctl.list(named: "\(row)-urls", list.urls)
    let passes = try (1...bench.options.rounds).map { round in
      try bench.note("\(row), round \(round) of \(bench.options.rounds)")
      return try bench.pass("\(row)-\(round)", list: path)
    }
    return [
      PeerFigure(
        row, name, "ms",
        own: passes.map { time($0.processorTime) / Double(list.urls.count) * 1_000 },
        target: target, command: "\(Self.submit(list.urls.count)), /proc/PID/stat")
    ]
  }

  private func oneKilobyteFigures() throws -> [PeerFigure] {
    var report = Report()
    try bench.measureTransfers(bodyCount: 1, into: &report)
    let own = try report.figure(named: "1 KB: transfers")
    let curl = try report.figure(named: "1 KB: transfers, curl")
    return [
      PeerFigure(
        .transfers, "1 KB", "/s", own: own.values, beside: "curl --parallel", curl.values,
        target: .atLeast(1), command: "\(own.command) : \(curl.command)")
    ]
  }
}

/// How a list's cost grows with its length.
extension PeerBench {
  /// One run a length: the longest takes minutes.
  func scaleFigures() throws -> [PeerFigure] {
    let directory = bench.options.workDirectory + "/tiny-pictures"
    try PhotographCuts.writeTiny(to: directory)
    let trials = try bench.options.listLineCounts.map { length in
      let list = try PictureList("tiny", directory: directory, origin: origin, urlCount: length)
      try bench.note("a list of \(list.urls.count) tiny pictures")
      return (count: list.urls.count, cost: try ScaleTrial(bench, list))
    }
    // The start of a very short list is a large part of it.
    let first = trials[min(1, trials.count - 1)]
    return trials.flatMap { count, cost in
      let command = "imgctl submit LIST (\(count) : \(first.count) URLs of tiny pictures)"
      return [
        PeerFigure(
          .scale, "list of \(count), each", "µs", own: [cost.microsecondsEach],
          beside: "list of \(first.count)", [first.cost.microsecondsEach],
          target: count > first.count ? .atMost(1.2) : nil, command: command),
        PeerFigure(
          .scale, "list of \(count), coordinator's memory", "MiB",
          own: [cost.coordinatorMiB], beside: "list of \(first.count)",
          [first.cost.coordinatorMiB], target: count > first.count ? .atMost(1.5) : nil,
          command: "\(command), private pages at their peak"),
      ]
    }
  }
}

/// One list from its submission to its end.
struct ScaleTrial {
  let microsecondsEach: Double
  /// The most memory without a file behind it.
  let coordinatorMiB: Double

  init(_ bench: Bench, _ list: PictureList) throws {
    let path = try bench.imgctl.list(named: "scale", list.urls)
    let cluster = try bench.start("scale-\(list.urls.count)")
    defer {
      try? cluster.stop()
      try? FileManager.default.removeItem(atPath: cluster.dataDirectory)
    }
    let start = ContinuousClock.now
    try cluster.run(["submit", "--no-pin", path])
    let client = try cluster.client()
    guard let job = try client.answer(.jobs()).jobs.first?.job else {
      throw BenchError("there is no job")
    }
    var peak = 0
    let status = try client.watch(job, every: .milliseconds(200)) { _ in
      let memory = ThisProcess.memoryUse(of: client.coordinatorProcessID)
      peak = max(peak, memory?.privateByteCount ?? 0)
      return true
    }
    guard status.done == list.urls.count else {
      throw BenchError("\(status.done) of \(list.urls.count) tiny pictures were done")
    }
    microsecondsEach = start.duration(to: .now) / .microseconds(1) / Double(list.urls.count)
    coordinatorMiB = Double(peak) / Double(1 << 20)
  }
}

/// Lists whose hosts are far away.
extension PeerBench {
  private static let hostCount = 250
  private static let delay = Duration.milliseconds(200)
  private static let distantCount = 4_000
  private static let connectionCount = 512
  private static let highestConnectionCount = 4_096

  func networkFigures() throws -> [PeerFigure] {
    let count = bench.options.scaled(Self.distantCount)
    let directory = bench.options.pictureDirectory
    let (distant, near) = (
      try DelayingOrigin(directory: directory, delay: Self.delay),
      try DelayingOrigin(directory: directory, delay: .zero)
    )
    func list(_ name: String, _ origin: DelayingOrigin) throws -> String {
      try bench.imgctl.list(
        named: name, origin.urls(hostCount: Self.hostCount, count: count))
    }
    let (far, close) = (try list("distant", distant), try list("near", near))
    var rates: (some: [Double], many: [Double], near: [Double]) = ([], [], [])
    var peers: [Result<Double, any Error>] = []
    for round in 1...bench.options.rounds {
      try bench.note("slow networks, round \(round) of \(bench.options.rounds)")
      func own(_ list: String, _ transfers: Int) throws -> Double {
        try bench.rate(of: list, lineCount: count, settings: ["--transfers", "\(transfers)"])
      }
      if round.isMultiple(of: 2) { peers.append(Result { try peerRate(far, count) }) }
      rates.some.append(try own(far, Self.connectionCount))
      rates.many.append(try own(far, Self.highestConnectionCount))
      rates.near.append(try own(close, Self.connectionCount))
      if !round.isMultiple(of: 2) { peers.append(Result { try peerRate(far, count) }) }
    }
    return Self.networkFigures(rates, peers, count)
  }

  private static func networkFigures(
    _ rates: (some: [Double], many: [Double], near: [Double]), _ peers: [Result<Double, any Error>],
    _ count: Int
  ) -> [PeerFigure] {
    let hosts = "\(hostCount) hosts, \(Int(delay / .milliseconds(1))) ms"
    func command(_ transfers: Int) -> String {
      "imgctl start --transfers \(transfers), submit --wait LIST (\(count) URLs)"
    }
    let some = "\(hosts), \(connectionCount) connections"
    let besidePeer: PeerFigure
    do {
      besidePeer = PeerFigure(
        .networks, some, "/s", own: rates.some, beside: "img2dataset, while it runs",
        try peers.map { try $0.get() }, target: .atLeast(1),
        command:
          "\(command(connectionCount)) : \(Img2dataset.command(connectionCount: connectionCount))")
    } catch {
      besidePeer = PeerFigure(.networks, some, missing: "\(error)")
    }
    return [
      besidePeer,
      PeerFigure(
        .networks, "\(hosts), \(highestConnectionCount) connections", "/s", own: rates.many,
        beside: "the same without delay", rates.near, target: .atLeast(0.9),
        command: "\(command(highestConnectionCount)) : \(command(connectionCount))"),
    ]
  }

  private func peerRate(_ list: String, _ count: Int) throws -> Double {
    guard let peer else { throw BenchError(Self.missingPeer) }
    let pass = try peer.run(
      list, lineCount: count, output: "\(bench.options.workDirectory)/img2dataset-distant",
      connectionCount: Self.connectionCount)
    guard pass.successCount == count else {
      throw BenchError("img2dataset made \(pass.successCount) of \(count)")
    }
    return Double(count) / pass.runningSeconds
  }
}

extension Bench {
  /// Pictures a second of a list on a cluster of its own, with its start but without that of the cluster.
  fileprivate func rate(of list: String, lineCount: Int, settings: [String]) throws -> Double {
    let cluster = try start("rate", settings: settings)
    defer {
      try? cluster.stop()
      try? FileManager.default.removeItem(atPath: cluster.dataDirectory)
    }
    let duration = try cluster.run(["submit", "--wait", list])
    guard let job = try cluster.client().answer(.jobs()).jobs.first, job.done == lineCount else {
      throw BenchError("not all of \(lineCount) pictures were made")
    }
    return Double(lineCount) / duration.inSeconds
  }
}

/// An origin with many addresses, which answers each request after a while, as if it were far away. Only this machine
/// can connect.
private final class DelayingOrigin {
  private let server: HTTPServer
  private let port: UInt16
  private let names: [String]

  init(directory: String, delay: Duration) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    var responses: [String: HTTPResponse] = [:]
    for name in names {
      let body = try FileIO.contents(of: "\(directory)/\(name)", upTo: 1 << 26)
      responses["/\(name)"] = HTTPResponse(
        .ok, fields: ["Content-Type": "image/jpeg"], body: .bytes(body))
    }
    self.names = names
    _ = ThisProcess.raiseDescriptorLimit()
    let socket = try Self.listen()
    var configuration = HTTPServer.Configuration(listener: .descriptor(socket.release()))
    configuration.limits.connections = 16_384
    configuration.limits.connectionsPerAddress = 16_384
    configuration.limits.waitingRequests = 16_384
    server = try HTTPServer(configuration, handler: Handler(responses: responses, delay: delay))
    guard case .tcp(_, let port) = server.address else {
      throw BenchError("the origin has no port")
    }
    self.port = port
  }

  /// Distinct URLs, a host after the other.
  func urls(hostCount: Int, count: Int) -> [String] {
    (0..<count).map { number in
      "http://127.1.0.\(number % hostCount + 1):\(port)/\(names[number % names.count])?\(number)"
    }
  }

  /// All addresses of the loopback device (socket(7), `SO_BINDTODEVICE`).
  private static func listen() throws -> OwnedDescriptor {
    let socket = OwnedDescriptor(
      adopting: try systemCall("socket") { Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0) })
    let device = "lo"
    _ = try systemCall("setsockopt") {
      unsafe setsockopt(
        socket.rawValue, SOL_SOCKET, SO_BINDTODEVICE, device, socklen_t(device.utf8.count))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = try systemCall("bind") {
      unsafe withUnsafePointer(to: address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
          unsafe bind(socket.rawValue, generic, size)
        }
      }
    }
    _ = try systemCall("listen") { Glibc.listen(socket.rawValue, 4_096) }
    return socket
  }

  private struct Handler: HTTPHandler {
    let responses: [String: HTTPResponse]
    let delay: Duration

    func answer(to request: HTTPRequest) -> HTTPAnswer {
      let path = request.target.prefix { $0 != "?" }
      let response = responses[String(path)] ?? HTTPResponse(.notFound)
      guard delay > .zero else { return .response(response) }
      return .later(.connection) {
        try? await Task.sleep(for: delay)
        return response
      }
    }
  }
}

/// The gateway, which a script measures.
extension PeerBench {
  /// A figure of the script, round by round.
  private struct GatewayFigure: Decodable {
    let name: String
    let unit: String?
    let own: [Double]?
    let beside: String?
    let other: [Double]?
    let atLeast: Double?
    let atMost: Double?
    let isDifference: Bool?
    let command: String?
    /// Why there is none.
    let reason: String?

    private enum CodingKeys: String, CodingKey {
      case name, unit, own, beside, other
      case atLeast = "at_least"
      case atMost = "at_most"
      case isDifference = "is_difference"
      case command, reason
    }

    var target: PeerFigure.Target? {
      atLeast.map(PeerFigure.Target.atLeast) ?? atMost.map(PeerFigure.Target.atMost)
    }
  }

  func gatewayFigures() throws -> [PeerFigure] {
    let options = bench.options
    let work = options.workDirectory + "/gateway"
    try Directory.create(work)
    try bench.note("the gateway")
    let output = try runScript(
      "gateway.py",
      [
        "--programs", options.programDirectory, "--peer-programs", options.peers.programDirectory,
        "--urls", options.listPath, "--work", work, "--rounds", "\(options.rounds)", "--seconds",
        options.isQuick ? "1" : "3", "--output",
      ])
    return try JSONDecoder().decode([GatewayFigure].self, from: Data(output)).map(Self.figure)
  }

  private static func figure(_ figure: GatewayFigure) -> PeerFigure {
    guard let own = figure.own, let other = figure.other, let beside = figure.beside,
      let unit = figure.unit
    else {
      return PeerFigure(.gateway, figure.name, missing: figure.reason ?? "not measured")
    }
    let command = figure.command ?? ""
    guard figure.isDifference == true, let target = figure.target else {
      return PeerFigure(
        .gateway, figure.name, unit, own: own, beside: beside, other, target: figure.target,
        command: command)
    }
    return PeerFigure(
      .gateway, "\(figure.name), more than \(beside)", unit, own: zip(own, other).map(-),
      target: target,
      command: command)
  }
}
