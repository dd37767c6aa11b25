import FoundationEssentials
import ImgClient
import ImgModel
import ImgSystem

/// A coordinator and its workers, all of them ready, on an empty data directory of its own.
///
/// Ends on request, or when idle (see ``Imgctl``).
struct Cluster {
  let imgctl: Imgctl
  let dataDirectory: String

  var storeDirectory: String { "\(dataDirectory)/store/thumbnails" }

  /// - Parameter settings: options of `imgctl start`.
  static func start(
    _ imgctl: Imgctl, dataDirectory: String, settings: [String] = []
  ) throws -> Cluster {
    let cluster = Cluster(imgctl: imgctl, dataDirectory: dataDirectory)
    try cluster.run(["start"] + settings)
    try cluster.awaitWorkers()
    return cluster
  }

  /// The coordinator listens before its workers have started.
  private func awaitWorkers() throws {
    let client = try client()
    let deadline = ContinuousClock.now + .seconds(30)
    while try client.answer(.status).workers.contains(where: { $0.state != .ready }) {
      guard ContinuousClock.now < deadline else { throw BenchError("the workers do not start") }
      ThisProcess.pause(for: .milliseconds(10))
    }
  }

  func stop() throws {
    try imgctl.run(["stop"])
  }

  @discardableResult
  func run(_ arguments: [String]) throws -> Duration {
    try imgctl.run(arguments + ["--data-dir", dataDirectory])
  }

  func client() throws(ClientError) -> Client {
    try Client(socketPath: imgctl.socketPath)
  }

  /// How large the journal's file is.
  func journalByteCount() throws -> Int {
    let path = dataDirectory + "/journal/data.mdb"
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    guard let byteCount = attributes[.size] as? any BinaryInteger else {
      throw BenchError("\(path) has no size")
    }
    return Int(byteCount)
  }

  /// The processor time that each part of the way has taken so far.
  func processorTime(originProcessID: Int32) throws -> ProcessorTime {
    let status = try client().answer(.status)
    return ProcessorTime(
      workers: try status.workers.compactMap(\.processID)
        .reduce(0) { try $0 + ProcessorTime.seconds(of: $1) },
      // Those that were replaced have ended: children of the coordinator, as are the workers, which live.
      decoders: try decoders().reduce(0) { $0 + $1.processorSeconds }
        + ProcessorTime.secondsOfEndedChildren(of: status.processID),
      coordinator: try ProcessorTime.seconds(of: status.processID),
      origin: try ProcessorTime.seconds(of: originProcessID))
  }

  /// The decoders that live at this moment.
  func decoders() throws -> [DecoderProcess] {
    try DecoderProcess.all(of: try client().coordinatorProcessID)
  }
}

/// A running decoder as the kernel counts it (proc(5)).
struct DecoderProcess {
  let processID: Int32
  /// User and system time.
  let processorSeconds: Double
  /// The most memory that it had resident, shared pages included.
  let peakMiB: Double

  private static let programName = "imgdecoder"

  /// - Parameter coordinatorID: of the process whose children are looked for.
  static func all(of coordinatorID: Int32) throws -> [DecoderProcess] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { name in
      guard let processID = Int32(name) else { return nil }
      return decoder(processID, childOf: coordinatorID)
    }
  }

  /// - Returns: `nil` for another process, and for one that has just ended.
  private static func decoder(_ processID: Int32, childOf parent: Int32) -> DecoderProcess? {
    guard let bytes = try? FileIO.contents(of: "/proc/\(processID)/status", upTo: 1 << 14) else {
      return nil
    }
    var values: [Substring: String] = [:]
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      values[parts[0]] = parts[1].filter { $0 != "\t" && $0 != " " }
    }
    guard values["Name"] == programName, values["PPid"] == "\(parent)",
      let kibibytes = values["VmHWM"].flatMap({ Double($0.prefix { $0.isNumber }) }),
      let seconds = try? ProcessorTime.seconds(of: processID)
    else { return nil }
    return DecoderProcess(
      processID: processID, processorSeconds: seconds, peakMiB: kibibytes / 1_024)
  }
}

/// Processor time of those who work for thumbnails, in seconds. Decoding alone is a decoder's work.
struct ProcessorTime {
  let workers: Double
  let decoders: Double
  let coordinator: Double
  let origin: Double

  /// What imgctl itself took.
  var cluster: Double { workers + decoders + coordinator }

  static func - (later: Self, earlier: Self) -> Self {
    ProcessorTime(
      workers: later.workers - earlier.workers, decoders: later.decoders - earlier.decoders,
      coordinator: later.coordinator - earlier.coordinator, origin: later.origin - earlier.origin)
  }

  /// User and system time of a process, all its threads, since it began.
  static func seconds(of processID: Int32) throws -> Double {
    try seconds(of: processID, in: 11...12)
  }

