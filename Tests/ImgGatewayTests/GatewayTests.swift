import FoundationEssentials
import Glibc
import ImgClient
import ImgHTTP
import ImgSettings
import ImgSystem
import TestFiles
import Testing

@testable import ImgGateway

struct GatewaySettingsTests {
  private func settings(
    _ arguments: [String], _ environment: [String: String] = [:]
  ) throws -> GatewaySettings {
    let reader = try ArgumentReader(arguments, for: GatewayInvocation.description)
    return try GatewaySettings(reader, environment: environment)
  }

  @Test func `a flag overrides its variable, and a variable the default`() throws {
    #expect(try settings([]).listen == .standard)
    let environment = ["IMGCTL_LISTEN": "[::1]:90", "IMGCTL_GALLERY": "no", "IMGCTL_HOST": "a,b"]
    let fromVariables = try settings([], environment)
    #expect(fromVariables.listen.place == .internet(host: "::1", port: 90))
    #expect(fromVariables.hasGallery == false)
    #expect(fromVariables.hosts == ["a", "b"])
    let fromFlags = try settings(["--listen", "unix:/run/g", "--gallery=yes"], environment)
    #expect(fromFlags.listen.place == .unix(path: "/run/g"))
    #expect(fromFlags.hasGallery == true)
  }

  @Test(arguments: [
    ["--listen", "::1:8080"], ["--listen", "a:65536"],
    ["--listen", "unix:relative"], ["--signature-size", "7"], ["--requests", "0"],
    ["--maximum-side", "16384"], ["--maximum-side", "0"], ["--host", "https://img.example.org/"],
    ["--host", "img.example.org:8443"], ["--host", "a b"], ["--host", "*.example.org"],
    ["--gallery", "maybe"], ["--request-timeout", "0"],
  ])
  func `a senseless value is refused with the name of its flag`(arguments: [String]) throws {
    let error = #expect(throws: UsageError.self) { try settings(arguments) }
    #expect(error?.description.hasPrefix(arguments[0]) == true)
  }

  @Test(
    arguments: [([], 4_096), (["300"], 300), (["none"], nil)] as [([String], Int?)])
  func `sides have a limit that can be switched off`(values: [String], limit: Int?) throws {
    #expect(try settings(values.flatMap { ["--maximum-side", $0] }).maximumSide == limit)
  }

  @Test func `a host name is read as a browser sends it`() throws {
    #expect(try settings(["--host", "B\u{FC}cher.Example"]).hosts == ["xn--bcher-kva.example"])
  }

  @Test func `no gateway is an open proxy by accident`() throws {
    #expect(throws: UsageError.self) { try settings([]).requireSafety(isLocal: false) }
    try settings([]).requireSafety(isLocal: true)
    try settings(["--allow-unsigned"]).requireSafety(isLocal: false)
    try settings(["--key-file", "keys"]).requireSafety(isLocal: false)
  }

  @Test func `a key of imgproxy that is not obeyed starts no gateway`() throws {
    for variable in ["IMGPROXY_KEY", "IMGPROXY_SALT", "IMGPROXY_SECRET"] {
      let error = #expect(throws: UsageError.self) { try settings([], [variable: "5ec2e7"]) }
      #expect(error?.description.contains(variable) == true)
      #expect(error?.description.contains("--key-file") == true)
      #expect(error?.description.contains("5ec2e7") == false)
    }
    let obeyed = try settings(["--key-file", "keys"], ["IMGPROXY_KEY": "5ec2e7"])
    #expect(obeyed.unreadVariables == ["IMGPROXY_KEY"])
  }

  @Test func `other variables of imgproxy are named`() throws {
    let environment = [
      "IMGPROXY_TTL": "60", "IMGPROXY_BIND": ":80", "IMGPROXY_QUALITY": "", "A": "b",
    ]
    #expect(try settings([], environment).unreadVariables == ["IMGPROXY_BIND", "IMGPROXY_TTL"])
  }

