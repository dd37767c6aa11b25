import Glibc
import ImgSystem
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ThisProcessTests {
  @Test func `the process reports its own properties`() throws {
    #expect(ThisProcess.processID == getpid())
    #expect(ThisProcess.userID == geteuid())
    let directory = try #require(ThisProcess.executableDirectory)
    #expect(directory.hasPrefix("/"))
    #expect(ThisProcess.environment["PATH"]?.isEmpty == false)
  }

  @Test func `memory use is reported for existing processes only`() throws {
    let use = try #require(ThisProcess.memoryUse(of: ThisProcess.processID))
    #expect(use.residentByteCount > 1 << 20)
    #expect((1...use.residentByteCount).contains(use.privateByteCount))
    #expect(ThisProcess.residentByteCount(of: 1 << 30) == nil)
  }

  @Test func `the processor time of a process grows with its work`() throws {
    let before = try #require(ProcessClock.time(ofProcess: ThisProcess.processID))
    let start = ThreadClock.time()
    while ThreadClock.time() < start + .milliseconds(20) {}
    let after = try #require(ProcessClock.time(ofProcess: ThisProcess.processID))
    #expect(after >= before + .milliseconds(20))
    // No process has a larger number (proc_sys_kernel(5), pid_max).
    #expect(ProcessClock.time(ofProcess: 1 << 22) == nil)
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

  @Test func `the process may use at least one core`() {
    #expect(ThisProcess.usableCoreCount >= 1)
  }

  @Test func `the monotonic clock does not go back`() {
    let monotonic = MonotonicClock.nanoseconds()
    #expect(MonotonicClock.nanoseconds() >= monotonic)
  }

  @Test func `a pipe is not a terminal`() throws {
    let output = try Pipe()
    #expect(!Terminal.isTerminal(output.reader.rawValue))
    #expect(Terminal.columns(output.reader.rawValue) == nil)
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
