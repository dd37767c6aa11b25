import FoundationEssentials
import Glibc
import ImgClient
import ImgFetch
import ImgModel
import ImgSystem
import ImgWire

/// How many transfers a second, beside `curl --parallel` with as many connections.
extension Bench {
  private static let connectionCount = 32
  /// Bodies by their names: how long, and how many of them are got in a pass, which has to be long
  /// beside the start of a process: ours links what a decoder needs.
  private static let bodies: [(name: String, byteCount: Int, transferCount: Int)] = [
    ("1 KB", 1_000, 40_000), ("100 KB", 100_000, 16_000),
  ]

  func measureTransfers(into report: inout Report) throws {
    try measureTransfers(bodyCount: Self.bodies.count, into: &report)
    try measureSlowHosts(into: &report)
  }

  /// - Parameter bodyCount: how many of the bodies, the shortest first.
  func measureTransfers(bodyCount: Int, into report: inout Report) throws {
    let bodies = Self.bodies.prefix(bodyCount)
    let files = bodies.map { ("\($0.byteCount)", $0.byteCount) }
    let origin = try TransferOrigin(
      programDirectory: options.programDirectory, workDirectory: options.workDirectory,
      byteCounts: Dictionary(uniqueKeysWithValues: files))
    for body in bodies {
      try measure(
        body.name, url: "\(origin.baseURL)/\(body.byteCount)",
        count: options.scaled(body.transferCount), into: &report)
    }
  }

  /// In pairs of changing order: whatever else the machine does meanwhile meets both.
  private func measure(_ name: String, url: String, count: Int, into report: inout Report) throws {
    let urls = (0..<count).map { "\(url)?\($0)" }
    let list = try imgctl.list(named: "transfers", urls)
    let configuration = try imgctl.list(named: "transfers.curl", urls.map { "url = \"\($0)\"" })
    var (own, curl): ([TransferPass], [TransferPass]) = ([], [])
    for round in 1...options.rounds {
      try note("transfers of \(name), round \(round) of \(options.rounds)")
      if round.isMultiple(of: 2) { curl.append(try runCurl(configuration)) }
      own.append(try runOwn(list))
      if !round.isMultiple(of: 2) { curl.append(try runCurl(configuration)) }
    }
    let number = Self.connectionCount
    let ownCommand = "the worker's transfers alone, \(number) at a time (\(count) URLs)"
    let curlCommand = "curl --parallel --parallel-max \(number) (\(count) URLs)"
    func add(_ what: String, _ values: [Double], _ unit: String, _ command: String) {
      report.add("\(name): \(what)", Samples(values), unit, command: command)
    }
    func rates(_ passes: [TransferPass]) -> [Double] { passes.map { Double(count) / $0.seconds } }
    func costs(_ passes: [TransferPass]) -> [Double] {
      passes.map { $0.processorSeconds / Double(count) * 1_000 }
    }
    add("transfers", rates(own), "/s", ownCommand)
    add("transfers, curl", rates(curl), "/s", curlCommand)
    add("ratio", zip(rates(own), rates(curl)).map(/), "", "the two above, pair by pair")
    add("processor", costs(own), "ms each", ownCommand)
    add("processor, curl", costs(curl), "ms each", curlCommand)
  }

  private func runOwn(_ list: String) throws -> TransferPass {
    try imgctl.pass(
      options.programDirectory + "/imgbench",
      FetchProcess(listPath: list, connectionCount: Self.connectionCount).arguments)
  }

  private func runCurl(_ configuration: String) throws -> TransferPass {
    try imgctl.pass(
      "/usr/bin/curl",
      [
        "--silent", "--fail", "--parallel", "--parallel-immediate", "--parallel-max",
        "\(Self.connectionCount)", "--config", configuration,
      ])
  }
}

/// An origin of its own for the transfers, which serves bodies that are no pictures.
///
/// It ends with this object, or with this process, whose end closes its standard input.
final class TransferOrigin {
  private let child: ChildProcess
  private let standardInput: OwnedDescriptor
  let baseURL: String

  /// - Parameters:
  ///   - programDirectory: where `testorigin` lies.
  ///   - byteCounts: of the bodies, by their names.
  init(programDirectory: String, workDirectory: String, byteCounts: [String: Int]) throws {
    let directory = "\(workDirectory)/bodies"
    let listPath = "\(workDirectory)/bodies.urls"
    try Directory.create(directory)
    for (name, count) in byteCounts {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      try FileIO.replace(path: "\(directory)/\(name)", with: bytes)
    }
    var pair = try UnixSocket.pair()
    standardInput = pair.takeFirst()
    let theirs = pair.takeSecond()
    let nothing = try FileIO.open(appendingTo: "/dev/null")
    child = try ChildProcess.spawn(
      executable: "\(programDirectory)/testorigin",
      arguments: ["--directory", directory, "--print-urls", listPath, "--until-stdin-closes"],
      environment: ThisProcess.environment,
      descriptors: [(parent: theirs.rawValue, child: 0), (parent: nothing.rawValue, child: 1)])
    baseURL = try Self.baseURL(inList: listPath)
  }

  deinit {
    child.signal(15)
    _ = child.waitForExit(until: .now + .seconds(10))
  }

