import Glibc
import ImgModel
import ImgSystem
import ImgTransport
import ImgWire
import TestCluster
import TestFiles
import Testing

@testable import ImgCoordinator

/// Programs in the place of decoders.
@Suite(.timeLimit(.minutes(20)))
final class DecoderChildrenTests {
  private let poller: Poller
  private let errors: ErrorStreams
  private let worker: WorkerProcess
  private let programs: TestDirectory
  /// The worker's ends of the connections.
  private var sockets: [PassedFile] = []

  init() throws {
    // Elsewhere the mount may forbid to execute files.
    programs = try TestDirectory(in: "/tmp")
    poller = try Poller()
    errors = ErrorStreams(poller: poller, log: Log())
    worker = try WorkerProcess(
      id: WorkerID(rawValue: 1), number: 0, executable: "/bin/true", errorStream: STDERR_FILENO)
  }

  /// An unreaped child would make other tests, which wait for the end of a process, wait forever.
  deinit {
    worker.killAndReap()
  }

  private func pool(of executable: String, log: Log = Log()) -> DecoderChildren {
    DecoderChildren(executable: executable, errors: errors, poller: poller, log: log)
  }

  /// - Returns: the answer, if the order is refused.
  @discardableResult
  private func order(_ number: UInt64, _ pool: DecoderChildren) throws -> DecoderChildren.Answer? {
    var pair = try UnixSocket.pair()
    sockets.append(PassedFile(adopting: pair.takeFirst()))
    let channel = PassedFile(adopting: pair.takeSecond())
    return pool.order(DecoderID(rawValue: number), for: worker, channel: channel)
  }

  /// Waits for the ends of processes until there is an answer.
  private func answer(of pool: DecoderChildren) throws -> DecoderExit {
    while true {
      for readiness in try poller.wait(timeout: nil) {
        guard case .decoderExit(let number) = Token(rawValue: readiness.token) else { continue }
        if let answer = pool.hasExited(number, at: .now) { return answer.exit }
      }
    }
  }

  @Test func `a program that ends by itself is reaped, and its end told`() throws {
    let pool = pool(of: "/bin/false")
    #expect(try order(1, pool)?.exit == nil)
    #expect(pool.deadline != nil)
    #expect(pool.startDue(at: .now).isEmpty)
    #expect(pool.deadline == nil)
    #expect(pool.processIDs(of: worker.id).count == 1)
    #expect(try answer(of: pool) == DecoderExit(decoder: DecoderID(rawValue: 1), end: .exited(1)))
    #expect(pool.isEmpty)
    #expect(pool.deathCount(ofNumber: 0) == 1)
  }

  @Test func `a decoder has a lower priority than the other processes`() throws {
    let pool = try waitingPool()
    try order(1, pool)
    #expect(pool.startDue(at: .now).isEmpty)
    let decoder = try #require(pool.processIDs(of: worker.id).first)
    // 19 is the lowest priority of all (setpriority(2)).
    #expect(niceValue(of: decoder) == min(niceValue(of: ThisProcess.processID) + 5, 19))
    #expect(niceValue(of: worker.processID) == niceValue(of: ThisProcess.processID))
    #expect(pool.end(DecoderID(rawValue: 1), of: worker.id) == nil)
    #expect(try answer(of: pool).end == .signalled(SIGKILL))
  }

