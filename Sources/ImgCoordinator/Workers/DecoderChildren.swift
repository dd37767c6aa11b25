import Glibc
import ImgModel
import ImgScheduler
import ImgSystem
import ImgWire

/// The decoder processes of all workers: started when a worker asks, killed when it says so or ends,
/// and reaped. A worker cannot start processes itself.
///
/// Only ``DecoderChildren/maximumPerWorker`` of a worker run or wait for their start at once, and starts
/// have a rate, so a broken worker cannot make processes without end.
final class DecoderChildren {
  /// What a worker has to be told.
  typealias Answer = (worker: WorkerID, exit: DecoderExit)

  /// A decoder that waits for its turn to start.
  private struct Order {
    let id: DecoderID
    let worker: WorkerID
    let workerNumber: Int
    let channel: PassedFile
  }

  /// The decoders of all workers with one number.
  private struct History {
    var starts = TokenBucket()
    /// Decoders that ended without being told to.
    var deaths = 0
  }

  /// A worker uses one and keeps one more ready. For each, one that was killed may not have ended.
  static let maximumPerWorker = 4
  private static let startRate = TransferRate(perMinute: 600)

  /// The path of `imgdecoder`.
  let executable: String
  private var decoders: [DecoderNumber: DecoderChild] = [:]
  private var orders: [Order] = []
  private var histories: [Int: History] = [:]
  private var lastNumber: UInt64 = 0
  private var deathAllowance = MessageAllowance()
  private let errors: ErrorStreams
  private let poller: Poller
  private let log: Log

  init(executable: String, errors: ErrorStreams, poller: Poller, log: Log) {
    self.executable = executable
    self.errors = errors
    self.poller = poller
    self.log = log
  }

  var isEmpty: Bool { decoders.isEmpty }

  func processIDs(of worker: WorkerID) -> [Int32] {
    decoders.values.filter { $0.worker == worker }.map(\.processID).sorted()
  }

  /// How many decoders of the workers with this number ended without being told to.
  func deathCount(ofNumber number: Int) -> Int { histories[number]?.deaths ?? 0 }

  // MARK: - Starts

  /// Takes an order; ``startDue(at:)`` starts the decoder.
  ///
  /// - Returns: the answer when the worker has too many.
  func order(
    _ id: DecoderID, for worker: WorkerProcess, channel: PassedFile
  ) -> Answer? {
    let count =
      decoders.values.count { $0.worker == worker.id } + orders.count { $0.worker == worker.id }
    guard count < Self.maximumPerWorker else {
      return Self.notStarted(id, of: worker.id, "the worker has \(count) decoders")
    }
    orders.append(
      Order(
        id: id, worker: worker.id, workerNumber: worker.number, channel: channel))
    return nil
  }

  /// When ``startDue(at:)`` has something to do; `nil` while no decoder waits for its start.
  var deadline: Instant? {
    orders.map { nextStart(ofNumber: $0.workerNumber) ?? .now }.min()
  }

  /// Starts the decoders whose turn has come.
  ///
  /// - Returns: the answers for those that cannot be started.
  func startDue(at now: Instant) -> [Answer] {
    var answers: [Answer] = []
    var waiting: [Order] = []
    for order in orders {
      if let next = nextStart(ofNumber: order.workerNumber), next > now {
        waiting.append(order)
      } else {
        histories[order.workerNumber, default: History()].starts.take(at: now, rate: Self.startRate)
        do throws(SystemError) {
          try start(order)
        } catch {
          log.note("a decoder of worker \(order.workerNumber) cannot be started: \(error)")
          answers.append(Self.notStarted(order.id, of: order.worker, error.description))
        }
      }
    }
    orders = waiting
    return answers
  }

  private func nextStart(ofNumber number: Int) -> Instant? {
    histories[number]?.starts.nextToken(at: Self.startRate)
  }

  private func start(_ order: Order) throws(SystemError) {
    var output = try OutputPipe()
    let decoder = try DecoderChild(
      order.id, of: order.worker, workerNumber: order.workerNumber, executable: executable,
      channel: order.channel, errorStream: output.writerDescriptor)
    lastNumber += 1
    let number = DecoderNumber(rawValue: lastNumber)
    do throws(SystemError) {
      try poller.register(
        decoder.exitDescriptor, .read, token: Token.decoderExit(number).rawValue)
      try errors.add(output.takeReader(), from: .decoder(number), named: decoder.name)
    } catch {
      poller.unregister(decoder.exitDescriptor)
      decoder.killAndReap()
      throw error
    }
    decoders[number] = decoder
  }

  private static func notStarted(
    _ id: DecoderID, of worker: WorkerID, _ reason: String
  ) -> Answer {
    (worker, DecoderExit(decoder: id, end: .notStarted(reason)))
  }

  // MARK: - Ends

