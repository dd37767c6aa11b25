import ImgFetch
import ImgModel
import Testing

/// What comes on a connection that serves one request after the other.
@Suite(.timeLimit(.minutes(20))) struct ReusedConnectionTests {
  private let listener: RawListener
  private let fetcher: Fetcher

  init() throws {
    listener = try RawListener()
    fetcher = try Fetcher()
  }

  private static func answer(_ body: String) -> String {
    "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  private static let timeout =
    "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

  /// Fetches from a listener that answers the first request on each connection.
  private func fetch(_ path: String, answer: String) throws -> FinishedTransfer {
    try fetcher.fetch(listener.baseURL + path) {
      if listener.acceptsConnection() { listener.say(Self.answer(answer)) }
    }
  }

  @Test func `a response without a request does not answer the next request`() throws {
    #expect(try fetch("/1", answer: "1").body?.bytes == Array("1".utf8))
    listener.say(Self.answer("late"))
    #expect(try fetch("/2", answer: "2").body?.bytes == Array("2".utf8))
  }

  @Test func `a connection that is closed with a 408 while it is idle answers nothing`() throws {
    #expect(try fetch("/1", answer: "1").body?.bytes == Array("1".utf8))
    listener.say(Self.timeout)
    #expect(try fetch("/2", answer: "2").body?.bytes == Array("2".utf8))
  }

  @Test func `a 408 that crosses a request on a used connection is not its answer`() throws {
    #expect(try fetch("/1", answer: "1").body?.bytes == Array("1".utf8))
    var isClosed = false
    let second = try fetcher.fetch(listener.baseURL + "/2") {
      if !isClosed, listener.receivedRequestCount == 2 {
        listener.say(Self.timeout)
        isClosed = true
      } else if listener.acceptsConnection() {
        listener.say(Self.answer("2"))
      }
    }
    #expect(second.body?.bytes == Array("2".utf8))
  }

  @Test func `a 408 on a new connection is the answer`() throws {
    let transfer = try fetcher.fetch(listener.baseURL + "/1") {
      if listener.acceptsConnection() { listener.say(Self.timeout) }
    }
    #expect(transfer.failure?.httpStatus == 408)
    #expect(!listener.acceptsConnection())
  }
}
