import Glibc
import ImgModel
import ImgScheduler
import ImgSystem
import ImgWire
import TestCluster
import TestFiles
import Testing

@testable import ImgCoordinator

/// Programs in the place of a worker.
@Suite(.timeLimit(.minutes(20))) struct WorkerPoolTests {
  /// Parts whose one worker was started.
  private func parts(running executable: String) throws -> CoordinatorParts {
    let parts = try CoordinatorParts(workerExecutable: executable)
    parts.scheduler.handle(.began)
    guard case .spawn(let worker, let number) = parts.scheduler.nextEffect() else {
      Issue.record("no worker is started")
      return parts
    }
    parts.workers.spawn(worker, number: number)
    return parts
  }

  private func status(of parts: CoordinatorParts) -> ClusterStatus.Worker {
    parts.scheduler.state.workerStatuses(processes: parts.workers.processes(ofNumber:_:))[0]
  }

  @Test func `a program that cannot be started is a death, and its reason is known`() throws {
    let parts = try parts(running: "/nowhere/imgworker")
    #expect(parts.workers.isEmpty)
    #expect(status(of: parts).state == .backingOff)
    #expect(status(of: parts).deaths == 1)
    let wait = parts.scheduler.state.clusterWait()
    #expect(wait?.kind == .noWorker)
    #expect(wait?.detail?.hasPrefix("/nowhere/imgworker cannot be started") == true)
  }

  @Test func `a program that ends by itself is reaped, and its death counted`() throws {
    let parts = try parts(running: "/bin/true")
    #expect(status(of: parts).processID != nil)
    while !parts.workers.isEmpty { try parts.round() }
    #expect(status(of: parts).processID == nil)
    #expect(status(of: parts).deaths == 1)
  }
}

/// To what the end of a worker process is attributed.
@Suite struct WorkerEndTests {
  private func end(
    _ status: ImgSystem.ExitStatus, isDraining: Bool = false, inStore: Bool = false,
    isOverdue: Bool = false
  ) -> WorkerEnd {
    WorkerEnd(
      status, isDraining: isDraining, hasCrashedInStore: inStore, isOverdue: isOverdue)
  }

  @Test func `a worker leaves in order only when it was told to`() {
    #expect(end(.exited(0), isDraining: true) == .left)
    #expect(end(.exited(0)) == .crashed("exited with status 0"))
    #expect(end(.exited(1), isDraining: true) == .crashed("exited with status 1"))
  }

  @Test(arguments: [SIGKILL, SIGTERM])
  func `a kill from outside counts against nothing, whatever the worker did`(signal: CInt) {
    let status = ImgSystem.ExitStatus.signalled(signal)
    #expect(end(status, inStore: true) == .killed(status.description))
  }

  @Test func `the end of a worker that owed an answer is the coordinator's`() {
    #expect(
      end(.signalled(SIGKILL), isOverdue: true)
        == .killed("was ended by the coordinator: its answer was overdue"))
    #expect(
      end(.signalled(SIGSEGV), isOverdue: true) == .crashed("was killed by signal 11 (SIGSEGV)"))
  }

  @Test func `a crash in the store counts against the store`() {
    let status = ImgSystem.ExitStatus.signalled(SIGBUS)
    #expect(end(status, inStore: true) == .crashedInStore(status.description))
    #expect(end(status) == .crashed(status.description))
  }

  @Test func `the log names the end of every worker but of one that leaves`() {
    #expect(WorkerEnd.left.sentence == nil)
    #expect(WorkerEnd.crashed("exited with status 1").sentence == "exited with status 1")
    #expect(WorkerEnd.crashedInStore("broke").sentence == "broke in the store")
  }
}

@Suite struct SandboxReportsTests {
  private let first = WorkerID(rawValue: 1)
  private let second = WorkerID(rawValue: 2)
  private let complete = SandboxReport(
    hasNoNewPrivileges: true, isNotDumpable: true, hasSystemCallFilter: true, landlockVersion: 7,
    hasOwnNetwork: true)
  private var reports = SandboxReports(coordinator: SandboxReport(isNotDumpable: true))

  @Test func `nothing is known before a worker has reported`() {
    #expect(reports.status.workers == nil)
    #expect(reports.status.decoders == nil)
    #expect(reports.status.coordinator == SandboxReport(isNotDumpable: true))
  }

