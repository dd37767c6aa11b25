import Glibc
import ImgSystem
import Testing

@Suite(.timeLimit(.minutes(20)))
struct OtherProcessTests {
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