  /// The higher it is, the lower the priority.
  private func niceValue(of processID: Int32) -> CInt {
    getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(processID))
  }

  @Test func `an end with status 0 is no death`() throws {
    let pool = pool(of: "/bin/true")
    try order(1, pool)
    #expect(pool.startDue(at: .now).isEmpty)
    #expect(try answer(of: pool).end == .exited(0))
    #expect(pool.deathCount(ofNumber: 0) == 0)
  }

  @Test
  func `a decoder gets its connection, standard input that is empty, and its own environment`()
    throws
  {
    // The shell adds variables of its own.
    let pool = try pool(
      running: "{ cat; env | grep -v -e ^PWD= -e ^_= -e ^SHLVL=; echo /proc/self/fd/*; } >&3")
    try order(1, pool)
    #expect(pool.startDue(at: .now).isEmpty)
    #expect(try answer(of: pool).end == .exited(0))
    let socket = try #require(sockets.first)
    var bytes: [UInt8] = []
    while case .received = try UnixSocket.receive(socket.descriptor, into: &bytes, upTo: 4_096) {}
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    #expect(
      Set(lines.dropLast())
        == ["SWIFT_BACKTRACE=enable=no", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"])
    #expect(lines.count == 3)
  }

  @Test func `a program that cannot be started is answered with the reason`() throws {
    let pool = pool(of: "/nowhere/imgdecoder")
    try order(1, pool)
    let answers = pool.startDue(at: .now)
    guard case .notStarted(let reason) = answers.first?.exit.end else {
      Issue.record("\(answers)")
      return
    }
    #expect(answers.map(\.worker) == [worker.id])
    #expect(reason.contains("/nowhere/imgdecoder"))
    #expect(pool.isEmpty)
  }

  @Test func `a decoder that is told to end is killed, which is no death`() throws {
    let pool = try waitingPool()
    try order(1, pool)
    #expect(pool.startDue(at: .now).isEmpty)
    #expect(pool.end(DecoderID(rawValue: 1), of: worker.id) == nil)
    #expect(try answer(of: pool).end == .signalled(SIGKILL))
    #expect(pool.deathCount(ofNumber: 0) == 0)
  }

  @Test func `a decoder that dies of a signal counts for the number of its worker`() throws {
    let pool = try waitingPool()
    try order(1, pool)
    #expect(pool.startDue(at: .now).isEmpty)
    let decoder = try #require(pool.processIDs(of: worker.id).first)
    #expect(kill(decoder, SIGSEGV) == 0)
    #expect(try answer(of: pool).end == .signalled(SIGSEGV))
    #expect(pool.deathCount(ofNumber: 0) == 1)
    #expect(pool.deathCount(ofNumber: 1) == 0)
  }

  @Test func `the end of a worker ends its decoders, and forgets those that wait`() throws {
    let pool = try waitingPool()
    try order(1, pool)
    #expect(pool.startDue(at: .now).isEmpty)
    try order(2, pool)
    pool.endAll(of: worker.id)
    #expect(pool.deadline == nil)
    #expect(try answer(of: pool).end == .signalled(SIGKILL))
    #expect(pool.isEmpty)
    #expect(pool.deathCount(ofNumber: 0) == 0)
  }

  @Test func `a worker gets only so many decoders at a time`() throws {
    let pool = try waitingPool()
    for number in 1...UInt64(DecoderChildren.maximumPerWorker) {
      #expect(try order(number, pool)?.exit == nil)
    }
    guard case .notStarted = try order(9, pool)?.exit.end else {
      Issue.record("one more is started")
      return
    }
    #expect(pool.end(DecoderID(rawValue: 1), of: worker.id)?.exit.end != nil)
    #expect(try order(10, pool)?.exit == nil)
    pool.killAll()
  }

  @Test func `starts that follow each other closely wait`() throws {
    let pool = pool(of: "/bin/true")
    let now = ContinuousClock.now
    var startCount = 0
    while startCount < 100 {
      try order(UInt64(startCount), pool)
      #expect(pool.startDue(at: now).isEmpty)
      if let deadline = pool.deadline {
        #expect(deadline > now)
        break
      }
      startCount += 1
      _ = try answer(of: pool)
    }
    #expect(startCount == 10)
    let deadline = try #require(pool.deadline)
    #expect(pool.startDue(at: deadline).isEmpty)
    #expect(pool.processIDs(of: worker.id).count == 1)
    _ = try answer(of: pool)
  }

  @Test func `the log has the last words of a decoder with its death, and not those of others`()
    throws
  {
    var output = try OutputPipe()
    let reader = output.takeReader()
    let log = Log(descriptor: output.writerDescriptor)
    let pool = try pool(running: "echo $$ has no memory >&2; exit 3", log: log)
    try order(1, pool)
    try order(2, pool)
    #expect(pool.startDue(at: .now).isEmpty)
    let processes = pool.processIDs(of: worker.id)
    for _ in processes { _ = try answer(of: pool) }
    var bytes: [UInt8] = []
    #expect(try OutputPipe.read(reader.rawValue, into: &bytes) == .bytes)
    let text = String(decoding: bytes, as: UTF8.self)
    // The second end follows the first too closely for a line of its own.
    #expect(
      processes.contains {
        text.hasSuffix("decoder (process \($0)) exited with status 3: \($0) has no memory\n")
      })
  }

  // MARK: - Programs

  private func pool(running script: String, log: Log = Log()) throws -> DecoderChildren {
    let source = try programs.write(Array("#!/bin/sh\n\(script)\n".utf8), to: "script")
    let path = programs.file("imgdecoder")
    try Programs.install(source, as: path)
    return pool(of: path, log: log)
  }

  /// Decoders that do nothing until their connection is closed.
  private func waitingPool() throws -> DecoderChildren {
    try pool(running: "exec cat <&3")
  }
}