  /// User and system time of the children that a process has waited for.
  static func secondsOfEndedChildren(of processID: Int32) throws -> Double {
    try seconds(of: processID, in: 13...14)
  }

  /// - Parameter places: of the times among the fields of proc(5), stat, counted from the state.
  private static func seconds(of processID: Int32, in places: ClosedRange<Int>) throws -> Double {
    let bytes = try FileIO.contents(of: "/proc/\(processID)/stat", upTo: 4_096)
    // What follows the program's name, which stands in brackets and may hold anything.
    let fields = String(decoding: bytes, as: UTF8.self).split(separator: ")").last?
      .split(separator: " ")
    guard let fields, fields.count > places.upperBound,
      let user = Double(fields[places.lowerBound]), let system = Double(fields[places.upperBound])
    else { throw BenchError("/proc/\(processID)/stat cannot be read") }
    // USER_HZ, which is 100 on every Linux of today (time(7)).
    return (user + system) / 100
  }
}

/// The program `imgctl` as a person calls it: a process a call.
struct Imgctl {
  let programDirectory: String
  let socketPath: String
  let workDirectory: String

  private static let deadline = Duration.seconds(600)

  /// Runs a command to its end.
  ///
  /// - Returns: how long the process lived.
  @discardableResult
  func run(_ arguments: [String]) throws -> Duration {
    try run(program: programDirectory + "/imgctl", arguments)
  }

  /// The most memory that a command had resident, in bytes.
  ///
  /// GNU time starts the command from a process of its own: the kernel counts the memory of the
  /// process that forked as the child's, and ours would hide what is measured.
  func peakMemory(_ arguments: [String]) throws -> Double {
    let file = workDirectory + "/peak-memory"
    try run(
      program: "/usr/bin/time",
      ["--format=%M", "--output=\(file)", programDirectory + "/imgctl"] + arguments)
    let text = String(decoding: try FileIO.contents(of: file, upTo: 4_096), as: UTF8.self)
    guard let kibibytes = Double(text.filter { $0 != "\n" }) else {
      throw BenchError("GNU time wrote \(text)")
    }
    return kibibytes * 1_024
  }

  /// Runs a program that gets a list of bodies.
  ///
  /// GNU time tells the processor time of a child, in hundredths of a second.
  func pass(_ executable: String, _ arguments: [String]) throws -> TransferPass {
    let file = workDirectory + "/processor-time"
    let duration = try run(
      program: "/usr/bin/time",
      ["--format=%U %S", "--output=\(file)", executable] + arguments)
    let text = String(decoding: try FileIO.contents(of: file, upTo: 4_096), as: UTF8.self)
    let times = text.split { $0 == " " || $0 == "\n" }.compactMap { Double($0) }
    guard times.count == 2 else { throw BenchError("GNU time wrote \(text)") }
    return TransferPass(seconds: duration.inSeconds, processorSeconds: times[0] + times[1])
  }

  /// A new file of lines for a list.
  func list(named name: String, _ lines: some Sequence<String>) throws -> String {
    let path = "\(workDirectory)/\(name)"
    let file = try FileIO.create(path)
    try FileIO.writeAll(file.rawValue, lines.joined(separator: "\n") + "\n")
    return path
  }

  /// Runs any program to its end, without its output.
  ///
  /// - Parameter executable: a path.
  /// - Returns: how long the process lived.
  @discardableResult
  func run(program executable: String, _ arguments: [String]) throws -> Duration {
    let messages = try FileIO.open(appendingTo: workDirectory + "/messages")
    let nothing = try FileIO.open(appendingTo: "/dev/null")
    var environment = ThisProcess.environment
    environment["IMGCTL_SOCKET"] = socketPath
    environment["IMGCTL_ALLOW_NETWORK"] = "127.0.0.0/8"
    // Should this process be killed, its coordinator leaves by itself.
    environment["IMGCTL_IDLE_EXIT"] = "1m"
    let start = ContinuousClock.now
    let child = try ChildProcess.spawn(
      executable: executable, arguments: arguments, environment: environment,
      descriptors: [(parent: nothing.rawValue, child: 1), (parent: messages.rawValue, child: 2)])
    let status = child.waitForExit(until: start + Self.deadline)
    let duration = start.duration(to: .now)
    guard status == .exited(0) else {
      let end = status?.description ?? "did not end within \(Self.deadline)"
      child.signal(9)
      let line = ([executable] + arguments).joined(separator: " ")
      throw BenchError("\(line) \(end); it said:\n\(try lastMessages())")
    }
    return duration
  }

  /// The end of what the commands of this run have said on standard error.
  private func lastMessages() throws -> String {
    let all = try FileIO.contents(of: workDirectory + "/messages", upTo: 1 << 20)
    return String(decoding: all.suffix(1_000), as: UTF8.self)
  }
}