  @Test mutating func `complete sandboxes give no warning`() {
    #expect(reports.add(WorkerSandbox(worker: complete, decoder: complete), of: first) == [])
    #expect(reports.status.workers == complete)
    #expect(reports.status.decoders == complete)
  }

  @Test mutating func `what a kernel lacks is a warning, once`() {
    var partial = complete
    partial.landlockVersion = nil
    let sandbox = WorkerSandbox(worker: complete, decoder: partial)
    let warning = "warning: the decoders run without Landlock, which the kernel lacks"
    #expect(reports.add(sandbox, of: first) == [warning])
    #expect(reports.add(sandbox, of: second) == [])
  }

  @Test mutating func `only what all processes have counts, until the others have ended`() {
    let older = SandboxReport(
      hasNoNewPrivileges: true, isNotDumpable: true, hasSystemCallFilter: true, landlockVersion: 6)
    _ = reports.add(WorkerSandbox(worker: complete, decoder: complete), of: first)
    _ = reports.add(WorkerSandbox(worker: complete, decoder: older), of: second)
    #expect(reports.status.decoders == older)
    reports.remove(second)
    #expect(reports.status.decoders == complete)
  }
}

@Suite struct StoreSweepsTests {
  private let parts: CoordinatorParts
  private let sweeps: StoreSweeps
  private let start = Instant.now

  init() throws {
    parts = try CoordinatorParts()
    sweeps = StoreSweeps(
      scheduler: parts.scheduler, workers: parts.workers, journal: parts.journal,
      lifecycle: parts.lifecycle, at: start)
  }

  @Test func `no sweep is due while no worker is ready, nor while the coordinator drains`() {
    #expect(sweeps.deadline == nil)
    parts.makeWorkerReady()
    #expect(sweeps.deadline == start)
    parts.lifecycle.drain(because: "test")
    #expect(sweeps.deadline == nil)
  }

  @Test func `a sweep follows each minute, and at once when a client asks`() {
    parts.makeWorkerReady()
    sweeps.sweep(at: start)
    #expect(sweeps.deadline == start + .seconds(60))
    sweeps.sweep(at: start + .seconds(59))
    #expect(sweeps.deadline == start + .seconds(60))
    sweeps.request(at: start + .seconds(5))
    #expect(sweeps.deadline == start + .seconds(5))
    sweeps.sweep(at: start + .seconds(6))
    #expect(sweeps.deadline == start + .seconds(66))
  }

  @Test func `while jobs that are unknown pin thumbnails, a sweep follows each second`() {
    parts.makeWorkerReady()
    sweeps.sweep(at: start)
    for jobs in [[JobID(rawValue: 3)], []] {
      let report = StoreReport(
        directory: "/data/store", budgetByteCount: 1 << 20, diskByteCount: nil, pinnedByteCount: 0,
        pinningJobs: jobs)
      parts.scheduler.handle(.fromWorker(WorkerID(rawValue: 1), .store(report)))
      sweeps.sweep(at: start + .milliseconds(1))
      #expect(sweeps.deadline == start + .seconds(jobs.isEmpty ? 60 : 1))
    }
    sweeps.pinsEnded(at: start + .seconds(2))
    #expect(sweeps.deadline == start + .seconds(2))
  }
}

/// Programs in the place of decoders.
@Suite(.timeLimit(.minutes(20))) final class DecoderChildrenTests {
  private let poller: Poller
  private let errors: ErrorStreams
  private let worker: WorkerProcess
  private let programs: TestDirectory
  /// The worker's ends of the connections.
  private var sockets: [PassedFile] = []

  init() throws {
    // Elsewhere the mount may forbid to execute files.
    programs = TestDirectory(in: "/tmp")
    poller = try Poller()
    errors = ErrorStreams(poller: poller, log: Log())
    worker = try WorkerProcess(
      id: WorkerID(rawValue: 1), number: 0, executable: "/bin/true", errorStream: STDERR_FILENO,
      bandwidth: SharedBandwidth())
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

  @Test func `a decoder gets its connection, empty input, and an environment of its own`() throws {
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
    let now = Instant.now
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

  @Test func `the log has a decoder's last words with its death, and no others`() throws {
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
