import ImgSystem
import Testing

@testable import ImgHTTP

struct DrainTests {
  private let events: EventSet
  private let drains: Drains

  init() throws {
    events = try EventSet()
    drains = Drains(events: events)
  }

  /// Gives the server's end of a connection to the drains several times, and closes it.
  ///
  /// - Returns: the client's end.
  private func client(drainCount: Int) throws -> OwnedDescriptor {
    var pair = try UnixSocket.pair()
    let client = pair.takeFirst()
    let server = pair.takeSecond()
    for _ in 0..<drainCount { drains.add(server.rawValue) }
    return client
  }

  @Test func `a drain keeps its connection until its time is over`() throws {
    let client = try client(drainCount: 1)
    var received: [UInt8] = []
    #expect(try UnixSocket.receive(client.rawValue, into: &received, upTo: 1) == .closed)
    #expect(try UnixSocket.send(client.rawValue, [1, 2, 3]) == 3)
    drains.closeLate(at: MonotonicClock.nanoseconds())
    #expect(!drains.isEmpty)
    drains.closeLate(at: MonotonicClock.nanoseconds() + 6_000_000_000)
    #expect(drains.isEmpty)
    #expect(throws: SystemError.self) { try UnixSocket.send(client.rawValue, [4]) }
  }

  @Test func `drains end when their clients close, and there are only so many`() throws {
    do {
      let client = try client(drainCount: 100)
      #expect(events.wait(milliseconds: 0) == [])
      _ = client
    }
    let tokens = events.wait(milliseconds: 0)
    #expect(tokens.count == 64)
    for token in tokens { drains.handleInput(token: token) }
    #expect(drains.isEmpty)
  }
}
