import CMicroHTTPD
import ImgSystem
import Synchronization

/// A thread that reads the requests of its connections, and sends the responses. It also runs the tasks that prefer
/// it as their executor.
///
/// It waits for events itself. The threads of libmicrohttpd 0.9.75 may wait although there is work: when 128
/// connections, or a multiple, become readable at once, `MHD_epoll` waits for another event before it
/// handles these.
final class EventLoop: Sendable {
  /// What other threads ask for.
  private enum Command {
    case add(CInt, SocketAddress)
    case resume(ConnectionHandle)
    case run(UnownedJob)
    case stop
  }

  private static let daemonToken: UInt64 = 0
  private static let commandsToken: UInt64 = 1
  /// After so many jobs, the connections have their turn: a job may take a fraction of a millisecond.
  private static let jobsPerTurn = 8

  let core: ServerCore
  private let events: EventSet
  /// At most one for each connection that is new or suspended, one for each task, and one to stop.
  private let commands: Mailbox<Command>
  /// Whether the thread waits for events. Orders nothing: a late look gives a connection to a busy thread.
  private let waits = Atomic(false)
  /// Whether the thread runs the jobs that are posted.
  private let takesJobs = Mutex(true)
  private let thread = Mutex<ServiceThread<Never>?>(nil)

  /// Starts the thread, which runs until ``stop()``.
  init(core: ServerCore) throws(SystemError) {
    self.core = core
    events = try EventSet()
    commands = try Mailbox()
    let daemon = try Daemon(loop: self)
    do throws(SystemError) {
      try events.addReadable(daemon.descriptor, token: Self.daemonToken)
      try events.addReadable(commands.descriptor, token: Self.commandsToken)
      let started = try ServiceThread<Never>(name: "http-loop", capacity: 1) { _ in
        self.run(daemon)
      }
      thread.withLock { $0 = started }
    } catch {
      daemon.stop()
      throw error
    }
  }

  /// Whether the thread had nothing to do a moment ago.
  var isIdle: Bool { waits.load(ordering: .relaxed) }

  /// Takes over a connection, whose socket is in the table of connections. Closes it if that fails.
  func add(_ descriptor: CInt, from address: SocketAddress) {
    commands.post(.add(descriptor, address))
  }

  /// Goes on with a suspended connection.
  func resume(_ connection: ConnectionHandle) {
    commands.post(.resume(connection))
  }

  /// Closes the connections and ends the thread. No connection may be suspended or added from now on, see
  /// ``Suspensions/close()``. A second call does nothing.
  func stop() {
    guard let thread = thread.withLock({ $0.take() }) else { return }
    commands.post(.stop)
    thread.join()
  }

  private func run(_ daemon: Daemon) {
    var pending = ArraySlice<Command>()
    var isRunning = true
    while isRunning {
      let mayWait = pending.isEmpty
      waits.store(mayWait, ordering: .relaxed)
      let tokens = events.wait(milliseconds: mayWait ? daemon.timeoutMilliseconds : 0)
      waits.store(false, ordering: .relaxed)
      // Those that have come meanwhile are still there when the pending ones are done.
      if pending.isEmpty, tokens.contains(Self.commandsToken) { pending = commands.takeAll()[...] }
      isRunning = handle(&pending, daemon)
      daemon.run()
    }
    daemon.stop()
    refuseJobs(pending)
  }

  /// Handles commands in their order, until some jobs have run.
  ///
  /// - Returns: whether the thread goes on.
  private func handle(_ pending: inout ArraySlice<Command>, _ daemon: Daemon) -> Bool {
    var jobCount = 0
    while jobCount < Self.jobsPerTurn, let command = pending.popFirst() {
      switch command {
      case .add(let descriptor, let address): add(descriptor, from: address, to: daemon)
      case .resume(let connection): unsafe MHD_resume_connection(connection.pointer)
      case .run(let job):
        run(job)
        jobCount += 1
      case .stop: return false
      }
    }
    return true
  }

  private func run(_ job: UnownedJob) {
    unsafe job.runSynchronously(on: asUnownedTaskExecutor())
  }

  /// Tasks that have not ended go on elsewhere.
  private func refuseJobs(_ pending: ArraySlice<Command>) {
    takesJobs.withLock { $0 = false }
    for case .run(let job) in pending + commands.takeAll() { run(job) }
  }

  private func add(_ descriptor: CInt, from address: SocketAddress, to daemon: Daemon) {
    guard !daemon.add(descriptor, from: address) else { return }
    core.counters.countRefused()
    core.closeConnection(descriptor)
  }
}

extension EventLoop: TaskExecutor {
  /// Runs a part of a task on the thread, or on Swift's own ones if the thread has ended.
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isTaken = takesJobs.withLock { takesJobs in
      if takesJobs { commands.post(.run(job)) }
      return takesJobs
    }
    if !isTaken { globalConcurrentExecutor.enqueue(job) }
  }
}
