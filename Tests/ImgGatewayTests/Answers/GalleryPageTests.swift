import FoundationEssentials
import ImgClient
import ImgHTTP
import ImgModel
import Testing

@testable import ImgGateway

/// The files of the gallery as a browser gets them.
struct GalleryPageTests {
  private let gallery = GalleryPage()

  /// Where the files are in the checkout that these tests were compiled from.
  private static let directory =
    #filePath.split(separator: "/").dropLast(4).map { "/\($0)" }.joined()
    + "/Sources/ImgGateway/Gallery/Assets"

  private static func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
  }

  private static func text(_ name: String) throws -> String {
    try String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8)
  }

  private func get(_ target: String, _ fields: HTTPFields = [:]) throws -> HTTPResponse {
    try #require(gallery.response(to: HTTPRequest(.get, target, fields: fields)))
  }

  private func page() throws -> String { try text(of: get("/")) }

  private func text(of response: HTTPResponse) throws -> String {
    guard case .bytes(let body) = response.body else { return "" }
    return String(decoding: body.bytes, as: UTF8.self)
  }

  /// The directory of the files, as the page names it.
  private func directory() throws -> String {
    String(try #require(page().firstMatch(of: /"(\/assets\/[0-9a-f]{32}\/)gallery\.js"/)).1)
  }

  @Test(arguments: [
    (PictureID.line(job: 3, index: 7), "/#job=3&picture=3-7"),
    (
      .record(
        ContentKey(
          0x0F0F_0F0F_0F0F_0F0F, 0x0F0F_0F0F_0F0F_0F0F, 0x0F0F_0F0F_0F0F_0F0F,
          0x0F0F_0F0F_0F0F_0F0F)), "/#picture=" + String(repeating: "0f", count: 32)
    ),
  ])
  func `the page of a picture is a view of the gallery`(id: PictureID, address: String) {
    let response = gallery.redirect(to: id)
    #expect(response.status == .seeOther)
    #expect(response.fields["Location"] == address)
  }

  @Test func `every file of the directory is served as it is`() throws {
    let directory = try directory()
    for name in try Self.names() where name != "index.html" {
      #expect(try text(of: get(directory + name)) == Self.text(name), "\(name)")
    }
  }

  @Test func `the page is the file with the version of the others`() throws {
    let version = try #require(directory().split(separator: "/").last)
    #expect(try page() == Self.text("index.html").replacing("{version}", with: version))
    #expect(try page().contains("data-delay=0.25"))
  }

  @Test(arguments: [
    ("gallery.js", "text/javascript; charset=utf-8"),
    ("gallery.css", "text/css; charset=utf-8"),
    ("icon.svg", "image/svg+xml"),
  ])
  func `a file has its type, and is kept by browsers`(name: String, type: String) throws {
    let response = try get(directory() + name)
    #expect(response.status == .ok)
    #expect(response.fields["Content-Type"] == type)
    #expect(response.fields["Cache-Control"] == "public, max-age=31536000, immutable")
  }

  @Test func `the page and its files run only their own scripts and tell no other site`() throws {
    for target in try ["/", "/?from=bookmark", directory() + "viewer.js"] {
      let fields = try get(target).fields
      let policy = try #require(fields["Content-Security-Policy"])
      #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self'; "))
      #expect(!policy.contains("unsafe") && !policy.contains("http"))
      #expect(fields["X-Content-Type-Options"] == "nosniff")
      #expect(fields["Referrer-Policy"] == "no-referrer")
    }
  }

  @Test func `a browser that has the page gets 304 with its length`() throws {
    let first = try get("/")
    #expect(first.fields["Cache-Control"] == "no-cache")
    let tag = try #require(first.fields["ETag"])
    for known in [tag, "W/\(tag)", "\"other\" ,\t\(tag) ", "*"] {
      let second = try get("/", ["If-None-Match": known])
      #expect(second.status == .notModified, "\(known)")
      // The server sends its length alone.
      #expect(try text(of: second) == text(of: first))
      #expect(second.fields["ETag"] == tag)
      #expect(second.fields["Content-Type"] == nil)
    }
    for known in ["\"other\"", "", " , ", String(tag.dropFirst())] {
      #expect(try get("/", ["If-None-Match": known]).status == .ok, "\(known)")
    }
    #expect(try get("/", ["If-Match": tag]).status == .ok)
    #expect(try get("/", ["If-Match": "\"other\""]).status == .preconditionFailed)
  }

  @Test(arguments: [
    "", "/index.html", "/assets", "/assets/", "/assets/gallery.js", "/assets/0/gallery.js",
    "/assets//gallery.js", "//", "/../assets",
  ])
  func `the gallery has nothing at other paths`(target: String) {
    #expect(gallery.response(to: HTTPRequest(.get, target)) == nil)
  }

  @Test func `a file of another version, and a path below a file, are not there`() throws {
    let directory = try directory()
    for target in [directory, directory + "none.js", directory + "gallery.js/", directory + "../"] {
      #expect(gallery.response(to: HTTPRequest(.get, target)) == nil, "\(target)")
    }
    #expect(gallery.response(to: HTTPRequest(.get, directory + "gallery.js?x")) != nil)
  }

  /// `Content-Security-Policy` blocks both, and text that becomes markup is how attackers get in.
  @Test func `no file has inline styles or scripts, or makes markup of text`() throws {
    let forbidden =
      /\son\w+=|\sstyle=|<style|javascript:|innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(/
    for name in try Self.names() {
      #expect(try Self.text(name).firstMatch(of: forbidden) == nil, "\(name)")
    }
    for script in try Self.text("index.html").matches(of: /<script[^>]*>/) {
      #expect(script.output.contains(" src=\"/assets/"))
    }
  }

  @Test func `no file names another host`() throws {
    for name in try Self.names() {
      let hosts = try Self.text(name).matches(of: /https?:\/\/[\w.]+/).map { String($0.output) }
      #expect(Set(hosts).subtracting(["http://www.w3.org"]).isEmpty, "\(name)")
    }
  }

  @Test func `modules import only files that are there`() throws {
    let names = try Set(Self.names())
    for name in names where name.hasSuffix(".js") {
      for found in try Self.text(name).matches(of: /from "\.\/([^"]+)"/) {
        #expect(names.contains(String(found.1)), "\(found.1) in \(name)")
      }
    }
  }

  @Test func `the gallery filters by the failure codes that there are`() throws {
    let listed = try Self.text("failure-codes.js").matches(of: /"([a-z_]+)"/).map { String($0.1) }
    let others: Set<Failure.Code> = [
      .invalidRequest, .unsupportedOperation, .unknownJob, .wrongState, .otherDataDirectory,
      .storeAbsent, .storeDamaged, .storeFailure, .journal,
    ]
    let codes = Failure.Code.allCases.filter { !$0.meansNoCoordinator && !others.contains($0) }
    #expect(listed.sorted() == codes.map(\.rawValue).sorted())
  }
}