  /// Kills a decoder. Its exit answers, unless it waits for its start.
  func end(_ id: DecoderID, of worker: WorkerID) -> Answer? {
    decoders.values.first { $0.worker == worker && $0.id == id }?.kill()
    guard let index = orders.firstIndex(where: { $0.worker == worker && $0.id == id }) else {
      return nil
    }
    orders.remove(at: index)
    return Self.notStarted(id, of: worker, "it was ended before its start")
  }

  /// Kills the decoders of a worker that has ended.
  func endAll(of worker: WorkerID) {
    orders.removeAll { $0.worker == worker }
    for decoder in decoders.values where decoder.worker == worker { decoder.kill() }
  }

  func killAll() {
    orders.removeAll()
    decoders.values.forEach { $0.kill() }
  }

  /// Reaps a decoder that has ended.
  func hasExited(_ number: DecoderNumber, at now: Instant) -> Answer? {
    guard let decoder = decoders[number], let status = decoder.reap() else { return nil }
    decoders[number] = nil
    poller.unregister(decoder.exitDescriptor)
    let lastMessage = errors.end(.decoder(number), at: now)
    // One that exits with 0 has found that its worker closed the connection.
    if !decoder.isKilled, status != .exited(0) {
      noteDeath(of: decoder, status, lastMessage, at: now)
    }
    let end: DecoderExit.End =
      switch status {
      case .exited(let code): .exited(code)
      case .signalled(let signal): .signalled(signal)
      }
    return (decoder.worker, DecoderExit(decoder: decoder.id, end: end))
  }

  private func noteDeath(
    of decoder: DecoderChild, _ status: ExitStatus, _ lastMessage: String?,
    at now: Instant
  ) {
    histories[decoder.workerNumber, default: History()].deaths += 1
    guard let skipped = deathAllowance.take(at: now) else { return }
    let before = skipped == 0 ? "" : " (\(skipped) ends before it are not shown)"
    let message = lastMessage.map { ": \($0)" } ?? ""
    log.note("\(decoder.name) \(status)\(before)\(message)")
  }
}

/// One decoder process: a child of the coordinator that serves a worker.
final class DecoderChild {
  /// The number that its worker gave it.
  let id: DecoderID
  let worker: WorkerID
  /// The number of its worker.
  let workerNumber: Int
  private let child: ChildProcess
  /// Whether it was told to end.
  private(set) var isKilled = false

  private static let environment = [
    // The backtracer of Swift is a program of its own. The decoder may not start one, and that attempt
    // would hide the signal that it dies of.
    "SWIFT_BACKTRACE": "enable=no",
    // Huge pages for large allocations, where the kernel grants them on request: a large progressive
    // JPEG has more than 100 MB of coefficients, which cause a page fault for each 4 KiB otherwise
    // (glibc manual, "Memory Allocation Tunables").
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
  ]

  /// Starts the program with nothing of this process but the given descriptors.
  ///
  /// - Parameters:
  ///   - executable: the path of `imgdecoder`.
  ///   - channel: its end of the connection to its worker.
  ///   - errorStream: for what it writes to standard output and error.
  init(
    _ id: DecoderID, of worker: WorkerID, workerNumber: Int, executable: String,
    channel: PassedFile,
    errorStream: CInt
  ) throws(SystemError) {
    self.id = id
    self.worker = worker
    self.workerNumber = workerNumber
    let nothing = try FileIO.open(readingFrom: "/dev/null")
    child = try ChildProcess.spawn(
      executable: executable, arguments: [], environment: Self.environment,
      descriptors: [
        (parent: nothing.rawValue, child: STDIN_FILENO),
        (parent: errorStream, child: STDOUT_FILENO),
        (parent: errorStream, child: STDERR_FILENO),
        (parent: channel.descriptor, child: DecoderDescriptor.channel),
      ])
    // A picture takes a decoder milliseconds. Coordinator and workers need microseconds at a time,
    // and a request waits for them several times.
    child.lowerPriority()
  }

  var processID: Int32 { child.processID }

  /// Names it in the log.
  var name: String { "worker \(workerNumber)'s decoder (process \(processID))" }

  /// Readable when the process has ended.
  var exitDescriptor: CInt { child.descriptor }

  func kill() {
    isKilled = true
    child.signal(SIGKILL)
  }

  /// Kills a process that nothing else knows.
  func killAndReap() {
    kill()
    _ = child.waitForExit(until: .now + .seconds(1))
  }

  /// How the process ended; `nil` while it runs.
  func reap() -> ExitStatus? { child.reap() }
}

/// Names a decoder process. Unlike a `DecoderID`, which a worker chooses, it is the coordinator's own,
/// and differs from the number of every other decoder of its life.
typealias DecoderNumber = Identifier<IdentifierKind.DecoderProcess>

extension IdentifierKind {
  enum DecoderProcess {}
}
