import Dispatch
import FoundationEssentials
import Glibc
import ImgClient
import ImgCommands
import ImgModel
import ImgSystem
import ImgWire
import Synchronization

/// How the cost of a list grows with its length.
extension Bench {
  func measureLists(into report: inout Report) throws {
    for lineCount in options.listLineCounts {
      for shape in ListShape.allCases {
        report.add(try cost(of: shape, lineCount: lineCount))
      }
    }
  }

  /// On a data directory and a coordinator of its own. The list itself is made before.
  private func cost(of shape: ListShape, lineCount: Int) throws -> ListCost {
    try note("a list of \(lineCount) lines, each \(shape.rawValue)")
    let list = try LongList(shape, lineCount: lineCount, path: options.workDirectory + "/long")
    let cluster = try start("list-\(shape.rawValue)-\(lineCount)")
    if shape == .stored { try fillStore(of: cluster, try list.urls.map(ImageURL.init(parsing:))) }
    let start = ContinuousClock.now
    var trial = ListTrial(list, on: cluster, timeLimit: .seconds(options.scaled(60)))
    let sampler = try StatusSampler(cluster)
    try trial.run()
    let seen = try sampler.finish()
    let restart = try trial.restart()
    let seconds = start.duration(to: .now).inSeconds
    try cluster.stop()
    for path in [list.path, cluster.dataDirectory] {
      try FileManager.default.removeItem(atPath: path)
    }
    return ListCost(list, trial.pass, seen, restart: restart, seconds: seconds)
  }
}

/// Runs one list: submits it as a person does, waits for its end or as far as the time goes, and then
/// through the death of its coordinator.
struct ListTrial {
  private let list: LongList
  private let cluster: Cluster
  /// After it a job is cut short: the rest of ten million lines says nothing new.
  private let timeLimit: Duration
  private(set) var pass = ListPass()
  /// The job submitted last.
  private var status: ImageJob?

  /// A short list is run again until so much time has passed, for a quantile of the latencies and
  /// for a clock of processor time that counts hundredths of a second.
  private static let shortestTime = Duration.seconds(3)
  private static let patience = Duration.seconds(30)

  init(_ list: LongList, on cluster: Cluster, timeLimit: Duration) {
    self.list = list
    self.cluster = cluster
    self.timeLimit = timeLimit
  }

  mutating func run() throws {
    let end = ContinuousClock.now + Self.shortestTime
    repeat { try runOnce() } while ContinuousClock.now < end
  }

  /// The job begins when its last line is durable, so that handing over and running meet only in
  /// the answer to `submit`.
  private mutating func runOnce() throws {
    let before = try ListPass.Meter(cluster)
    let duration = try cluster.run(["submit", list.path])
    let submitted = try ListPass.Meter(cluster)
    pass.addSubmission(
      lineCount: list.lineCount, seconds: duration.inSeconds, from: before, to: submitted)

    let end = ContinuousClock.now + timeLimit
    let status = try follow { _ in ContinuousClock.now < end }
    let after = try ListPass.Meter(cluster)
    let now = WallTime.now
    guard let startTime = status.startTime else { throw BenchError("\(status) did not start") }
    let time = startTime.duration(to: status.endTime ?? now)
    pass.addRun(endedCount: status.finished, seconds: time.inSeconds, from: submitted, to: after)
  }

  /// Ends the coordinator amid the job, or amid another one of the same list where the job has
  /// ended; the job must go on where it was.
  ///
  /// - Returns: how long the first answer about the job took, the new coordinator's start included.
  mutating func restart() throws -> Duration {
    if status?.hasEnded != false { try cluster.run(["submit", list.path]) }
    let before = try follow { $0.finished == 0 }
    kill(try cluster.client().coordinatorProcessID, SIGKILL)
    awaitDeath()
    let duration = try cluster.run(["priority", "\(before.job)", "0"])
    try requireProgress(since: before)
    return duration
  }

  /// Nothing that had ended is lost, and more ends; the rest of the job is cancelled.
  private mutating func requireProgress(since before: ImageJob) throws {
    let first = try follow { _ in false }
    guard first.finished >= before.finished else {
      throw BenchError("\(before.finished) lines had ended, and \(first.finished) are left")
    }
    let deadline = ContinuousClock.now + Self.patience
    let last = try follow { $0.finished <= first.finished && ContinuousClock.now < deadline }
    guard last.hasEnded || last.finished > first.finished else {
      throw BenchError("job \(before.job) does not go on after its coordinator's death")
    }
    if !last.hasEnded { try cluster.run(["cancel", "\(last.job)"]) }
  }