  @Test(
    arguments: [
      ([], true, false), ([], false, true), (["--key-file", "k"], true, true),
      (["--host", "a.example"], true, true), (["--cross-site", "yes"], true, true),
      (["--cross-site", "no"], false, false),
    ] as [([String], Bool, Bool)])
  func `pages of other sites get pictures where the gateway is there for others`(
    arguments: [String], isLocal: Bool, isServed: Bool
  ) throws {
    #expect(try settings(arguments).servesOtherSites(isLocal: isLocal) == isServed)
  }

  @Test func `a key file has keys with their salts, and comments`() throws {
    let directory = TestDirectory()
    let path = try directory.write(
      Array("\u{FEFF}# new\n00112233445566ff 0a0b\r\n\n cafecafecafecafe\n".utf8), to: "keys",
      mode: 0o640)
    var notes: [String] = []
    let keys = try KeyFile.keys(in: path) { notes.append($0) }
    #expect(notes.count == 1 && notes[0].contains("line 4 of \(path) has a key and no salt"))
    #expect(
      keys == [
        SigningKey(key: [0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0xFF], salt: [0x0A, 0x0B]),
        SigningKey(key: [0xCA, 0xFE, 0xCA, 0xFE, 0xCA, 0xFE, 0xCA, 0xFE], salt: []),
      ])
  }

  @Test(arguments: ["", "# nothing\n", "not-a-key\n", "0011 2233 4455\n", "abcdef0123456\n"])
  func `a key file without a valid key is refused, and never shown`(content: String) throws {
    let directory = TestDirectory()
    let path = try directory.write(Array(content.utf8), to: "keys", mode: 0o600)
    let error = #expect(throws: UsageError.self) { try KeyFile.keys(in: path) { _ in } }
    let secret = content.split(separator: "\n").first.map(String.init) ?? "none"
    #expect(error?.description.contains(secret) == false)
  }

  @Test(arguments: [0o602, 0o646, 0o666] as [UInt32])
  func `a key file that all users can change is refused`(mode: UInt32) throws {
    let directory = TestDirectory()
    let path = try directory.write(Array("00112233445566ff 0a0b\n".utf8), to: "keys", mode: mode)
    let error = #expect(throws: UsageError.self) { try KeyFile.keys(in: path) { _ in } }
    #expect(error?.description.contains("chmod 600 \(path)") == true)
  }

  @Test(.enabled(if: ThisProcess.userID == 0, "only root can give a file away"))
  func `a key file of another user is refused`() throws {
    let directory = TestDirectory()
    let path = try directory.write(Array("00ff 0a0b\n".utf8), to: "keys", mode: 0o600)
    #expect(unsafe chown(path, 65_534, 65_534) == 0)
    let error = #expect(throws: UsageError.self) { try KeyFile.keys(in: path) { _ in } }
    #expect(error?.description.contains("\(path) belongs to user 65534") == true)
  }

  @Test(arguments: [(0o400, 0), (0o440, 0), (0o660, 0), (0o444, 1), (0o604, 1)] as [(UInt32, Int)])
  func `a key file that all users can read is noted`(mode: UInt32, count: Int) throws {
    let directory = TestDirectory()
    let path = try directory.write(Array("00112233445566ff 0a0b\n".utf8), to: "keys", mode: mode)
    var notes: [String] = []
    #expect(try KeyFile.keys(in: path) { notes.append($0) }.count == 1)
    #expect(notes.count == count)
    #expect(notes.allSatisfy { $0.contains(path) && !$0.contains("66ff") })
  }
}