/// How long the pictures of lists may be kept.
struct ListedPictureTests {
  private let fixture: GatewayFixture
  private let url = "https://a.example/b"

  init() throws {
    fixture = try GatewayFixture()
    fixture.serve(url)
  }

  @Test(arguments: ["", "/40/30", "/64.jpg?grayscale"])
  func `a client asks for a line's picture each time, and gets 304`(path: String) async throws {
    let client = ImageClient(transport: fixture.cluster)
    let job = try await client.jobs.submit([url])
    for try await _ in client.jobs.updates(of: job) {}
    let target = "/id/\(job)-0\(path)"
    let first = await fixture.response(.get, target)
    #expect(first.status == .ok)
    let tag = try #require(first.fields["ETag"])
    let second = await fixture.response(.get, target, ["If-None-Match": tag])
    #expect(second.status == .notModified)
    for response in [first, second] {
      #expect(response.fields["Cache-Control"] == "private, no-cache")
      #expect(response.fields["Expires"] == nil)
      #expect(response.fields["Age"] == nil)
    }
  }

  @Test(arguments: ["", "/40/30"])
  func `the picture of a record is kept until it expires`(path: String) async throws {
    _ = try await ImageClient(transport: fixture.cluster).image(for: url)
    let record = try #require(try await fixture.cluster.records(after: nil, limit: 1).first)
    let response = await fixture.response(.get, "/id/\(record.id)\(path)")
    #expect(response.status == .ok)
    #expect(response.fields["Cache-Control"] == "public, max-age=604800")
  }
}

@Suite struct JobLineRequestTests {
  private let client = ImageClient(transport: InMemoryCluster())

  private func request(_ request: ImageJobRequest) async throws -> ImageRequest? {
    let id = try await client.jobs.submit(["https://h.example/a"], as: request)
    return JobLineRequest(try await client.jobs.job(id)).request(of: "https://h.example/a")
  }

  @Test func `a line is requested in the variant of its job`() async throws {
    var variant = ImageVariant(
      width: 30, height: 20, mode: .fill, crop: .point(x: 0.25, y: 1), format: .webp)
    variant.enlarges = true
    variant.quality = 55
    variant.effects.isGrayscale = true
    variant.effects.blur = 1.5
    variant.effects.sharpen = 0.125
    variant.effects.radius = 4
    variant.effects.background = RGBColour(red: 1, green: 2, blue: 3)
    variant.keptData.profile = true
    variant.keptData.metadata = true
    for frames in [
      ImageVariant.Frames.first, .number(3), .time(.milliseconds(1_500)), .poster, .all,
    ] {
      variant.frames = frames
      var job = ImageJobRequest(variant: variant)
      job.acceptsDamage = true
      var expected = ImageRequest(url: "https://h.example/a", variant: variant)
      expected.acceptsDamage = true
      #expect(try await request(job) == expected)
    }
  }

  @Test(
    arguments: [nil, .centre, .attention, .entropy] as [ImageVariant.Crop?])
  func `a line is requested in the crop of its job`(crop: ImageVariant.Crop?) async throws {
    let variant = ImageVariant(size: 30, mode: .fill, crop: crop)
    #expect(try await request(ImageJobRequest(variant: variant))?.variant == variant)
  }

  @Test func `a job with header fields has pictures of its own`() async throws {
    var job = ImageJobRequest(size: 64)
    job.headers = [ImageRequest.HeaderField("Authorization", "secret")]
    #expect(try await request(job) == nil)
  }
}
