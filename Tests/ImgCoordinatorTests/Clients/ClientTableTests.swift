import FoundationEssentials
import ImgModel
import ImgSettings
import ImgTransport
import ImgWire
import TestFiles
import Testing

@testable import ImgCoordinator

@Suite(.timeLimit(.minutes(20)))
struct ClientTableTests {
  @Test func `a client greets before it asks for anything`() throws {
    let parts = try CoordinatorParts()
    let client = try parts.connect()
    let reply = try client.ask(.status(PlainRequest(id: client.newRequest())))
    #expect(reply?.refusal?.message == "the first frame is not a hello")
    #expect(try client.next() == nil)
    #expect(parts.clients.isEmpty)
  }

  @Test func `a client of another protocol learns the coordinator's, then it is closed`() throws {
    let parts = try CoordinatorParts()
    let client = try parts.connect()
    let reply = try client.ask(.hello(Hello(protocolVersion: 1, processID: 1)))
    guard case .hello(let hello) = reply else {
      Issue.record("no hello came")
      return
    }
    #expect(hello.protocolVersion == Build.protocolVersion)
    #expect(hello.storeDirectory == parts.settings.storeDirectory)
    #expect(try client.next() == nil)
  }

  @Test func `beyond the maximum a client is refused with the reason`() throws {
    let parts = try CoordinatorParts(clientMaximum: 2)
    let clients = [try parts.greetedClient(), try parts.greetedClient()]
    let third = try parts.connect()
    let refusal = try third.next()?.refusal
    #expect(refusal?.code == .unavailable)
    #expect(refusal?.message.hasPrefix("2 clients are connected already") == true)
    #expect(try third.next() == nil)
    for client in clients {
      let reply = try client.ask(.jobs(JobsRequest(id: client.newRequest())))
      guard case .jobs = reply else {
        Issue.record("an earlier client was closed")
        return
      }
    }
  }

  @Test func `replies wait for the flush, and their client is not served meanwhile`() throws {
    let parts = try CoordinatorParts()
    let client = try parts.greetedClient()
    let connection = try #require(parts.clients.all.first)
    let requests = [client.newRequest(), client.newRequest()]
    for request in requests {
      parts.clients.send(.stopping(PlainRequest(id: request)), to: connection)
    }
    #expect(connection.channel.hasUnsent)
    #expect(!connection.wantsTurn)
    #expect(!connection.isRead)
    parts.clients.flush()
    #expect(!connection.channel.hasUnsent)
    for request in requests {
      #expect(try client.next() == .stopping(PlainRequest(id: request)))
    }
  }

  @Test func `a socket that was removed is created again and accepts clients`() throws {
    let parts = try CoordinatorParts()
    let early = try parts.greetedClient()
    try parts.directory.remove("socket")
    parts.listener.doWhatIsDue(at: parts.listener.deadline)
    #expect(FileManager.default.fileExists(atPath: parts.settings.socketPath))
    let late = try parts.greetedClient()
    for client in [early, late] {
      let reply = try client.ask(.jobs(JobsRequest(id: client.newRequest())))
      guard case .jobs = reply else {
        Issue.record("a client was closed")
        return
      }
    }
  }
}
