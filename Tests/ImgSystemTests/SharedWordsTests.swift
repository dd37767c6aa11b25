import Glibc
import ImgSystem
import Testing

@Suite(.timeLimit(.minutes(20)))
struct SharedWordsTests {
  @Test func `words start at zero and keep stored values`() throws {
    let words = try SharedWords(count: 3)
    #expect((0..<3).map(words.load) == [0, 0, 0])
    words.store(.max, at: 1)
    #expect((0..<3).map(words.load) == [0, .max, 0])
  }

  @Test func `two mappings of one file see each other`() throws {
    let words = try SharedWords(count: 2)
    let other = try SharedWords(
      adopting: OwnedDescriptor(adopting: fcntl(words.descriptor, F_DUPFD_CLOEXEC, 0)), count: 2)
    words.store(1, at: 0)
    other.store(2, at: 1)
    #expect(other.load(0) == 1)
    #expect(words.load(1) == 2)
  }

  @Test func `writes of another process are visible`() throws {
    let words = try SharedWords(count: 1)
    let child = try ChildProcess.spawn(
      executable: "/bin/sh", arguments: ["-c", "printf AAAAAAAA >&3"], environment: nil,
      descriptors: [(parent: words.descriptor, child: 3)])
    #expect(child.waitForExit(until: .now + .seconds(60)) == .exited(0))
    #expect(words.load(0) == 0x4141_4141_4141_4141)
  }

  @Test func `the file cannot be truncated`() throws {
    let words = try SharedWords(count: 1)
    #expect(ftruncate(words.descriptor, 0) == -1)
    #expect(errno == EPERM)
  }

  @Test func `a file with too few words is refused`() throws {
    let words = try SharedWords(count: 2)
    #expect(throws: SystemError(operation: "map shared words", code: EINVAL)) {
      _ = try SharedWords(
        adopting: OwnedDescriptor(adopting: fcntl(words.descriptor, F_DUPFD_CLOEXEC, 0)), count: 3)
    }
  }

  @Test func `an access beyond the end traps`() async {
    await #expect(processExitsWith: .failure) {
      _ = try SharedWords(count: 1).load(1)
    }
  }
}
