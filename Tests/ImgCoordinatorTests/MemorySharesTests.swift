import ImgModel
import ImgScheduler
import ImgSystem
import ImgWire
import Testing

@testable import ImgCoordinator

/// The shares of the memory budget.
@Suite(.timeLimit(.minutes(20))) struct MemorySharesTests {
  private let parts: CoordinatorParts
  private var memory: MemoryShares { parts.requests.memory }

  init() throws {
    parts = try CoordinatorParts()
  }

  /// A client that keeps pictures, and its request.
  private func member() throws -> (client: TestClient, request: RequestID) {
    let client = try parts.greetedClient()
    let request = client.newRequest()
    try client.send(.shareMemory(request))
    return (client, request)
  }

  private func tellChanges() {
    memory.tellChanges()
    parts.performEffects()
  }

  private func changeBudget(toMebibytes size: Int64) {
    parts.scheduler.handle(.limitsChanged(LimitChange(memoryBudgetByteCount: size << 20)))
    memory.sharesChanged()
  }

  @Test func `connections of a process divide its share, which others get when they close`() throws
  {
    let first = try member()
    #expect(try first.client.next() == .memoryShare(first.request, byteCount: 41_943_040))
    do {
      let second = try member()
      #expect(try second.client.next() == .memoryShare(second.request, byteCount: 20_971_520))
      tellChanges()
      #expect(try first.client.next() == .memoryShare(first.request, byteCount: 20_971_520))
      #expect(memory.status == .init(processCount: 1, shareByteCount: 41_943_040))
    }
    while parts.clients.all.count > 1 { try parts.round() }
    tellChanges()
    #expect(try first.client.next() == .memoryShare(first.request, byteCount: 41_943_040))
    changeBudget(toMebibytes: 80)
    tellChanges()
    #expect(try first.client.next() == .memoryShare(first.request, byteCount: 80 << 20))
    #expect(!memory.hasChanges)
  }

  @Test func `each process counts once, however many connections it has`() throws {
    var connections: [ClientConnection] = []
    for (number, processID) in [10, 11, 11, 11, 11].enumerated() {
      var pair = try UnixSocket.pair()
      let client = ClientConnection(
        id: ClientID(rawValue: UInt64(100 + number)), processID: Int32(processID),
        channel: try Channel(pair.takeFirst()))
      memory.add(client, RequestID(rawValue: 1))
      connections.append(client)
    }
    #expect(memory.status == .init(processCount: 2, shareByteCount: 20_971_520))
    for client in connections.dropFirst(2) { memory.remove(client) }
    #expect(memory.status.processCount == 2)
    memory.remove(connections[1])
    #expect(memory.status == .init(processCount: 1, shareByteCount: 41_943_040))
  }

  @Test func `a client that reads late is told its newest share alone`() throws {
    let (client, request) = try member()
    #expect(try client.next() == .memoryShare(request, byteCount: 40 << 20))
    let connection = try #require(parts.clients.all.first)
    var unreadCount = 0
    while !parts.clients.isBehind(connection) {
      parts.clients.send(.stopping(request, clients: []), to: connection)
      parts.clients.flush()
      unreadCount += 1
    }
    for size: Int64 in [20, 30, 80] {
      changeBudget(toMebibytes: size)
      tellChanges()
    }
    #expect(memory.hasChanges)
    for _ in 0..<unreadCount { #expect(try client.next() == .stopping(request, clients: [])) }
    tellChanges()
    #expect(try client.next() == .memoryShare(request, byteCount: 80 << 20))
    #expect(!memory.hasChanges)
  }
}
