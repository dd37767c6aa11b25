import Glibc
import ImgSystem
import Testing

@Suite(.timeLimit(.minutes(20))) struct ChildProcessTests {
  @Test func `a missing program is ENOENT`() {
    #expect(throws: SystemError(operation: "posix_spawn /nowhere/worker", code: ENOENT)) {
      _ = try ChildProcess.spawn(
        executable: "/nowhere/worker", arguments: [], environment: nil, descriptors: [])
    }
  }

  @Test func `an argument with a zero byte is refused`() {
    #expect(throws: SystemError(operation: "posix_spawn", code: EINVAL)) {
      _ = try ChildProcess.spawn(
        executable: "/bin/sh", arguments: ["a\0b"], environment: nil, descriptors: [])
    }
  }

  @Test func `arguments and environment are passed unchanged`() throws {
    var output = try Pipe()
    let child = try ChildProcess.spawn(
      executable: "/bin/sh",
      arguments: ["-c", #"printf '%s|%s|%s' "$1" "$A" "$HOME""#, "x", "a b"],
      environment: ["A": "ä=1"], descriptors: [(parent: output.writerNumber, child: 1)])
    #expect(try output.textToEnd() == "a b|ä=1|")
    #expect(child.waitForExit(until: .now + .seconds(60)) == .exited(0))
  }

  @Test func `without an environment, the child inherits the parent's`() throws {
    var output = try Pipe()
    let child = try shell(#"printf %s "$PATH""#, [(parent: output.writerNumber, child: 1)])
    #expect(try output.textToEnd() == ThisProcess.environment["PATH"])
    #expect(child.waitForExit(until: .now + .seconds(60)) == .exited(0))
  }

  @Test func `descriptors that swap numbers do not overwrite each other`() throws {
    var first = try Pipe()
    var second = try Pipe()
    let (a, b) = (first.writerNumber, second.writerNumber)
    let child = try shell(
      "printf one >/proc/self/fd/\(b); printf two >/proc/self/fd/\(a)",
      [(parent: a, child: b), (parent: b, child: a)])
    #expect(try first.textToEnd() == "one")
    #expect(try second.textToEnd() == "two")
    #expect(child.waitForExit(until: .now + .seconds(60)) == .exited(0))
  }

  @Test func `a descriptor may keep its number`() throws {
    var output = try Pipe()
    let number = output.writerNumber
    let child = try shell("printf kept >/proc/self/fd/\(number)", [(parent: number, child: number)])
    #expect(try output.textToEnd() == "kept")
    #expect(child.waitForExit(until: .now + .seconds(60)) == .exited(0))
  }

  @Test func `no other descriptor reaches the child, close-on-exec or not`() throws {
    var output = try Pipe()
    let leaky = OwnedDescriptor(adopting: fcntl(output.reader.rawValue, F_DUPFD, 200))
    let child = try shell(
      "[ ! -e /proc/self/fd/\(leaky.rawValue) ] && printf clean",
      [(parent: output.writerNumber, child: 1)])
    #expect(try output.textToEnd() == "clean")
    #expect(child.waitForExit(until: .now + .seconds(60)) == .exited(0))
  }

  @Test func `a closed descriptor fails the spawn and leaves no copy`() throws {
    var output = try Pipe()
    #expect(throws: SystemError(operation: "fcntl F_DUPFD_CLOEXEC", code: EBADF)) {
      _ = try shell("exit 0", [(parent: output.writerNumber, child: 3), (parent: -1, child: 4)])
    }
    #expect(try output.textToEnd() == "")
  }

  @Test func `the child starts with no signal blocked and none ignored`() throws {
    ThisProcess.ignoreBrokenPipe()
    _ = try SignalSource([SIGTERM])
    let first = try shell("kill -PIPE $$; exit 0")
    #expect(first.waitForExit(until: .now + .seconds(60)) == .signalled(SIGPIPE))
    let second = try sleeper()
    second.signal(SIGTERM)
    #expect(second.waitForExit(until: .now + .seconds(60)) == .signalled(SIGTERM))
  }

  @Test(arguments: [true, false])
  func `a detached child leads a new session`(isDetached: Bool) throws {
    let child = try ChildProcess.spawn(
      executable: "/bin/sleep", arguments: ["60"], environment: nil, descriptors: [],
      isDetached: isDetached)
    #expect((getsid(child.processID) == child.processID) == isDetached)
    child.signal(SIGKILL)
    #expect(child.waitForExit(until: .now + .seconds(60)) == .signalled(SIGKILL))
  }

  @Test func `an exit status has a description`() {
    #expect(ExitStatus.exited(1).description == "exited with status 1")
    #expect(ExitStatus.signalled(9).description == "was killed by signal 9 (SIGKILL)")
    #expect(ExitStatus.signalled(40).description == "was killed by signal 40")
  }

  private func shell(
    _ command: String, _ descriptors: [(parent: CInt, child: CInt)] = []
  ) throws -> ChildProcess {
    try ChildProcess.spawn(
      executable: "/bin/sh", arguments: ["-c", command], environment: nil, descriptors: descriptors)
  }

  /// Runs until it is killed.
  private func sleeper() throws -> ChildProcess {
    try ChildProcess.spawn(
      executable: "/bin/sleep", arguments: ["60"], environment: nil, descriptors: [])
  }
}

