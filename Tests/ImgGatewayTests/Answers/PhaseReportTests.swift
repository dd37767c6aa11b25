import FoundationEssentials
import ImgClient
import ImgHTTP
import ImgModel
import ImgSettings
import Testing

@testable import ImgGateway

/// What JSON and events say of how far a load is.
@Suite(.timeLimit(.minutes(20))) struct PhaseReportTests {
  /// What observers of one picture are told.
  private struct Observed: Decodable, Equatable {
    struct Failure: Decodable, Equatable {
      let code: String
    }

    enum CodingKeys: String, CodingKey {
      case phase, image, error
      case isLoading = "is_loading"
    }

    var phase: String
    var isLoading: Bool
    var image: String?
    var error: Failure?
  }

  private static let held = GatewayFixture.heldURL
  private static let missing = "https://a.example/none.jpg"
  private static let stored = "https://a.example/a.jpg"

  private let fixture: GatewayFixture
  private let client: ImageClient

  init() throws {
    fixture = try GatewayFixture()
    client = ImageClient(transport: fixture.cluster, memoryCache: nil)
    fixture.serve(Self.stored)
    fixture.cluster.serve(Self.held, GatewayFixture.image(bytes: [7]), after: [.hold])
  }

  private func observed(_ target: String) async throws -> Observed {
    let response = await fixture.response(.get, target, ["Host": "localhost"])
    return try JSONDecoder().decode(Observed.self, from: Data(response.bytes))
  }

  /// The data of the events of a name.
  private func events(_ name: String, _ response: HTTPResponse) async throws -> [String] {
    guard case .stream(let chunks) = response.body else {
      Issue.record("the answer is no stream")
      return []
    }
    var text = ""
    for await chunk in chunks { text += String(decoding: chunk, as: UTF8.self) }
    return text.split(separator: "\n\n").compactMap { event in
      let head = "event: \(name)\ndata: "
      return event.hasPrefix(head) ? String(event.dropFirst(head.count)) : nil
    }
  }

  @Test func `a job has the phase, the image and the error of its pictures`() async throws {
    let job = try await client.jobs.submit([Self.missing, Self.stored])
    for try await _ in client.jobs.updates(of: job) {}
    let failed = Observed(
      phase: "failure", isLoading: false, image: "http://localhost/id/\(job)-1",
      error: .init(code: "http_status"))
    #expect(try await observed("/api/jobs/\(job)") == failed)
    let whole = try await client.jobs.submit([Self.stored])
    for try await _ in client.jobs.updates(of: whole) {}
    let succeeded = Observed(
      phase: "success", isLoading: false, image: "http://localhost/id/\(whole)-0")
    #expect(try await observed("/api/jobs/\(whole)") == succeeded)

    let held = try await client.jobs.submit([Self.held])
    try await fixture.waitForFetches(1, of: Self.held)
    let empty = Observed(phase: "empty", isLoading: true)
    #expect(try await observed("/api/jobs/\(held)") == empty)
    let list = await fixture.response(.get, "/api/jobs").text
    for phase in ["empty", "success", "failure"] {
      #expect(list.contains(#""phase":"\#(phase)""#))
    }
  }

  @Test func `a picture of a list has its phase, its image and its error`() async throws {
    let job = try await client.jobs.submit([Self.missing, Self.stored, Self.held])
    try await fixture.waitForFetches(1, of: Self.held)
    while try await client.jobs.job(job).running > 1 { await Task.yield() }
    #expect(
      try await observed("/id/\(job)-0/info")
        == Observed(phase: "failure", isLoading: false, error: .init(code: "http_status")))
    #expect(
      try await observed("/id/\(job)-1/info")
        == Observed(phase: "success", isLoading: false, image: "http://localhost/id/\(job)-1"))
    #expect(try await observed("/id/\(job)-2/info") == Observed(phase: "empty", isLoading: true))
  }

  @Test func `each event of a job has its phase`() async throws {
    let job = try await client.jobs.submit([Self.stored, Self.missing])
    let response = await fixture.response(.get, "/api/jobs/\(job)/events")
    guard case .stream(let chunks) = response.body else {
      Issue.record("the answer is no stream")
      return
    }
    var text = ""
    for await chunk in chunks { text += String(decoding: chunk, as: UTF8.self) }
    let events = text.split(separator: "\n\n").dropFirst()
    #expect(events.count > 1)
    for event in events { #expect(event.contains(#""phase":""#), "\(event)") }
    #expect(events.last == "event: end\ndata: {\"phase\":\"failure\"}")
  }

  // MARK: - Previews

  @Test func `the events of a picture are its previews, then its end`() async throws {
    let record = try await storedRecord()
    let previews = (1...2).map { number in
      ImagePreview(number: number, bytes: [UInt8(number)], format: .jpeg, width: 8, height: 4)
    }
    fixture.cluster.serve(
      Self.stored, GatewayFixture.image(bytes: [7]),
      after: [.update(.preview(previews[0])), .hold, .update(.preview(previews[1])), .hold])
    let path = "/id/\(record.id)/16/8"
    let response = await fixture.response(.get, "\(path)/events?grayscale", ["Host": "localhost"])
    #expect(response.fields["Content-Type"] == "text/event-stream")
    #expect(response.fields["Cache-Control"] == "no-store")
    guard case .stream(let chunks) = response.body else {
      Issue.record("the answer is no stream")
      return
    }
    var events: [String] = []
    for await chunk in chunks {
      let event = String(decoding: chunk, as: UTF8.self)
      events.append(event)
      if event.contains(#""phase":"preview""#) { fixture.cluster.resume(Self.stored) }
    }
    let shown = events.filter { $0.contains(#""phase":"preview""#) }
    #expect(shown.count == 2)
    for (number, event) in zip(1..., shown) {
      #expect(event.contains(#""is_loading":true"#))
      let data = Data([UInt8(number)]).base64EncodedString()
      #expect(
        event.contains(
          #""preview":{"data":"\#(data)","height":4,"number":\#(number),"type":"image/jpeg","width":8}"#
        ))
    }
    let success = try #require(events.dropLast().last)
    #expect(success.contains(#""phase":"success""#))
    #expect(success.contains(#""image":"http://localhost\#(path)?grayscale""#))
    #expect(events.last == "event: end\ndata: {}\n\n")
    #expect(await fixture.response(.get, "\(path)?grayscale").fields["X-Imgctl-From"] == "store")
  }

  @Test func `the events of a picture that fails end with the failure`() async throws {
    let record = try await storedRecord()
    fixture.cluster.serve(
      Self.stored, failure: ImageError(code: .httpStatus, httpStatus: 500, message: "no"))
    let response = await fixture.response(.get, "/id/\(record.id)/16/8/events")
    let last = try #require(try await events("phase", response).last)
    #expect(last.contains(#""phase":"failure""#))
    #expect(last.contains(#""error":{"code":"http_status""#))
    for target in ["/id/9-0/events", "/id/events", "/id/\(record.id)/info/events"] {
      #expect(await fixture.response(.get, target).status.rawValue >= 400, "\(target)")
    }
  }

  @Test func `the events of a picture need a place as its load does`() async throws {
    let fixture = try GatewayFixture { $0.maximumLoads = 1 }
    fixture.serve(Self.stored)
    let job = try await ImageClient(transport: fixture.cluster).jobs.submit([Self.stored])
    let held = try await fixture.beginHeldLoad()
    let response = await fixture.response(.get, "/id/\(job)-0/16/8/events")
    let last = try #require(try await events("phase", response).last)
    #expect(last.contains(#""code":"too_many_requests""#))
    fixture.cluster.resume(Self.held)
    _ = await held.value
  }

  private func storedRecord() async throws -> CacheRecord {
    _ = try await client.image(for: Self.stored)
    return try #require(try await fixture.cluster.records(after: nil, limit: 1).first)
  }
}
