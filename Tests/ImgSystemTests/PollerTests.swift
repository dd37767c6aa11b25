import Glibc
import ImgSystem
import Testing

@Suite(.timeLimit(.minutes(20)))
struct PollerTests {
  @Test func `bytes to read are reported under the token until they are read`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let far = pair.takeSecond()
    let poller = try Poller()
    try poller.register(near.rawValue, .read, token: 42)
    #expect(try poller.wait(timeout: .zero).isEmpty)

    _ = try UnixSocket.send(far.rawValue, [1])
    let expected = Poller.Readiness(
      token: 42, isReadable: true, isWritable: false, isHungUp: false)
    #expect(try poller.wait(timeout: nil) == [expected])
    #expect(try poller.wait(timeout: nil) == [expected])

    var buffer: [UInt8] = []
    _ = try UnixSocket.receive(near.rawValue, into: &buffer, upTo: 8)
    #expect(try poller.wait(timeout: .zero).isEmpty)
  }

  @Test func `an update changes interest and token`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let poller = try Poller()
    try poller.register(near.rawValue, [], token: 1)
    #expect(try poller.wait(timeout: .zero).isEmpty)
    try poller.update(near.rawValue, [.read, .write], token: 2)
    let readiness = try poller.wait(timeout: nil)
    #expect(readiness.map(\.token) == [2])
    #expect(readiness.first?.isWritable == true)
    #expect(readiness.first?.isReadable == false)
  }

  @Test func `a descriptor that is registered again is watched again`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let poller = try Poller()
    try poller.register(near.rawValue, .write, token: 1)
    try poller.update(near.rawValue, .write, token: 1)
    poller.unregister(near.rawValue)
    #expect(try poller.wait(timeout: .zero).isEmpty)
    try poller.register(near.rawValue, .write, token: 1)
    #expect(try poller.wait(timeout: nil).map(\.token) == [1])
  }

  @Test func `an update of a descriptor that is not registered is an error`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let poller = try Poller()
    try poller.register(near.rawValue, .write, token: 1)
    poller.unregister(near.rawValue)
    #expect(throws: SystemError.self) {
      try poller.update(near.rawValue, .write, token: 1)
    }
  }

  @Test func `a closed peer is a hang-up for every interest`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let poller = try Poller()
    try poller.register(near.rawValue, [], token: 1)
    do {
      _ = pair.takeSecond()
    }
    #expect(try poller.wait(timeout: nil).first?.isHungUp == true)
  }

  @Test func `nothing is reported for a descriptor after it is unregistered`() throws {
    let wakeup = try Wakeup()
    wakeup.signal()
    let poller = try Poller()
    try poller.register(wakeup.descriptor, .read, token: 1)
    poller.unregister(wakeup.descriptor)
    poller.unregister(wakeup.descriptor)
    #expect(try poller.wait(timeout: .zero).isEmpty)
    try poller.register(wakeup.descriptor, .read, token: 2)
    #expect(try poller.wait(timeout: nil).map(\.token) == [2])
  }

  @Test func `a reused descriptor number has only its new owner's token`() throws {
    let poller = try Poller()
    let (first, second) = (try Wakeup(), try Wakeup())
    first.signal()
    // dup2 makes one number stand for one file after the other, as a close and an open would.
    let number = try UnixSocket.pairEnd().release()
    dup2(first.descriptor, number)
    try poller.register(number, .read, token: 1)
    #expect(try poller.wait(timeout: nil).map(\.token) == [1])

    poller.unregister(number)
    dup2(second.descriptor, number)
    try poller.register(number, .read, token: 2)
    #expect(try poller.wait(timeout: .zero).isEmpty)
    second.signal()
    #expect(try poller.wait(timeout: nil).map(\.token) == [2])
    _ = OwnedDescriptor(adopting: number)
  }

  @Test func `one wait returns at most the maximum of events, the next one the others`() throws {
    let poller = try Poller()
    let wakeups = try (0..<Poller.maximumEventCount + 10).map { _ in try Wakeup() }
    for (index, wakeup) in wakeups.enumerated() {
      wakeup.signal()
      try poller.register(wakeup.descriptor, .read, token: UInt64(index))
    }
    var seen: Set<UInt64> = []
    while seen.count < wakeups.count {
      let readiness = try poller.wait(timeout: .zero)
      #expect((1...Poller.maximumEventCount).contains(readiness.count))
      for event in readiness {
        wakeups[Int(event.token)].drain()
        seen.insert(event.token)
      }
    }
    #expect(try poller.wait(timeout: .zero).isEmpty)
  }

  @Test func `a descriptor can be registered only once`() throws {
    let wakeup = try Wakeup()
    let poller = try Poller()
    try poller.register(wakeup.descriptor, .read, token: 1)
    #expect(throws: SystemError(operation: "epoll_ctl", code: EEXIST)) {
      try poller.register(wakeup.descriptor, .read, token: 2)
    }
  }
}

extension UnixSocket {
  /// A descriptor for a test that needs a number.
  fileprivate static func pairEnd() throws -> OwnedDescriptor {
    var pair = try pair()
    return pair.takeFirst()
  }
}