  /// The origin listens before it writes its list.
  private static func baseURL(inList path: String) throws -> String {
    let deadline = ContinuousClock.now + .seconds(30)
    while ContinuousClock.now < deadline {
      if let list = try? FileIO.contents(of: path, upTo: 1 << 16),
        let line = String(decoding: list, as: UTF8.self).split(separator: "\n").first,
        let slash = line.lastIndex(of: "/")
      {
        return String(line[..<slash])
      }
      ThisProcess.pause(for: .milliseconds(10))
    }
    throw BenchError("the origin of the transfers does not start")
  }
}

/// One way of getting all bodies of a list, once.
struct TransferPass {
  let seconds: Double
  /// User and system time of the receiving process.
  let processorSeconds: Double
}

/// Gets every body of a list as a worker does, and nothing more: no scheduling, no decoding, no
/// store.
struct FetchProcess {
  static let name = "fetch-process"

  /// A file of URLs, one a line.
  let listPath: String
  /// Transfers at a time.
  let connectionCount: Int

  init(listPath: String, connectionCount: Int) {
    self.listPath = listPath
    self.connectionCount = connectionCount
  }

  init(arguments: [String]) throws(BenchError) {
    guard arguments.count == 3, let count = Int(arguments[2]), count > 0 else {
      throw BenchError(BenchInvocation.usage)
    }
    self.init(listPath: arguments[1], connectionCount: count)
  }

  var arguments: [String] { [Self.name, listPath, "\(connectionCount)"] }

  func run() throws {
    // As a worker does.
    ThisProcess.keepFreedMemory()
    let text = try FileIO.contents(of: listPath, upTo: 1 << 30)
    let urls = try String(decoding: text, as: UTF8.self).split(separator: "\n")
      .map { try ImageURL(parsing: String($0)) }
    let poller = try Poller()
    let loopback = NetworkRange(bytes: [127, 0, 0, 0], prefixLength: 8)
    let pool = try TransferPool(
      runtime: CurlRuntime.start(), limits: Limits(), bodyBudgetByteCount: 1 << 29,
      addressPolicy: AddressPolicy(allowed: [loopback].compactMap(\.self)),
      spoolDirectories: ["/tmp"], poller: poller, tokenBase: 1 << 32, userAgent: "imgbench",
      earlyReject: nil)
    var (started, ended) = (0, 0)
    while ended < urls.count {
      while started < urls.count, started - ended < connectionCount {
        pool.start(TransferID(rawValue: UInt64(started)), url: urls[started])
        started += 1
      }
      let wait = pool.deadline.map { max($0 - .now, .zero) } ?? .seconds(1)
      for readiness in try poller.wait(timeout: wait) { pool.handle(readiness) }
      pool.handleDeadline(at: .now)
      for transfer in pool.takeFinished() {
        pool.releaseBody(try transfer.result.get().charge)
        ended += 1
      }
    }
  }
}

/// What hosts that do not answer do to one that does.
extension Bench {
  private static let slowHostCount = 1_000

  func measureSlowHosts(into report: inout Report) throws {
    let listener = try SilentListener()
    let count = options.scaled(Self.slowHostCount)
    // Each a host of its own, for which the limit of a host is no limit.
    let slow = try imgctl.list(
      named: "slow",
      (0..<count).map { "http://127.1.\($0 / 250).\($0 % 250 + 1):\(listener.port)/a.jpg" })
    var (alone, beside): ([Double], [Double]) = ([], [])
    for round in 1...options.rounds {
      try note("slow hosts, round \(round) of \(options.rounds)")
      alone.append(try fastRate("alone-\(round)", beside: nil))
      beside.append(try fastRate("beside-\(round)", beside: slow))
    }
    let submit = "imgctl submit --wait LIST (\(lineCount) URLs of one host)"
    report.add("a fast host alone", Samples(alone), "/s", command: submit)
    report.add(
      "beside \(count) slow hosts", Samples(beside), "/s",
      command: "\(submit), while as many hosts as there are places do not answer for 2s each")
  }

  /// - Parameter slow: a list that is submitted before.
  private func fastRate(_ name: String, beside slow: String?) throws -> Double {
    let cluster = try start(name, settings: ["--transfer-timeout", "2s", "--attempts", "1"])
    if let slow {
      try cluster.run(["submit", slow])
      let client = try cluster.client()
      // The rest of the places is for hosts that are known to be prompt.
      let limits = Limits()
      while try client.answer(.status).transfers < limits.transfers - limits.transfersPerHost {
        ThisProcess.pause(for: .milliseconds(10))
      }
    }
    let duration = try cluster.run(["submit", "--wait", options.listPath])
    // What the slow hosts have left to do is of no interest.
    for job in try cluster.client().answer(.jobs()).jobs where !job.hasEnded {
      try cluster.run(["cancel", "\(job.job)"])
    }
    try cluster.stop()
    return Double(lineCount) / duration.inSeconds
  }

  private var lineCount: Int { decoding.pictureCount }
}

/// A port of every address of this machine that accepts connections and never answers: the
/// kernel takes them, and no program does.
struct SilentListener: ~Copyable {
  private let socket: OwnedDescriptor
  let port: UInt16

  init() throws {
    socket = OwnedDescriptor(
      adopting: Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    let descriptor = socket.rawValue
    let code = unsafe withUnsafeMutablePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        guard unsafe bind(descriptor, address, size) == 0, listen(descriptor, 4_096) == 0 else {
          return CInt(-1)
        }
        return unsafe getsockname(descriptor, address, &size)
      }
    }
    guard code == 0 else { throw BenchError("no port can be listened on: error \(errno)") }
    port = UInt16(bigEndian: address.sin_port)
  }
}
