import FoundationEssentials
import ImgSystem
import TestCluster
import TestHTTP
import TestOrigin
import Testing

/// The lines of a job, and its events.
@Suite(.timeLimit(.minutes(2)))
struct JobTests {
  private struct Line: Decodable {
    enum CodingKeys: String, CodingKey {
      case id, state, code
      case address = "download_url"
    }

    let id: String
    let state: String
    let code: String?
    let address: String
  }

  private let fixture: GatewayFixture

  init() throws {
    fixture = try GatewayFixture()
    fixture.origin.serve("/a", .body(fixture.picture))
    fixture.origin.serve("/missing", .status(404))
    fixture.origin.serve("/busy", .status(503))
  }

  private func submit(_ paths: String...) throws -> String {
    "\(try fixture.cluster.submit(paths.map { fixture.origin.baseURL + $0 }))"
  }

  private func lines(of job: String) async throws -> [Line] {
    try await fixture.gateway.response("/v2/list?job=\(job)").decoded([Line].self)
  }

  /// Reads the events of a job until they end.
  private func events(of job: String) async throws -> [UInt8] {
    try await fixture.gateway.response("/api/jobs/\(job)/events").body
  }

  @Test func `each line of a job is a picture, or a failure that a retry repeats`() async throws {
    let job = try submit("/a", "/missing", "/busy", "/a")
    #expect(String(decoding: try await events(of: job), as: UTF8.self).contains("event: end"))
    let lines = try await lines(of: job)
    #expect(lines.map(\.id) == (0..<4).map { "\(job)-\($0)" })
    #expect(lines.map(\.state) == ["done", "failed", "failed", "done"])
    #expect(lines.map(\.code) == [nil, "http_status", "http_status", nil])
    let statuses = try await statuses(of: lines)
    #expect([statuses[0], statuses[1], statuses[3]] == [200, 404, 200])
    let cropped = try await fixture.gateway.response("/id/\(job)-0/40/30.webp?grayscale&blur=2")
    #expect(cropped.status == 200)
    #expect(cropped["Content-Type"] == "image/webp")
    #expect(try await fixture.gateway.response("/id/\(job)-9").status == 404)

    fixture.origin.serve("/busy", .body(fixture.picture))
    let retry = "/api/jobs/\(job)/retry"
    let foreign = try await fixture.gateway.response(retry, method: "POST")
    #expect(foreign.status == 403)
    let repeated = try await fixture.gateway.response(
      retry, "X-Requested-With: imgctl", method: "POST")
    #expect(repeated.status == 200)
    _ = try await events(of: job)
    #expect(try await self.lines(of: job).map(\.state) == ["done", "failed", "done", "done"])
  }

  private func statuses(of lines: [Line]) async throws -> [Int] {
    var statuses: [Int] = []
    for line in lines {
      let path = try #require(URLComponents(string: line.address)).path
      statuses.append(try await fixture.gateway.response(path).status)
    }
    return statuses
  }
}

/// Readers of the events of a job, and ends of the coordinator.
@Suite(.timeLimit(.minutes(2)))
struct EventTests {
  private static let streams = "imgctl_gateway_streams"

  private let fixture: GatewayFixture
  private let job: String

  /// A job with a line that the origin holds back.
  init() throws {
    fixture = try GatewayFixture()
    fixture.origin.serve("/held", .body(fixture.picture, delivery: .hold))
    job = "\(try fixture.cluster.submit([fixture.origin.baseURL + "/held"]))"
  }

  /// A client that has read that its events follow.
  private func reader() async throws -> RawClient {
    var client = try fixture.gateway.connect()
    try client.request("/api/jobs/\(job)/events")
    let head = String(decoding: try await client.receive(through: "\r\n\r\n"), as: UTF8.self)
    try #require(head.hasPrefix("HTTP/1.1 200 "), "\(head)")
    return client
  }

  /// The events up to one that contains a text.
  private func events(through text: String, from client: inout RawClient) async throws -> String {
    var events = ""
    while !events.contains(text) {
      let chunk = try await client.receiveChunk()
      try #require(!chunk.isEmpty, "\(events)")
      events += String(decoding: chunk, as: UTF8.self)
    }
    return events
  }

  /// Each reader is one of the 1,000 requests that the connection to the coordinator can have under way.
  @Test func `a reader that leaves is no reader any more`() async throws {
    for _ in 0..<12 {
      for _ in 0..<100 { _ = try await reader() }
      try await fixture.gateway.wait(for: Self.streams, toBe: 0)
    }
    var client = try await reader()
    _ = try await events(through: "event: job", from: &client)
    try await fixture.gateway.wait(for: Self.streams, toBe: 1)
  }

  @Test func `readers that do not read delay neither the job nor other readers`() async throws {
    let silent = try (0..<200).map { _ in try Connection(to: fixture.gateway.address) }
    for reader in silent { try reader.socket.request("/api/jobs/\(job)/events") }
    try await fixture.gateway.wait(for: Self.streams, toBe: silent.count)
    var client = try await reader()
    fixture.origin.release("/held")
    #expect(try await events(through: "event: end", from: &client).contains("\"done\":1"))
    let memory = try #require(ThisProcess.residentByteCount(of: fixture.gateway.run.processID))
    #expect(memory < 128 << 20)
    for reader in silent {
      #expect(
        try await reader.socket.receive().text.hasSuffix(
          "event: end\ndata: {\"phase\":\"success\"}\n\n"))
    }
  }

  @Test func `events go on after the coordinator was started again`() async throws {
    var client = try await reader()
    _ = try await events(through: "event: job", from: &client)
    try fixture.cluster.killCoordinator()
    try fixture.cluster.start()
    fixture.origin.release("/held")
    let rest = try await events(through: "event: end", from: &client)
    #expect(rest.contains("\"done\":1"))
    #expect(!rest.contains("event: failure"))
  }

  @Test func `waiting jobs are counted by what they wait for`() async throws {
    _ = try fixture.cluster.submit([fixture.origin.baseURL + "/held"], "--delay", "1h")
    try await fixture.gateway.wait(for: #"imgctl_waiting_jobs{reason="delayed"}"#, toBe: 1)
    #expect(try await fixture.gateway.metric(#"imgctl_waiting_jobs{reason="store_pinned"}"#) == 0)
    #expect(try await fixture.gateway.metric(#"imgctl_waiting_jobs{reason="bandwidth"}"#) == nil)
  }
}