@Suite(.timeLimit(.minutes(20))) struct OtherProcessTests {
  @Test func `a process can be signalled and awaited`() throws {
    var pipe = try UnixSocket.pair()
    let ours = pipe.takeFirst()
    let theirs = pipe.takeSecond()
    let child = try ChildProcess.spawn(
      executable: "/bin/cat", arguments: [], environment: [:],
      descriptors: [(parent: theirs.rawValue, child: 0)])
    guard let process = try OtherProcess(child.processID) else {
      Issue.record("a child runs until it is reaped")
      return
    }
    #expect(process.processID == child.processID)
    #expect(try !process.waitForExit(until: .now))
    try process.signal(SIGTERM)
    #expect(try process.waitForExit(until: .now + .seconds(60)))
    #expect(child.waitForExit(until: .now + .seconds(60)) == .signalled(SIGTERM))
    try process.signal(SIGTERM)
    _ = ours.rawValue
  }
}

@Suite(.timeLimit(.minutes(20))) struct OutputPipeTests {
  @Test func `what is written is read, then nothing, then the end`() throws {
    var pipe = try OutputPipe()
    let reader = pipe.takeReader()
    var bytes: [UInt8] = []
    #expect(try OutputPipe.read(reader.rawValue, into: &bytes) == .nothing)
    try FileIO.writeAll(pipe.writerDescriptor, "last")
    let result = try end(pipe, readBy: reader.rawValue, into: &bytes)
    #expect(result == .bytes)
    #expect(String(decoding: bytes, as: UTF8.self) == "last")
    // Until no child that another test starts has the writer open, as it has until its exec.
    #expect(try UnixSocket.waitReadable(reader.rawValue, until: .now + .seconds(240)))
    #expect(try OutputPipe.read(reader.rawValue, into: &bytes) == .closed)
  }

  private func end(
    _ pipe: consuming OutputPipe, readBy reader: CInt, into bytes: inout [UInt8]
  ) throws -> OutputPipe.ReadResult {
    _ = consume pipe
    return try OutputPipe.read(reader, into: &bytes)
  }

  @Test func `a writer does not wait for a reader`() throws {
    let pipe = try OutputPipe()
    let bytes = [UInt8](repeating: 0, count: OutputPipe.capacity)
    var writtenCount = 0
    while true {
      let count = unsafe write(pipe.writerDescriptor, bytes, bytes.count)
      guard count > 0 else { break }
      writtenCount += count
    }
    #expect(errno == EAGAIN)
    #expect(writtenCount == OutputPipe.capacity)
  }

  @Test func `a writer that waits makes no reader wait`() throws {
    var pipe = try OutputPipe()
    let reader = pipe.takeReader()
    try UnixSocket.setNonBlocking(pipe.writerDescriptor, false)
    var bytes: [UInt8] = []
    #expect(try OutputPipe.read(reader.rawValue, into: &bytes) == .nothing)
  }

  @Test func `a pipe cannot be shut down`() throws {
    let pipe = try OutputPipe()
    #expect(shutdown(pipe.writerDescriptor, CInt(SHUT_RDWR)) == -1)
    #expect(errno == ENOTSOCK)
  }
}