  /// Waits until no process listens any more. The connections of a process that dies may end
  /// before.
  private func awaitDeath() {
    while true {
      do throws(ClientError) {
        _ = try cluster.client().answer(.status)
      } catch .unreachable {
        return
      } catch {
        continue
      }
    }
  }

  /// Watches the newest job until it ends or `goesOn` does not hold.
  private mutating func follow(while goesOn: (ImageJob) -> Bool) throws -> ImageJob {
    let client = try cluster.client()
    guard let job = try client.answer(.jobs()).jobs.first?.job else {
      throw BenchError("there is no job")
    }
    let status = try client.watch(job, every: .milliseconds(100), goesOn)
    let expected = list.shape == .stored ? status.fromCache : status.failed
    guard status.total == list.lineCount, expected == status.done + status.failed else {
      throw BenchError("the lines did not end as they should: \(status)")
    }
    self.status = status
    return status
  }
}

/// What it took to hand a list over and to run it, once or, added up, several times.
struct ListPass {
  /// Lines submitted, and how long `imgctl submit` took for them.
  private(set) var submittedCount = 0
  private(set) var submitSeconds = 0.0
  /// The coordinator's processor time meanwhile, and what the journal's file has grown by.
  private(set) var submitProcessorSeconds = 0.0
  private(set) var listByteCount = 0
  /// Lines that ended, from the first one's start on.
  private(set) var endedCount = 0
  private(set) var runSeconds = 0.0
  private(set) var runProcessorSeconds = 0.0
  private(set) var outcomeByteCount = 0

  /// What the coordinator has used up to a moment.
  struct Meter {
    let processorSeconds: Double
    let journalByteCount: Int

    init(_ cluster: Cluster) throws {
      processorSeconds = try ProcessorTime.seconds(of: try cluster.client().coordinatorProcessID)
      journalByteCount = try cluster.journalByteCount()
    }
  }

  mutating func addSubmission(lineCount: Int, seconds: Double, from: Meter, to: Meter) {
    submittedCount += lineCount
    submitSeconds += seconds
    submitProcessorSeconds += to.processorSeconds - from.processorSeconds
    listByteCount += to.journalByteCount - from.journalByteCount
  }

  mutating func addRun(endedCount: Int, seconds: Double, from: Meter, to: Meter) {
    self.endedCount += endedCount
    runSeconds += seconds
    runProcessorSeconds += to.processorSeconds - from.processorSeconds
    outcomeByteCount += to.journalByteCount - from.journalByteCount
  }
}

/// What becomes of the lines of a long list. Each goes the whole way through coordinator, worker
/// and journal, and none needs a network.
enum ListShape: String, CaseIterable, Encodable {
  /// Looked up and found: the thumbnails are in the store, and more of them than are ever under
  /// way at once, so that no line joins another.
  case stored
  /// Looked up, given to a worker to fetch, and refused there for its address: all are distinct.
  case refused

  /// How many thumbnails the lines of a list share.
  private static let storedMaximum = 20_000

  /// How many distinct URLs a list has.
  func distinctCount(lineCount: Int) -> Int {
    switch self {
    case .stored: min(lineCount, Self.storedMaximum)
    case .refused: lineCount
    }
  }
}

/// A list of any length in a file, made without ever being in memory.
struct LongList {
  let shape: ListShape
  let lineCount: Int
  let path: String

  /// So that no host's share of the transfers is what is measured.
  private static let hostCount = 200

  /// Writes the file.
  init(_ shape: ListShape, lineCount: Int, path: String) throws {
    self.shape = shape
    self.lineCount = lineCount
    self.path = path
    let file = try FileIO.create(path)
    let output = Output(descriptor: file.rawValue)
    let distinctCount = shape.distinctCount(lineCount: lineCount)
    for number in 0..<lineCount { try output.write(Self.url(number % distinctCount) + "\n") }
    try output.flush()
  }

  /// The list's distinct URLs.
  var urls: some Sequence<String> {
    (0..<shape.distinctCount(lineCount: lineCount)).lazy.map(Self.url)
  }

