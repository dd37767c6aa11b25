import ImgHTTP
import TestHTTP

/// A client for an array, which holds no noncopyable values.
final class Client {
  var socket: RawClient

  init(to address: HTTPServer.Address) throws {
    socket = try RawClient(to: address)
  }
}

/// Many connections.
final class Clients {
  private let clients: [Client]

  init(count: Int, of server: HTTPServer) throws {
    clients = try (0..<count).map { _ in try Client(to: server.address) }
  }

  func send(_ text: String) throws {
    for client in clients { try client.socket.send(text) }
  }

  /// Sends a request on each connection, then receives the responses.
  ///
  /// - Returns: the number of responses with status 200.
  func exchange(_ request: String) async throws -> Int {
    try send(request)
    var count = 0
    for client in clients where try await client.socket.receive().status == 200 { count += 1 }
    return count
  }
}
