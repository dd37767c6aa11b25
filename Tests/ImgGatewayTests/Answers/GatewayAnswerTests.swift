import FoundationEssentials
import ImgClient
import ImgHTTP
import ImgSettings
import TestFiles
import Testing

@testable import ImgGateway

@Suite(.timeLimit(.minutes(20))) struct GatewayAnswerTests {
  private let fixture: GatewayFixture

  init() throws {
    fixture = try GatewayFixture()
  }

  @Test func `a picture is loaded once, then a hit at once`() async throws {
    fixture.serve("https://a.example/b.jpg")
    let target = "/image?url=https://a.example/b.jpg&w=100"
    let first = await fixture.response(.get, target)
    #expect(first.status == .ok)
    #expect(first.bytes == [1, 2, 3])
    #expect(first.fields["X-Imgctl-From"] == "network")
    for _ in 1...2 {
      guard case .repeated(let next) = fixture.gateway.answer(to: HTTPRequest(.get, target)) else {
        Issue.record("a hit has to wait")
        return
      }
      #expect(next.response.bytes == [1, 2, 3])
      #expect(next.response.fields["X-Imgctl-From"] == "store")
    }
  }

  @Test func `the formats that clients accept are kept apart`() async throws {
    fixture.serve("https://a.example/b.jpg")
    let target = "/image?url=https://a.example/b.jpg"
    _ = await fixture.response(.get, target, ["Accept": "image/webp"])
    _ = await fixture.response(.get, target, ["Accept": "image/avif"])
    let formats = try await fixture.cluster.records(after: nil, limit: 10).count
    #expect(formats == 2)
  }

  @Test func `a failure says why, with the status that HTTP has for it`() async throws {
    let response = await fixture.response(.get, "/image?url=https://a.example/none.jpg")
    #expect(response.status == .notFound)
    #expect(response.fields["Content-Type"] == "application/json")
    #expect(response.fields["Cache-Control"] == "no-store")
    #expect(response.text.contains(#""code":"http_status""#))
    #expect(response.text.contains(#""http_status":404"#))
  }

  @Test func `no answer shows the password in a URL`() async throws {
    let response = await fixture.response(.get, "/image?url=https://u:secret@a.example/none.jpg")
    #expect(response.text.contains("***"))
    #expect(!response.text.contains("secret"))
  }

  @Test func `a placeholder stands in for a failure, and nothing keeps it`() async throws {
    let response = await fixture.response(
      .get, "/image?url=https://a.example/none.jpg&w=30&h=20&default=photo")
    #expect(response.status == .ok)
    #expect(response.fields["Content-Type"] == "image/svg+xml")
    #expect(
      response.fields["Content-Security-Policy"] == "default-src 'none'; img-src data:; sandbox")
    #expect(response.fields["Cache-Control"] == "no-store")
    #expect(response.fields["X-Imgctl-Failure"] == "http_status")
    #expect(response.text.contains(#"width="30" height="20""#))
  }

  @Test func `another picture stands in for a failure`() async throws {
    fixture.serve("https://a.example/other.jpg", bytes: [9])
    let response = await fixture.response(
      .get, "/image?url=https://a.example/none.jpg&default=https://a.example/other.jpg")
    #expect(response.status == .ok)
    #expect(response.bytes == [9])
    #expect(response.fields["Cache-Control"] == "no-store")
  }

  @Test func `a failure of the other picture is told besides the first one`() async throws {
    let response = await fixture.response(
      .get, "/image?url=https://a.example/none.jpg&default=https://b.example/none.jpg")
    #expect(response.status == .notFound)
    #expect(response.text.contains(#""url":"https://a.example/none.jpg""#))
    #expect(response.text.components(separatedBy: "the origin answered 404").count == 3)
  }

  @Test(arguments: ["photo", "https://a.example/stored.jpg"])
  func `what is at hand stands in where nothing can be loaded`(fallback: String) async throws {
    let fixture = try GatewayFixture { $0.maximumLoads = 1 }
    fixture.serve("https://a.example/stored.jpg", bytes: [9])
    _ = await fixture.response(.get, "/image?url=https://a.example/stored.jpg")
    let held = try await fixture.beginHeldLoad()
    let response = await fixture.response(
      .get, "/image?url=https://a.example/b.jpg&default=\(fallback)")
    #expect(response.status == .ok)
    #expect(response.fields["X-Imgctl-Failure"] == "too_many_requests")
    #expect(response.fields["Cache-Control"] == "no-store")
    let other = await fixture.response(
      .get, "/image?url=https://a.example/b.jpg&default=https://a.example/none.jpg")
    #expect(other.status == .serviceUnavailable)
    fixture.cluster.resume(GatewayFixture.heldURL)
    #expect(await held.value.status == .ok)
  }

  @Test func `another picture has only what is left of the time of the request`() async throws {
    let fixture = try GatewayFixture { $0.requestTimeout = .milliseconds(50) }
    for name in ["a", "b"] {
      fixture.cluster.serve(
        "https://a.example/\(name).jpg", GatewayFixture.image(bytes: [1]), after: [.hold])
    }
    let response = await fixture.response(
      .get, "/image?url=https://a.example/a.jpg&default=https://a.example/b.jpg")
    #expect(response.status == .gatewayTimeout)
    #expect(fixture.cluster.fetchCount(of: "https://a.example/b.jpg") == 0)
  }

  @Test func `weserv's own path has pictures, also without the gallery`() async throws {
    for hasGallery in [true, false] {
      let fixture = try GatewayFixture { $0.hasGallery = hasGallery }
      fixture.serve("https://a.example/a.jpg")
      let response = await fixture.response(.get, "/?url=https://a.example/a.jpg&w=3")
      #expect(response.bytes == [1, 2, 3])
    }
  }

  @Test func `a gateway without a gallery says so`() async throws {
    let fixture = try GatewayFixture { $0.hasGallery = false }
    let response = await fixture.response(.get, "/")
    #expect(response.status == .notFound)
    #expect(response.text.contains("no gallery") && response.text.contains("--gallery yes"))
  }

  @Test(arguments: [16, 63]) func `a text that is no id names no picture`(count: Int) async throws {
    let id = String(repeating: "a", count: count)
    let response = try await GatewayFixture().response(.get, "/id/\(id)")
    #expect(response.status == .notFound)
    #expect(response.text.contains(#""code":"not_found""#))
  }

  @Test func `loads beyond the limit are refused until one ends`() async throws {
    let fixture = try GatewayFixture { $0.maximumLoads = 1 }
    fixture.serve("https://a.example/b.jpg")
    let held = try await fixture.beginHeldLoad()
    let refused = await fixture.response(.get, "/image?url=https://a.example/b.jpg")
    #expect(refused.status == .serviceUnavailable)
    #expect(refused.fields["Retry-After"] == "1")
    fixture.cluster.resume(GatewayFixture.heldURL)
    #expect(await held.value.status == .ok)
    #expect(await fixture.response(.get, "/image?url=https://a.example/b.jpg").status == .ok)
  }

  @Test func `an answer that the server drops begins no load`() async throws {
    let fixture = try GatewayFixture { $0.maximumLoads = 1 }
    fixture.serve("https://a.example/b.jpg")
    _ = fixture.gateway.answer(to: HTTPRequest(.get, "/image?url=https://a.example/a.jpg"))
    #expect(await fixture.response(.get, "/image?url=https://a.example/b.jpg").status == .ok)
  }

  @Test func `the load of another picture counts for its own host`() async throws {
    let fixture = try GatewayFixture { $0.maximumLoads = 4 }
    fixture.cluster.serve(
      "https://b.example/other.jpg", GatewayFixture.image(bytes: [9]), after: [.hold])
    fixture.serve("https://a.example/a.jpg")
    let target = "/image?url=https://a.example/none.jpg&default=https://b.example/other.jpg"
    async let first = fixture.response(.get, "\(target)&w=1")
    async let second = fixture.response(.get, "\(target)&w=2")
    async let third = fixture.response(.get, "\(target)&w=3")
    try await fixture.waitForFetches(3, of: "https://b.example/other.jpg")
    // Three of four places are for one host.
    let refused = await fixture.response(.get, "/image?url=https://b.example/b.jpg")
    #expect(refused.status == .serviceUnavailable)
    #expect(await fixture.response(.get, "/image?url=https://a.example/a.jpg").status == .ok)
    for _ in 0..<3 { fixture.cluster.resume("https://b.example/other.jpg") }
    for response in await [first, second, third] { #expect(response.bytes == [9]) }
  }

  @Test(arguments: [
    "/image?url=https://a.example/b.jpg&w=201", "/?url=https://a.example/b.jpg&h=101&dpr=2",
    "/_/rs:fill:100:201/plain/https://a.example/b.jpg", "/_/w:16383/el:1/plain/https://a.example/b",
    "/id/1-0/201/100", "/id/1-0/201",
  ])
  func `a side that is longer than the server permits is refused`(target: String) async throws {
    let fixture = try GatewayFixture { $0.maximumSide = 200 }
    let response = await fixture.response(.get, target)
    #expect(response.status == .unprocessableContent)
    #expect(response.text.contains("too_large_side"))
    #expect(response.text.contains("200"))
  }

  @Test func `a side within the limit, or none, is permitted`() async throws {
    let fixture = try GatewayFixture { $0.maximumSide = 200 }
    fixture.serve("https://a.example/b.jpg")
    for options in ["&w=200", "&h=100&dpr=2", ""] {
      let target = "/image?url=https://a.example/b.jpg\(options)"
      #expect(await fixture.response(.get, target).status == .ok)
    }
  }

  @Test(
    arguments: [
      ("w=30&h=20", #"width="30" height="20""#), ("w=30", #"width="30" height="30""#),
      ("h=20&dpr=2", #"width="40" height="40""#), ("", #"width="256" height="256""#),
    ])
  func `a side that a request leaves open is as long as the other one in a placeholder`(
    options: String, size: String
  ) async throws {
    let fixture = try GatewayFixture { $0.maximumSide = 200 }
    let response = await fixture.response(
      .get, "/image?url=https://a.example/none.jpg&\(options)&default=photo")
    #expect(response.text.contains(size))
  }

  @Test func `a wrong method is told the right one`() async throws {
    let post = await fixture.response(
      .post, "/image?url=https://a.example/a.jpg", ["X-Requested-With": "imgctl"])
    #expect(post.status == .methodNotAllowed)
    #expect(post.fields["Allow"] == "GET, HEAD")
    let options = await fixture.response(.other("OPTIONS"), "/api/jobs/1/retry")
    #expect(options.status == .methodNotAllowed)
    #expect(options.fields["Allow"] == "POST")
  }

  @Test func `a gateway for other machines has no gallery unless it is told so`() async throws {
    let open = try GatewayFixture(isLocal: false)
    for target in ["/", "/v2/list", "/id/1-0", "/api/jobs"] {
      #expect(await open.response(.get, target).status == .notFound, "\(target)")
    }
    #expect(await open.response(.get, "/health").status == .ok)
    let told = try GatewayFixture(isLocal: false) { $0.hasGallery = true }
    #expect(await told.response(.get, "/").status == .ok)
    let without = try GatewayFixture { $0.hasGallery = false }
    #expect(await without.response(.get, "/").status == .notFound)
  }

  @Test(arguments: ["cross-site", "same-site", "same-origin, cross-site"])
  func `a page of another site gets nothing of the gallery`(site: String) async throws {
    for target in [
      "/", "/v2/list", "/id/1-0", "/id/1-0/15/15", "/photo/1-0", "/api/jobs", "/assets/1/a.js",
    ] {
      let response = await fixture.response(
        .get, target, ["Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"])
      #expect(response.status == .forbidden, "\(target)")
      #expect(response.text.contains(#""code":"foreign_page""#), "\(target)")
    }
  }

  @Test(arguments: ["none", "same-origin"])
  func `the page of the gallery and a person get what belongs to it`(site: String) async throws {
    #expect(await fixture.response(.get, "/v2/list", ["Sec-Fetch-Site": site]).status == .ok)
  }

  @Test func `a link of another site leads to the page of the gallery alone`() async throws {
    func status(_ target: String, mode: String, destination: String) async -> HTTPStatus {
      let fields: HTTPFields = [
        "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": destination,
      ]
      return await fixture.response(.get, target, fields).status
    }
    #expect(await status("/", mode: "navigate", destination: "document") == .ok)
    #expect(await status("/?x", mode: "navigate", destination: "document") == .ok)
    #expect(await status("/", mode: "navigate", destination: "iframe") == .forbidden)
    #expect(await status("/", mode: "cors", destination: "document") == .forbidden)
    #expect(await status("/photo/1-0", mode: "navigate", destination: "document") == .seeOther)
    #expect(await status("/photo/1-0", mode: "cors", destination: "document") == .forbidden)
    #expect(await status("/id/1-0", mode: "navigate", destination: "document") == .forbidden)
    #expect(await status("/v2/list", mode: "navigate", destination: "document") == .forbidden)
  }

  @Test func `browsers hand answers of the gallery to its own pages alone`() async throws {
    fixture.serve("https://a.example/a.jpg")
    let field = "Cross-Origin-Resource-Policy"
    for target in ["/", "/v2/list", "/id/1-0", "/id/1-0/15/15", "/api/jobs/9/events"] {
      #expect(await fixture.response(.get, target).fields[field] == "same-origin", "\(target)")
    }
    for target in ["/image?url=https://a.example/a.jpg", "/_/plain/https://a.example/a.jpg"] {
      let response = await fixture.response(.get, target)
      #expect(response.status == .ok)
      #expect(response.fields[field] == nil)
    }
  }

  @Test func `a page of another site gets no picture where only this machine can connect`()
    async throws
  {
    fixture.serve("https://a.example/a.jpg")
    let told = try GatewayFixture { $0.hasCrossSite = true }
    told.serve("https://a.example/a.jpg")
    for target in ["/image?url=https://a.example/a.jpg", "/_/plain/https://a.example/a.jpg"] {
      let fields: HTTPFields = ["Sec-Fetch-Site": "cross-site"]
      let response = await fixture.response(.get, target, fields)
      #expect(response.status == .forbidden)
      #expect(response.text.contains("--cross-site"))
      #expect(fixture.cluster.fetchCount(of: "https://a.example/a.jpg") == 0)
      #expect(await told.response(.get, target, fields).status == .ok)
    }
    for site in ["same-origin", "same-site", "none"] {
      let target = "/image?url=https://a.example/a.jpg"
      #expect(await fixture.response(.get, target, ["Sec-Fetch-Site": site]).status == .ok)
    }
  }

  @Test func `scripts of all sites read what weserv's form answers, as on weserv`() async throws {
    let fixture = try GatewayFixture { $0.hasCrossSite = true }
    fixture.serve("https://a.example/a.jpg")
    let field = "Access-Control-Allow-Origin"
    for url in ["https://a.example/a.jpg", "https://a.example/none.jpg"] {
      for _ in 1...2 {
        let response = await fixture.response(.get, "/image?url=\(url)")
        #expect(response.fields[field] == "*")
      }
    }
    let path = await fixture.response(.get, "/_/plain/https://a.example/a.jpg")
    #expect(path.fields[field] == nil)
    let preflight = await fixture.response(.other("OPTIONS"), "/image?url=https://a.example/a.jpg")
    #expect(preflight.status == .noContent)
    #expect(preflight.fields[field] == "*")
    #expect(preflight.fields["Access-Control-Allow-Methods"] == "GET, HEAD")
    let plain = await fixture.response(.other("OPTIONS"), "/_/plain/https://a.example/a.jpg")
    #expect(plain.status == .noContent)
    #expect(plain.fields[field] == nil)
  }

  @Test func `whether a name leads to a private address or nowhere has one answer`() {
    let errors = [ImageError.Code.blockedAddress, .dnsFailure].map {
      ImageError(
        code: $0, url: "https://a.example/b", isRetryable: $0 == .dnsFailure, message: "\($0)")
    }
    let responses = errors.map { FailureReport($0).response() }
    #expect(responses[0].status == .badGateway)
    #expect(responses[0].status == responses[1].status)
    #expect(responses[0].bytes == responses[1].bytes)
  }

  @Test func `a cachebuster asks the origin again, and its answer is kept apart`() async throws {
    let url = "https://a.example/a.jpg"
    fixture.serve(url, bytes: [1])
    let first = await fixture.response(.get, "/_/cb:1/plain/\(url)@jpg")
    #expect(first.bytes == [1])
    fixture.serve(url, bytes: [2])
    let second = await fixture.response(.get, "/_/cb:2/plain/\(url)@jpg")
    #expect(second.bytes == [2])
    #expect(second.fields["X-Imgctl-From"] == "network")
    for (version, bytes) in [("1", [1]), ("2", [2])] as [(String, [UInt8])] {
      let again = await fixture.response(.get, "/_/cb:\(version)/plain/\(url)@jpg")
      #expect(again.bytes == bytes)
      #expect(again.fields["X-Imgctl-From"] == "store")
    }
  }

  @Test func `a JPEG of a job serves clients that name no format`() async throws {
    fixture.serve("https://a.example/a.jpg")
    fixture.serve("https://a.example/b.png", format: .webp)
    let client = ImageClient(transport: fixture.cluster, memoryCache: nil)
    var variant = ImageVariant(size: 20)
    variant.enlarges = true
    for url in ["https://a.example/a.jpg", "https://a.example/b.png"] {
      _ = try await client.image(for: ImageRequest(url: url, variant: variant))
    }
    let jpeg = await fixture.response(.get, "/image?url=https://a.example/a.jpg&w=20&h=20")
    #expect(jpeg.fields["X-Imgctl-From"] == "store")
    let webp = await fixture.response(.get, "/image?url=https://a.example/b.png&w=20&h=20")
    #expect(webp.fields["X-Imgctl-From"] == "network")
  }

  @Test func `a gateway with a key has no gallery unless it is told so`() async throws {
    let directory = TestDirectory()
    let keys = try directory.write(Array("00112233445566ff 0a0b\n".utf8), to: "keys", mode: 0o600)
    let fixture = try GatewayFixture { $0.keyFile = keys }
    for target in ["/", "/v2/list", "/id/1-0/15/15", "/api/jobs"] {
      #expect(await fixture.response(.get, target).status == .notFound, "\(target)")
    }
    let told = try GatewayFixture {
      $0.keyFile = keys
      $0.hasGallery = true
    }
    #expect(await told.response(.get, "/").status == .ok)
  }

  @Test func `a gallery for other machines without names takes addresses alone`() async throws {
    let fixture = try GatewayFixture(isLocal: false) { $0.hasGallery = true }
    #expect(await fixture.response(.get, "/", ["Host": "192.0.2.7:8080"]).status == .ok)
    #expect(await fixture.response(.get, "/", ["Host": "a.example"]).status == .forbidden)
    let without = try GatewayFixture(isLocal: false)
    #expect(await without.response(.get, "/health", ["Host": "a.example"]).status == .ok)
  }

  @Test func `the lines of a job and the records of the store are pictures`() async throws {
    fixture.serve("https://a.example/a.jpg", bytes: [7])
    let client = ImageClient(transport: fixture.cluster, memoryCache: nil)
    let job = try await client.jobs.submit([
      "https://a.example/a.jpg", "https://a.example/none.jpg",
    ])
    for try await _ in client.jobs.updates(of: job) {}
    let line = await fixture.response(.get, "/id/\(job)-0")
    #expect(line.status == .ok)
    #expect(line.bytes == [7])
    #expect(await fixture.response(.get, "/id/\(job)-1").status == .notFound)
    #expect(await fixture.response(.get, "/id/\(job)-2").status == .notFound)
    let list = await fixture.response(.get, "/v2/list?job=\(job)&outcome=failed")
    #expect(list.text.contains(#""id":"\#(job)-1""#))
    #expect(!list.text.contains(#""id":"\#(job)-0""#))
    let record = try #require(try await fixture.cluster.records(after: nil, limit: 1).first)
    let stored = await fixture.response(.get, "/id/\(record.id)")
    #expect(stored.bytes == [7])
    #expect(
      await fixture.response(.get, "/id/\(record.id)/info").text.contains(#""byte_count":400"#))
  }

  @Test func `jobs are listed, shown and repeated`() async throws {
    let client = ImageClient(transport: fixture.cluster, memoryCache: nil)
    let job = try await client.jobs.submit(["https://a.example/none.jpg"])
    for try await _ in client.jobs.updates(of: job) {}
    #expect(await fixture.response(.get, "/api/jobs").text.contains(#""job":\#(job)"#))
    #expect(await fixture.response(.get, "/api/jobs/\(job)").text.contains(#""failed":1"#))
    #expect(await fixture.response(.get, "/api/jobs/99").status == .notFound)
    let marked: HTTPFields = ["X-Requested-With": "imgctl"]
    let retry = await fixture.response(.post, "/api/jobs/\(job)/retry", marked)
    #expect(retry.status == .conflict || retry.status == .ok)
    #expect(await fixture.response(.post, "/api/jobs/99/retry", marked).status == .notFound)
  }

  @Test func `the events of a job end with the job`() async throws {
    fixture.serve("https://a.example/a.jpg")
    let client = ImageClient(transport: fixture.cluster, memoryCache: nil)
    let job = try await client.jobs.submit(["https://a.example/a.jpg"])
    let response = await fixture.response(.get, "/api/jobs/\(job)/events")
    #expect(response.fields["Content-Type"] == "text/event-stream")
    guard case .stream(let chunks) = response.body else {
      Issue.record("the answer is no stream")
      return
    }
    var text = ""
    for await chunk in chunks { text += String(decoding: chunk, as: UTF8.self) }
    #expect(text.hasPrefix("retry: 1000\n\n"))
    #expect(text.contains("event: job\ndata: {"))
    #expect(text.hasSuffix("event: end\ndata: {\"phase\":\"success\"}\n\n"))
  }
}