  /// About as long as URLs of pictures are, at unused addresses (RFC 5737, TEST-NET-1)
  /// and that are refused unless allowed.
  private static func url(_ number: Int) -> String {
    let host = "192.0.2.\(10 + number % hostCount)"
    return "http://\(host)/photographs/2024-07/\(1_000_000_000 + number)-large-1024x768.jpg"
  }
}

/// What a list of one length costs: a row of the table of how costs grow.
struct ListCost: Encodable {
  let lineCount: Int
  let shape: ListShape
  let submittedPerSecond: Double
  let submitMicroseconds: Double
  let endedPerSecond: Double
  let runMicroseconds: Double
  let endedCount: Int
  let privatePeakMiB: Double
  let mappedPeakMiB: Double
  let statusMedianMilliseconds: Double
  let status99Milliseconds: Double
  let statusHighestMilliseconds: Double
  let statusCount: Int
  let answerMedianMilliseconds: Double
  let answer99Milliseconds: Double
  let answerHighestMilliseconds: Double
  let listByteCount: Double
  let outcomeByteCount: Double
  let restartMilliseconds: Double
  let seconds: Double

  init(
    _ list: LongList, _ pass: ListPass, _ seen: StatusSampler.Seen, restart: Duration,
    seconds: Double
  ) {
    let (submitted, ended) = (Double(pass.submittedCount), Double(pass.endedCount))
    lineCount = list.lineCount
    shape = list.shape
    submittedPerSecond = submitted / pass.submitSeconds
    submitMicroseconds = pass.submitProcessorSeconds / submitted * 1e6
    endedPerSecond = ended / pass.runSeconds
    runMicroseconds = pass.runProcessorSeconds / ended * 1e6
    endedCount = pass.endedCount
    privatePeakMiB = seen.privatePeak
    mappedPeakMiB = seen.mappedPeak
    statusMedianMilliseconds = seen.processes.median
    status99Milliseconds = seen.processes.quantile(0.99)
    statusHighestMilliseconds = seen.processes.highest
    statusCount = seen.processes.values.count
    answerMedianMilliseconds = seen.answers.median
    answer99Milliseconds = seen.answers.quantile(0.99)
    answerHighestMilliseconds = seen.answers.highest
    listByteCount = Double(pass.listByteCount) / submitted
    outcomeByteCount = Double(pass.outcomeByteCount) / ended
    restartMilliseconds = restart / .milliseconds(1)
    self.seconds = seconds
  }

  private enum CodingKeys: String, CodingKey {
    case lineCount = "lines"
    case shape
    case submittedPerSecond = "submitted_per_second"
    case submitMicroseconds = "submit_coordinator_us"
    case endedPerSecond = "ended_per_second"
    case runMicroseconds = "run_coordinator_us"
    case endedCount = "ended"
    case privatePeakMiB = "private_peak_mib"
    case mappedPeakMiB = "mapped_peak_mib"
    case statusMedianMilliseconds = "status_median_ms"
    case status99Milliseconds = "status_99_ms"
    case statusHighestMilliseconds = "status_highest_ms"
    case statusCount = "status_calls"
    case answerMedianMilliseconds = "answer_median_ms"
    case answer99Milliseconds = "answer_99_ms"
    case answerHighestMilliseconds = "answer_highest_ms"
    case listByteCount = "list_bytes_each"
    case outcomeByteCount = "outcome_bytes_each"
    case restartMilliseconds = "restart_ms"
    case seconds
  }
}

/// How costs grow with the length of a list, for people, and what each column means.
struct ListCostTable {
  private struct Column: Sendable {
    let heading: String
    let meaning: String
    let text: @Sendable (ListCost) -> String
  }

  private let costs: [ListCost]

  init(_ costs: [ListCost]) {
    self.costs = costs
  }

  var rendered: String {
    var table = Table([.number("lines"), .text("each")] + Self.columns.map { .number($0.heading) })
    for cost in costs {
      table.addRow(["\(cost.lineCount)", cost.shape.rawValue] + Self.columns.map { $0.text(cost) })
    }
    var legend = Table([.text("column"), .text("what it is, by which command")])
    legend.addRow(["stored", "a line whose thumbnail is stored: looked up, found, recorded"])
    legend.addRow([
      "refused", "a line at a refused address: looked up, given to a worker, failed, recorded",
    ])
    for column in Self.columns { legend.addRow([column.heading, column.meaning]) }
    return table.rendered + "\n" + legend.rendered
  }

