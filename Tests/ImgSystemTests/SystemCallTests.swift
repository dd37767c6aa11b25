import Glibc
import Testing

@testable import ImgSystem

struct SystemCallTests {
  @Test func `an interrupted call is repeated`() throws {
    var interruptions = 3
    let result: Int = try systemCall("test") {
      guard interruptions > 0 else { return 7 }
      interruptions -= 1
      errno = EINTR
      return -1
    }
    #expect(result == 7)
    #expect(interruptions == 0)
  }

  @Test func `other failures become errors with operation and code`() {
    #expect(throws: SystemError(operation: "test", code: EACCES)) {
      try systemCall("test") { () -> CInt in
        errno = EACCES
        return -1
      }
    }
  }

  @Test func `a path with a zero byte is refused before the call`() {
    #expect(throws: SystemError(operation: "open", code: EINVAL)) {
      try pathCall("open", "/etc/passwd\0.jpg") { () -> CInt in
        Issue.record("the call was made")
        return 0
      }
    }
  }

  @Test func `an error's description has a sentence and a symbol`() {
    #expect(
      SystemError(operation: "connect", code: ECONNREFUSED).description
        == "connect: Connection refused (ECONNREFUSED)")
    #expect(SystemError(operation: "connect", code: 9999).description == "connect: error 9999")
  }

  @Test(
    arguments: [
      (Duration.zero, 0), (.nanoseconds(1), 1), (.milliseconds(250), 250), (.seconds(-1), 0),
      (.milliseconds(-1), 0), (.seconds(1) + .nanoseconds(1), 1001), (.seconds(1 << 40), CInt.max),
    ] as [(Duration, CInt)])
  func `a wait is rounded up to milliseconds and bounded`(duration: Duration, expected: CInt) {
    #expect(duration.pollTimeout == expected)
  }
}
