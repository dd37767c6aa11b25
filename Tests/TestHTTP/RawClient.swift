import Dispatch
import Glibc
package import ImgHTTP
import ImgSystem

/// A client that sends exactly the bytes of a test. Each call has a deadline.
package struct RawClient: ~Copyable {
  package enum Failure: Error {
    case noConnection(CInt)
    /// The server has closed the connection.
    case closed
    case deadline
    case invalidResponse(String)
  }

  package static let patience = Duration.seconds(20)

  private let socket: OwnedDescriptor
  /// What has arrived and is not read.
  private var received: [UInt8] = []

  package init(to address: HTTPServer.Address, sending text: String = "") throws {
    let socket = try Self.connect(to: address)
    try Self.send(Array(text.utf8), on: socket.rawValue)
    self.socket = socket
  }

  private static func connect(to address: HTTPServer.Address) throws -> OwnedDescriptor {
    switch address {
    case .unix(let path): try UnixSocket.connect(path: path)
    case .tcp(let host, let port): try connect(host: host, port: port)
    }
  }

  private static func connect(host: String, port: UInt16) throws -> OwnedDescriptor {
    let ip = IPAddress.bytes(parsing: host) ?? []
    let family = ip.count == 4 ? AF_INET : AF_INET6
    let socket = OwnedDescriptor(
      adopting: try systemCall("socket") {
        Glibc.socket(family, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      })
    var code: CInt
    if family == AF_INET {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      unsafe withUnsafeMutableBytes(of: &address.sin_addr) { unsafe $0.copyBytes(from: ip) }
      code = unsafe withUnsafePointer(to: address) {
        unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe Glibc.connect(socket.rawValue, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    } else {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      unsafe withUnsafeMutableBytes(of: &address.sin6_addr) { unsafe $0.copyBytes(from: ip) }
      code = unsafe withUnsafePointer(to: address) {
        unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe Glibc.connect(socket.rawValue, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
        }
      }
    }
    guard code == 0 else { throw Failure.noConnection(errno) }
    return socket
  }

  package func send(_ text: String) throws {
    try send(Array(text.utf8))
  }

  package func send(_ bytes: [UInt8]) throws {
    try Self.send(bytes, on: socket.rawValue)
  }

  private static func send(_ bytes: [UInt8], on socket: CInt) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      guard let count = try UnixSocket.send(socket, rest) else { continue }
      rest = rest.dropFirst(count)
    }
  }

  /// Tells the server that nothing follows, and stays to read.
  package func endSending() {
    _ = shutdown(socket.rawValue, CInt(SHUT_WR))
  }

  /// The next response.
  ///
  /// - Parameter toHead: whether it answers HEAD, so that it has no body.
  package mutating func receive(toHead: Bool = false) async throws -> RawResponse {
    let head = String(decoding: try await receive(through: "\r\n\r\n"), as: UTF8.self)
    var response = try RawResponse(head: head)
    if toHead || response.status < 200 || [204, 304].contains(response.status) { return response }
    if response["Transfer-Encoding"] == "chunked" {
      while true {
        let chunk = try await receiveChunk()
        if chunk.isEmpty { break }
        response.body += chunk
      }
    } else if let length = response["Content-Length"].flatMap(Int.init) {
      response.body = try await receive(count: length)
    } else {
      response.body = try await receiveRest()
    }
    return response
  }

  /// The next chunk of a body; empty at its end.
  package mutating func receiveChunk() async throws -> [UInt8] {
    let line = try await receive(through: "\r\n").dropLast(2)
    guard let count = Int(String(decoding: line, as: UTF8.self), radix: 16) else {
      throw Failure.invalidResponse(String(decoding: line.prefix(100), as: UTF8.self))
    }
    return Array(try await receive(count: count + 2).dropLast(2))
  }

  /// Everything until the server closes.
  package mutating func receiveRest() async throws -> [UInt8] {
    while try await receiveMore() {}
    defer { received = [] }
    return received
  }

  package mutating func receive(through end: String) async throws -> [UInt8] {
    let end = Array(end.utf8)
    while true {
      if let range = received.firstRange(of: end) {
        defer { received.removeFirst(range.upperBound) }
        return Array(received[..<range.upperBound])
      }
      guard try await receiveMore() else { throw Failure.closed }
    }
  }

  private mutating func receive(count: Int) async throws -> [UInt8] {
    while received.count < count {
      guard try await receiveMore() else { throw Failure.closed }
    }
    defer { received.removeFirst(count) }
    return Array(received[..<count])
  }

  private mutating func receiveMore() async throws -> Bool {
    guard try await Self.isReadable(socket.rawValue) else { throw Failure.deadline }
    let result = try UnixSocket.receive(socket.rawValue, into: &received, upTo: 64 << 10)
    return result != .closed
  }

  /// Waits on a thread of its own: a queue of its own gets one at once. The threads of Swift's concurrency, as
  /// many as cores, are for the tasks of the server.
  private static func isReadable(_ descriptor: CInt) async throws -> Bool {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue(label: "client").async {
        continuation.resume(
          with: Result {
            try UnixSocket.waitReadable(descriptor, until: .now + patience)
          })
      }
    }
  }
}

/// A response as it was sent.
package struct RawResponse: Sendable {
  package let status: Int
  package let fields: [(name: String, value: String)]
  package var body: [UInt8] = []

  /// - Parameter head: the status line and the fields, with the empty line.
  package init(head: String) throws {
    let lines = head.split(separator: "\r\n", omittingEmptySubsequences: true)
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
      throw RawClient.Failure.invalidResponse(head)
    }
    self.status = status
    fields = lines.dropFirst().map { line in
      let name = line.prefix { $0 != ":" }
      return (String(name), String(line.dropFirst(name.count + 1).drop { $0 == " " }))
    }
  }

  /// The value of the first field of a name.
  package subscript(name: String) -> String? {
    fields.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  package var text: String { String(decoding: body, as: UTF8.self) }
}