struct RouteTests {
  @Test(
    arguments: [
      ("/", .gallery), ("/assets/v1/gallery.js", .gallery), ("/image", .image),
      ("/health", .health), ("/ready", .ready), ("/metrics", .metrics), ("/v2/list", .list),
      ("/id/1-0", .picture), ("/id/1-0/300/200", .picture), ("/id/1-0/info", .picture),
      ("/photo/1-0", .photo(.line(job: 1, index: 0))),
      ("/photo/1-0?a", .photo(.line(job: 1, index: 0))),
      ("/api/jobs", .jobs), ("/api/jobs/7", .job(7)), ("/api/jobs/7/retry", .retry(7)),
      ("/?url=https://a.example/b&w=3", .image), ("/?w=3&url=a.example", .image),
      ("/?w=3", .gallery), ("/?q=url&curl=x", .gallery), ("/image?x", .image),
      ("/unsafe/aHR0cHM6Ly9oL2E", .optionsPath), ("/unsafe/aHR0cHM6Ly9oL2E.png", .optionsPath),
      ("/v2/list/", .list), ("/v2/list/?page=2", .list), ("/id/1-0/", .picture),
      ("/unsafe/300", .optionsPath), ("/200/aHR0cHM6Ly9oL2E", .optionsPath),
      ("/api/jobs/7/events", .events(7)), ("/_/rs:fit:1:1/plain/https://a.example/b", .optionsPath),
    ] as [(String, Route)])
  func `a path has its route`(path: String, route: Route) {
    #expect(Route(target: path) == route)
  }

  @Test(arguments: [
    "", "x", "/images", "/image/", "/v2", "/v2/lists", "/id", "/assets/a", "/api/job",
    "/api/jobs/x", "/api/jobs/7/stop", "/api/jobs/7/retry/now", "/api/jobs/-1",
    "/api/jobs/18446744073709551616", "/v2?url=a.example",
    "/v2/list/1", "/v2/list//", "/v2/lists/1", "/v2/rs:fit:1:1/plain/https://a.example/b",
    "/assets/v1/a/b", "/assets/rs:fit:1:1/plain/https://a.example/b", "/seed/a", "/photo/1/200/300",
    "/photo/1", "/photo/", "/photo/1-0/", "/g/200/300", "/g/200",
  ])
  func `another path has none`(path: String) {
    #expect(Route(target: path) == nil)
  }

  @Test func `only a retry is a POST, and it is nothing else`() {
    #expect(Route.retry(1).allows(.post))
    #expect(!Route.retry(1).allows(.get))
    for route in [Route.image, .list, .job(1), .gallery] {
      #expect(route.allows(.get) && route.allows(.head))
      #expect(!route.allows(.post) && !route.allows(.other("DELETE")))
    }
  }

  @Test func `the gallery is what tells of pictures that are there`() {
    let parts: [Route] = [
      .gallery, .list, .picture, .photo(.line(job: 1, index: 0)), .jobs, .job(1), .retry(1),
      .events(1),
    ]
    #expect(parts.allSatisfy { $0.belongsToGallery })
    #expect(
      [Route.image, .optionsPath, .health, .ready, .metrics].allSatisfy { !$0.belongsToGallery })
  }
}

struct HostGuardTests {
  private func isRefused(_ guarded: HostGuard, _ fields: HTTPFields) -> Bool {
    do throws(RequestRejection) {
      try guarded.check(HTTPRequest(.get, "/", fields: fields))
      return false
    } catch {
      return error.status == .forbidden
    }
  }

  @Test(arguments: [
    "localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.2:80", "[::1]", "[::1]:8080",
    "pictures.test", "Pictures.Test:8080",
  ])
  func `a local gateway answers to names of this machine and to given ones`(host: String) {
    let named = HostGuard(names: ["pictures.test"], isLocal: true, hasGallery: true)
    #expect(!isRefused(named, ["Host": host]))
  }

  @Test(arguments: [
    "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8080", "", "[::1",
    "127.0.0", "128.0.0.1", "127.0.0.256",
  ])
  func `a local gateway does not answer to a name that leads to it from elsewhere`(host: String) {
    #expect(isRefused(HostGuard(names: [], isLocal: true, hasGallery: true), ["Host": host]))
  }

  @Test func `a gateway for other machines answers to every name, or to the given ones`() {
    let unnamed = HostGuard(names: [], isLocal: false, hasGallery: false)
    #expect(!isRefused(unnamed, ["Host": "any.example"]))
    let named = HostGuard(names: ["a.example"], isLocal: false, hasGallery: false)
    #expect(!isRefused(named, ["Host": "a.example"]))
    #expect(isRefused(named, ["Host": "b.example"]))
    #expect(isRefused(named, ["Host": "192.0.2.7.b.example"]))
    for host in ["localhost:8080", "192.0.2.7", "192.0.2.7:8080", "[2001:db8::7]:80", "[::1]"] {
      #expect(!isRefused(named, ["Host": host]), "\(host)")
    }
  }
}