/// The two ends of a pipe, for tests that watch what another process writes or what is closed.
struct Pipe: ~Copyable {
  let reader: OwnedDescriptor
  private var writer: OwnedDescriptor?

  init() throws {
    var ends: [CInt] = [-1, -1]
    try #require(unsafe pipe(&ends) == 0)
    reader = OwnedDescriptor(adopting: ends[0])
    writer = OwnedDescriptor(adopting: ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    writerNumber = ends[1]
  }

  /// The number of the end to write to, as long as it is not closed.
  let writerNumber: CInt

  mutating func closeWriter() {
    writer = nil
  }

  /// All that is written until the last writer closes, as text.
  mutating func textToEnd() throws -> String {
    closeWriter()
    var bytes: [UInt8] = []
    while try FileIO.read(reader.rawValue, into: &bytes, upTo: 4096) > 0 {}
    return String(decoding: bytes, as: UTF8.self)
  }
}

@Suite(.timeLimit(.minutes(20))) struct ThisProcessTests {
  @Test func `memory use is reported for existing processes only`() throws {
    let use = try #require(ThisProcess.memoryUse(of: ThisProcess.processID))
    #expect(use.residentByteCount > 1 << 20)
    #expect((1...use.residentByteCount).contains(use.privateByteCount))
    #expect(ThisProcess.residentByteCount(of: 1 << 30) == nil)
  }

  @Test func `the descriptor limit is raised to the hard one`() throws {
    let limit = ThisProcess.raiseDescriptorLimit()
    let limits = try FileIO.contents(of: "/proc/self/limits", upTo: 1 << 16)
    let line = String(decoding: limits, as: UTF8.self).split(separator: "\n")
      .first { $0.hasPrefix("Max open files") }
    let fields = try #require(line).split(separator: " ")
    #expect(fields.count == 6 && fields[3] == fields[4])
    #expect(fields[3] == "\(limit)")
  }

  @Test func `a timer ends the process when the time has passed`() async {
    await #expect(processExitsWith: .signal(SIGALRM)) {
      ThisProcess.setTimers(.milliseconds(1))
      ThisProcess.pause(for: .seconds(600))
    }
  }

  @Test func `a timer ends a process that has used so much processor time`() async {
    await #expect(processExitsWith: .signal(SIGPROF)) {
      // As if the time on the clock did not pass.
      Glibc.signal(SIGALRM, SIG_IGN)
      ThisProcess.setTimers(.milliseconds(1))
      while true { _ = MonotonicClock.nanoseconds() }
    }
  }

  @Test func `stopped timers do not run`() {
    ThisProcess.setTimers(.seconds(3_600))
    ThisProcess.setTimers(nil)
    for timer in [ITIMER_REAL, ITIMER_PROF] {
      var value = itimerval()
      #expect(unsafe getitimer(__itimer_which_t(timer.rawValue), &value) == 0)
      #expect((value.it_value.tv_sec, value.it_value.tv_usec) == (0, 0))
    }
  }
}

@Suite(.timeLimit(.minutes(20))) struct SignalSourceTests {
  @Test func `signals become readable`() throws {
    let source = try SignalSource([SIGUSR1, SIGUSR2])
    #expect(source.take() == [])
    // To this thread alone: other threads of the test process do not block them.
    pthread_kill(pthread_self(), SIGUSR1)
    pthread_kill(pthread_self(), SIGUSR2)
    #expect(try UnixSocket.waitReadable(source.descriptor, until: .now + .seconds(60)))
    #expect(source.take().sorted() == [SIGUSR1, SIGUSR2])
    #expect(source.take() == [])
  }

  @Test func `a signal that the process ignores is not read`() throws {
    // Ignored by default too, so that this is no change for other tests.
    let before = signal(SIGURG, SIG_IGN)
    defer { _ = signal(SIGURG, before) }
    let source = try SignalSource([SIGURG, SIGUSR2])
    pthread_kill(pthread_self(), SIGURG)
    pthread_kill(pthread_self(), SIGUSR2)
    #expect(source.take() == [SIGUSR2])
  }
}