  private static let columns = [
    column("submit/s", "lines submitted: imgctl submit LIST, the process") {
      $0.submittedPerSecond
    },
    column("CPU µs", "processor time of the coordinator, a submitted line") {
      $0.submitMicroseconds
    },
    column("run/s", "lines ended, from the job's start to its end or to when it was cut short") {
      $0.endedPerSecond
    },
    column("CPU µs each", "processor time of the coordinator, a line ended") {
      $0.runMicroseconds
    },
    Column(
      heading: "ended", meaning: "lines ended; a short list several times over",
      text: { "\($0.endedCount)" }),
    column("private MiB", "the coordinator's memory that no file stands behind, at its peak") {
      $0.privatePeakMiB
    },
    column("mapped MiB", "its pages of the journal's map, at their peak; they are page cache") {
      $0.mappedPeakMiB
    },
    column("status ms", "imgctl status --json, the process, all the while: the median") {
      $0.statusMedianMilliseconds
    },
    column("99 %", "the same: of 100 calls, 99 took no longer") { $0.status99Milliseconds },
    column("answer ms", "Client.status over a connection that stands: the median") {
      $0.answerMedianMilliseconds
    },
    column("answer 99 %", "the same: of 100 calls, 99 took no longer") {
      $0.answer99Milliseconds
    },
    column("highest", "the same: the longest") { $0.answerHighestMilliseconds },
    column("list B", "the journal's file, a submitted line") { $0.listByteCount },
    column("outcome B", "the journal's file, a line ended, on top") { $0.outcomeByteCount },
    column("restart ms", "imgctl priority JOB 0, the process, after a SIGKILL amid the job") {
      $0.restartMilliseconds
    },
    column("took s", "this row") { $0.seconds },
  ]

  private static func column(
    _ heading: String, _ meaning: String, _ value: @escaping @Sendable (ListCost) -> Double
  ) -> Column {
    Column(heading: heading, meaning: meaning, text: { Report.text(value($0)) })
  }
}

/// Asks for the cluster's status again and again while something else runs, and looks at the
/// coordinator's memory each time.
final class StatusSampler: Sendable {
  /// What was seen.
  struct Seen {
    /// How long each process `imgctl status` lived, in milliseconds.
    var processes = Samples()
    /// How long each answer took over a connection that stands, in milliseconds: the same without
    /// a process, which has to wait for a core as well.
    var answers = Samples()
    /// The most memory without a file behind it, and the most of mapped files, in MiB: the kernel
    /// takes the latter back when another process needs it.
    var privatePeak = 0.0
    var mappedPeak = 0.0

    fileprivate mutating func add(_ memory: ThisProcess.MemoryUse) {
      let mapped = memory.residentByteCount - memory.privateByteCount
      privatePeak = max(privatePeak, Double(memory.privateByteCount) / Double(1 << 20))
      mappedPeak = max(mappedPeak, Double(mapped) / Double(1 << 20))
    }
  }

  private let seen = Mutex(Result<Seen, any Error>.success(Seen()))
  private let end: Wakeup
  private let group = DispatchGroup()

  /// Often enough for a quantile, seldom enough to leave the cores to what is measured.
  private static let interval = Duration.milliseconds(25)

  /// Begins.
  init(_ cluster: Cluster) throws {
    end = try Wakeup()
    DispatchQueue.global().async(group: group) { [self] in
      let result = Result { try sample(cluster) }
      seen.withLock { $0 = result }
    }
  }

  /// Ends, and tells what was seen.
  func finish() throws -> Seen {
    end.signal()
    group.wait()
    return try seen.withLock { try $0.get() }
  }

  private func sample(_ cluster: Cluster) throws -> Seen {
    var seen = Seen()
    let client = try cluster.client()
    repeat {
      seen.processes.add(try cluster.run(["status", "--json"]) / .milliseconds(1))
      let start = ContinuousClock.now
      let processID = try client.answer(.status).processID
      seen.answers.add(start.duration(to: .now) / .milliseconds(1))
      guard let memory = ThisProcess.memoryUse(of: processID) else {
        throw BenchError("the coordinator, process \(processID), is gone")
      }
      seen.add(memory)
    } while try !UnixSocket.waitReadable(end.descriptor, until: .now + Self.interval)
    return seen
  }
}