struct PageGuardTests {
  private func isRefused(_ fields: HTTPFields) -> Bool {
    do throws(RequestRejection) {
      let request = HTTPRequest(.post, "/api/jobs/1/retry", fields: fields)
      try PageGuard.check(request, to: .retry(1), servesOtherSites: true)
      return false
    } catch {
      return error.status == .forbidden
    }
  }

  @Test func `a change needs the field that pages of other sites cannot send`() {
    #expect(isRefused([:]))
    let marked = ("X-Requested-With", "imgctl")
    #expect(!isRefused(HTTPFields(dictionaryLiteral: marked)))
    for (site, isRefused) in [
      ("same-origin", false), ("none", false), ("cross-site", true), ("same-site", true),
    ] {
      let fields = HTTPFields(dictionaryLiteral: marked, ("Sec-Fetch-Site", site))
      #expect(self.isRefused(fields) == isRefused, "\(site)")
    }
  }
}

struct HTTPStatusTests {
  @Test(
    arguments: [
      (.invalidURL, 400), (.unsupportedScheme, 400), (.invalidRequest, 400),
      (.blockedAddress, 403), (.blockedOrigin, 403), (.blockedPath, 403), (.optedOut, 403),
      (.unreadableFile, 403),
      (.notCached, 404), (.unknownJob, 404), (.wrongState, 409), (.notAnImage, 415),
      (.unsupportedFormat, 415), (.unsupportedAnimation, 415), (.tooLarge, 422),
      (.tooManyPixels, 422), (.tooManyFrames, 422), (.frameOutOfRange, 422), (.corruptImage, 422),
      (.decodeTimeout, 422), (.decodeCrash, 422), (.outOfMemory, 422), (.dnsFailure, 502),
      (.connectFailure, 502), (.proxyFailure, 502), (.tlsFailure, 502), (.tooManyRedirects, 502),
      (.invalidResponse, 502),
      (.truncatedBody, 502), (.unreachable, 503), (.versionMismatch, 503), (.disconnected, 503),
      (.unavailable, 503), (.notPermitted, 503), (.storeDamaged, 503), (.storeFailure, 503),
      (.storeFull, 503), (.timeout, 504), (.internal, 500),
    ] as [(ImageError.Code, Int)])
  func `a failure has the status that tells its cause`(code: ImageError.Code, status: Int) {
    #expect(HTTPStatus(ImageError(code: code, message: "")).rawValue == status)
  }

  @Test(arguments: [(404, 404), (410, 404), (429, 429), (403, 502), (500, 502)])
  func `what is missing at the origin is missing here`(origin: Int, status: Int) {
    let error = ImageError(code: .httpStatus, httpStatus: origin, message: "")
    #expect(HTTPStatus(error).rawValue == status)
  }

  @Test(arguments: [(429, 429), (500, 503), (403, 503), (404, 503), (410, 503)])
  func `an origin that asks for a pause makes the picture unavailable`(origin: Int, status: Int) {
    let retryAt = Date.now.addingTimeInterval(90)
    let error = ImageError(
      code: .httpStatus, isRetryable: true, httpStatus: origin, retryAt: retryAt, message: "")
    #expect(HTTPStatus(error).rawValue == status)
    let response = FailureReport(error).response()
    let seconds = response.fields["Retry-After"].flatMap { Int($0) } ?? 0
    #expect((2...91).contains(seconds))
  }

  @Test(
    arguments: [.unreachable, .versionMismatch, .storeFailure, .outOfMemory]
      as [ImageError.Code])
  func `clients see neither the command line nor the places of the server`(code: ImageError.Code) {
    let error = ImageError(code: code, message: "give --data-dir, or see /run/imgctl/control.sock")
    let text = FailureReport(error).response().text
    #expect(!text.contains("--"))
    #expect(!text.contains("/run"))
  }

  @Test func `a failure of TLS is told without the words of its library`() {
    let error = ImageError(
      code: .tlsFailure, message: "OpenSSL/3.0.19: error:0A00010B: wrong version")
    let text = FailureReport(error).response().text
    #expect(text.contains("TLS"))
    #expect(!text.contains("OpenSSL"))
  }

