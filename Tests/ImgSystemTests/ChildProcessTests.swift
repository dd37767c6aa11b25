import Glibc
import ImgSystem
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ChildProcessTests {
  @Test func `the exit status can be read repeatedly`() throws {
    let child = try shell("exit 3")
    #expect(child.waitForExit(until: .now + .seconds(60)) == .exited(3))
    #expect(child.reap() == .exited(3))
    child.signal(SIGKILL)
    #expect(child.waitForExit(until: .now) == .exited(3))
  }

  @Test func `a poller reports a killed child`() throws {
    let child = try sleeper()
    let poller = try Poller()
    try poller.register(child.descriptor, .read, token: 5)
    #expect(child.reap() == nil)
    #expect(child.waitForExit(until: .now) == nil)
    #expect(try poller.wait(timeout: .zero).isEmpty)
    child.signal(SIGKILL)
    #expect(try poller.wait(timeout: .seconds(60)).map(\.token) == [5])
    #expect(child.reap() == .signalled(SIGKILL))
  }

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

  @Test func `unused descriptor numbers can be assigned`() throws {
    var first = try Pipe()
    var second = try Pipe()
    // The lowest free numbers, in the order in which the next two descriptors would not get them.
    let (b, a) = {
      let (low, high) = (fcntl(0, F_DUPFD_CLOEXEC, 3), fcntl(0, F_DUPFD_CLOEXEC, 3))
      close(low)
      close(high)
      return (low, high)
    }()
    let child = try shell(
      "printf one >/proc/self/fd/\(a); printf two >/proc/self/fd/\(b)",
      [(parent: first.writerNumber, child: a), (parent: second.writerNumber, child: b)])
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