  @Test func `a failure for lack of room says when to come back`() {
    let busy = FailureReport(ImageError(code: .unreachable, message: "")).response()
    #expect(busy.fields["Retry-After"] == "1")
    let missing = FailureReport(ImageError(code: .notCached, message: "")).response()
    #expect(missing.fields["Retry-After"] == nil)
  }
}

@Suite(.timeLimit(.minutes(20))) struct MetricsTests {
  @Test func `metrics are in the text format of Prometheus`() async throws {
    let fixture = try GatewayFixture()
    fixture.serve("https://a.example/a.jpg")
    _ = await fixture.response(.get, "/image?url=https://a.example/a.jpg")
    _ = await fixture.response(.get, "/image?url=https://secret.example/none.jpg")
    let response = await fixture.response(.get, "/metrics")
    #expect(response.fields["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
    let lines = response.text.split(separator: "\n")
    let help = lines.filter { $0.hasPrefix("# HELP ") }.compactMap {
      $0.split(separator: " ").dropFirst(2).first
    }
    let types = lines.filter { $0.hasPrefix("# TYPE ") }.compactMap {
      $0.split(separator: " ").dropFirst(2).first
    }
    #expect(help == types)
    #expect(Set(help).count == help.count)
    let sample = /[a-z_]+(\{[a-z_]+="[^"\\]*"(,[a-z_]+="[^"\\]*")*\})? (-?[0-9.e+-]+|\+Inf)/
    for line in lines where !line.hasPrefix("#") {
      #expect(line.wholeMatch(of: sample) != nil, "\(line)")
    }
    #expect(lines.contains(#"imgctl_gateway_requests_total{route="image",status="200"} 1"#))
    #expect(lines.contains(#"imgctl_gateway_requests_total{route="image",status="404"} 1"#))
    #expect(!response.text.contains("secret"))
  }

  @Test func `pictures are counted by where they came from`() async throws {
    let fixture = try GatewayFixture()
    fixture.serve("https://a.example/a.jpg")
    let target = "/image?url=https://a.example/a.jpg"
    let first = await fixture.response(.get, target)
    #expect(first.fields["X-Imgctl-From"] == "network")
    for _ in 1...3 { _ = await fixture.response(.get, target) }
    let tag = try #require(first.fields["ETag"])
    let unchanged = await fixture.response(.get, target, ["If-None-Match": tag])
    #expect(unchanged.status == .notModified)
    let other = await fixture.response(.get, target, ["If-Match": "\"other\""])
    #expect(other.status == .preconditionFailed)
    _ = await fixture.response(.get, "/image?url=https://a.example/none.jpg")
    _ = await fixture.response(.get, "/image?url=https://a.example/none.jpg&default=blank")
    let lines = await fixture.response(.get, "/metrics").text.split(separator: "\n")
    #expect(lines.contains(#"imgctl_gateway_pictures_total{from="network"} 1"#))
    #expect(lines.contains(#"imgctl_gateway_pictures_total{from="store"} 4"#))
    #expect(lines.contains(#"imgctl_gateway_pictures_total{from="replacement"} 1"#))
  }

  @Test func `the buckets of a histogram add up`() {
    let histogram = DurationHistogram()
    for duration in [Duration.microseconds(100), .milliseconds(2), .seconds(90)] {
      histogram.record(duration)
    }
    var text = MetricsText()
    histogram.add(as: "h", labels: "image", to: &text)
    let lines = text.text.split(separator: "\n")
    #expect(lines.contains(#"h_bucket{route="image",le="0.0005"} 1"#))
    #expect(lines.contains(#"h_bucket{route="image",le="0.0025"} 2"#))
    #expect(lines.contains(#"h_bucket{route="image",le="60.0"} 2"#))
    #expect(lines.contains(#"h_bucket{route="image",le="+Inf"} 3"#))
    #expect(lines.contains(#"h_count{route="image"} 3"#))
    #expect(lines.contains(#"h_sum{route="image"} 90.0021"#))
  }
}
