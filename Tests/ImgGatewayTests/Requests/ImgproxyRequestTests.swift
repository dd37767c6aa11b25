import FoundationEssentials
import ImgClient
import ImgHTTP
import ImgModel
import Testing

@testable import ImgGateway

@Suite struct ImgproxyRequestTests {
  private let now = WallTime(rawValue: 1_800_000_000_000)

  private func query(_ path: String, presets: [String] = []) throws -> ImageQuery {
    let queries = ImageQueries(presets: try ImgproxyPresets(parsing: presets))
    return try queries.imgproxy(RequestTarget(path), now: now)
  }

  /// The query of options before an address.
  private func query(options: String, presets: [String] = []) throws -> ImageQuery {
    try query("/_/\(options)/plain/https://h.example/a.jpg", presets: presets)
  }

  private func variant(_ options: String, presets: [String] = []) throws -> ImageVariant {
    try query(options: options, presets: presets).request.variant
  }

  private func rejection(_ path: String) throws -> RequestRejection {
    try #require(throws: RequestRejection.self) { try query(path) }
  }

  // MARK: - Addresses

  @Test(arguments: [
    ("/_/plain/https://h.example/a.jpg", "https://h.example/a.jpg"),
    ("/insecure/rs:fit:1:1/plain/HTTP://H.example/a%3Fb=c%2526d", "http://h.example/a?b=c%26d"),
    ("/x/plain/https://u%40h.example/a@png", "https://u@h.example/a"),
    ("/x/plain/https:%2F%2Fh.example%2Fa+b@", "https://h.example/a+b"),
    ("/x/plain/https://h.example/%C3%BC", "https://h.example/%C3%BC"),
    (
      "/_/aHR0cDovL2V4YW1w/bGUuY29tL2ltYWdl/cy9jdXJpb3NpdHku/anBn.png",
      "http://example.com/images/curiosity.jpg"
    ),
    ("/_/w:1/aHR0cHM6Ly9oLmV4YW1wbGUvPz8_", "https://h.example/???"),
    ("/_/aHR0cHM6Ly9oLmV4YW1wbGUvYQ", "https://h.example/a"),
    ("/_/aHR0cHM6Ly9oLmV4YW1wbGUvYQ==.webp", "https://h.example/a"),
    ("/_/aHR0cHM6Ly9oLmV4YW1wbGUvYQ.", "https://h.example/a"),
  ])
  func `an address is plain or in base64`(path: String, url: String) throws {
    #expect(try query(path).request.url == url)
  }

  @Test(arguments: [
    "/_/plain/", "/_/plain", "/_/plain//", "/_/plain/@png", "/_/plain/h.example/a.jpg",
    "/_/plain/ftp://h/a", "/_/plain/https://h.example/a@png@webp", "/_/plain/https://h/%",
    "/_/plain/https://h/%00", "/_/plain/https://h/%FF", "/_/w:1", "/_/w:1/", "/_/", "/_/====",
    "/_/.png", "/_/a", "/_/aHR0cHM6Ly9oL2E+", "/_/aHR0cHM6Ly9oL2E.png.webp", "/_/gICA",
    "/_/YUhSMGNITTZMeTlvTDJF", "/_/plain/https://h.example/a?b", "/_/aHR0cHM6Ly9oL2E?x=1",
    "/_/fill/300/400/sm/0/aHR0cHM6Ly9oL2E.png", "/_/plain/https%253A%252F%252Fh/a",
    "/_/w:%/plain/https://h",
  ])
  func `a path without a URL is refused`(path: String) throws {
    #expect(try rejection(path).status == .badRequest)
  }

  @Test(arguments: ["/", "/_", "//a", "//plain/https://h/a"])
  func `another path is not found`(path: String) throws {
    #expect(try rejection(path).status == .notFound)
  }

  @Test(arguments: ["file:///etc/passwd", "data:,a", "FILE:/etc/passwd"])
  func `local pictures are refused`(url: String) throws {
    #expect(try rejection("/_/plain/\(url)").status == .forbidden)
  }

  @Test(arguments: [
    ("/_/plain/http:/h.example/a", "http://h.example/a"),
    ("/_/plain/https:%2Fh.example/a", "https://h.example/a"),
    ("/_/plain/http%3A/h.example/a", "http://h.example/a"),
    ("/_/plain/https://h.example/\u{FC}", "https://h.example/%C3%BC"),
    ("/_/w:1/plain/https://h.example/a?v=2&utm_source=x&_=1", "https://h.example/a"),
  ])
  func `an address is read as a client wrote it`(path: String, url: String) throws {
    #expect(try query(path).request.url == url)
  }

  // MARK: - Options

  @Test func `without options a picture keeps its size, and who made it`() throws {
    let query = try query("/_/plain/https://h.example/a.jpg")
    var variant = ImageVariant(size: 16_383, mode: .ownSize)
    variant.keptData.copyright = true
    #expect(
      query
        == ImageQuery(
          ImageRequest(url: "https://h.example/a.jpg", variant: variant), service: .imgproxy))
  }

  @Test func `an escaped colon separates, too`() throws {
    #expect(try variant("rs%3Afit%3A50:40") == variant("rs:fit:50:40"))
    #expect(try variant("g%3afp%3a0%3a1/rs:fill:3:2") == variant("g:fp:0:1/rs:fill:3:2"))
  }

  @Test func `a cachebuster asks for another version of the picture`() throws {
    #expect(try query(options: "cb:1").request.version == "cb=1")
    #expect(try query(options: "cachebuster:a%20b").request.version == "cachebuster=a%20b")
    #expect(try query(options: "cb:1/cb:").request.version == nil)
  }

  @Test(
    arguments: [
      ("dpr:0.5", .ownSize, 16_383, 500), ("dpr:2/el:1", .ownSize, 16_383, 2_000),
      ("rs:fill:600:300/dpr:2", .fill, 600, 2_000),
      ("rs:fill-down:600:300/dpr:1.5", .fillDown, 600, 1_500),
      ("rs:auto:600:300/dpr:2", .auto, 600, 2_000),
      ("rs:force:600:300/dpr:2", .stretchDown, 600, 2_000),
      // Where no picture lowers it, the density is in the box.
      ("rs:fill:600:300:1/dpr:2", .fill, 1_200, 1_000), ("w:600/dpr:2", .fit, 1_200, 1_000),
    ] as [(String, ImageVariant.Mode, Int, Int)])
  func `a density that a small picture lowers stands beside the box`(
    options: String, mode: ImageVariant.Mode, width: Int, density: Int
  ) throws {
    let variant = try variant(options)
    #expect(variant.mode == mode)
    #expect(variant.width == width)
    #expect(variant.sizing.density == Thousandths(count: density))
  }

  @Test(
    arguments: [
      ("rs:fit:300:200", 300, 200, .fit, nil, false), ("rs::300", 300, 16_383, .fit, nil, false),
      ("resize:fill:300:200:1", 300, 200, .fill, .centre, true),
      ("rs:fill:300:0", 300, 16_383, .fit, nil, false),
      ("rs:fill", 16_383, 16_383, .ownSize, nil, false),
      ("rs:force:3:2", 3, 2, .stretchDown, nil, false),
      ("rs:force:3:2:t:0", 3, 2, .stretch, nil, true), ("s:3:2:true", 3, 2, .fit, nil, true),
      ("size:3", 3, 16_383, .fit, nil, false), ("w:3/h:2/el:1", 3, 2, .fit, nil, true),
      ("width:3/height:2/rt:fill/enlarge:0", 3, 2, .fill, .centre, false),
      ("w:3/w:", 16_383, 16_383, .ownSize, nil, false), ("w:3/w:5", 5, 16_383, .fit, nil, false),
      ("w:5/rs:fill::2", 5, 2, .fill, .centre, false),
      ("el:1", 16_383, 16_383, .ownSize, nil, true),
      ("g:ce/rs:auto:3:2:0", 3, 2, .auto, .centre, false),
      ("w:3/h:2/rt:auto/g:sm/el:1", 3, 2, .auto, .attention, true),
      ("rs:auto:3:0", 3, 16_383, .fit, nil, false),
      ("rt:auto", 16_383, 16_383, .ownSize, nil, false),
      ("rs:fill-down:3:2/g:so", 3, 2, .fillDown, .point(x: 0.5, y: 1), false),
      ("rs:fill-down::2", 16_383, 2, .fit, nil, false),
      ("rs:fill:3:2/g:no", 3, 2, .fill, .point(x: 0.5, y: 0), false),
      ("rs:fill:3:2/gravity:sowe:0:0", 3, 2, .fill, .point(x: 0, y: 1), false),
      ("rs:fill:3:2/g:sm", 3, 2, .fill, .attention, false),
      ("rs:fill:3:2/g:fp:0.5:0.5", 3, 2, .fill, .centre, false),
      ("rs:fill:3:2/g:fp:0:1", 3, 2, .fill, .point(x: 0, y: 1), false),
      ("rs:fill:3:2/g:sm/g:", 3, 2, .fill, .centre, false),
      ("w:3/g:sm", 3, 16_383, .fit, nil, false),
      ("w:100/h:50/dpr:1.5", 150, 75, .fit, nil, false),
      ("w:1/dpr:0.1", 1, 16_383, .fit, nil, false),
      ("w:100/dpr:3/dpr:", 100, 16_383, .fit, nil, false),
    ] as [(String, Int, Int, ImageVariant.Mode, ImageVariant.Crop?, Bool)])
  func `sizes are boxes`(
    options: String, width: Int, height: Int, mode: ImageVariant.Mode, crop: ImageVariant.Crop?,
    enlarges: Bool
  ) throws {
    var expected = ImageVariant(width: width, height: height, mode: mode, crop: crop)
    expected.enlarges = enlarges
    expected.keptData.copyright = true
    var actual = try variant(options)
    // The tests of limits of sides are about it.
    actual.sizing = .standard
    #expect(actual == expected)
  }

  @Test func `effects and data become those of the variant`() throws {
    var expected = ImageVariant(size: 16_383, mode: .ownSize)
    expected.quality = 60
    expected.effects.blur = 5
    expected.effects.sharpen = 0.7
    expected.effects.background = RGBColour(red: 1, green: 2, blue: 3)
    expected.frames = .number(4)
    expected.keptData.metadata = true
    expected.keptData.profile = true
    #expect(try variant("q:60/bl:5/sh:0.7/bg:1:2:3/pg:4/sm:0/scp:0") == expected)
    #expect(
      try variant(
        "quality:60/blur:5/sharpen:0.7/background:010203/page:4/strip_metadata:f/kcr:1"
          + "/strip_color_profile:false") == expected)
  }

  @Test(arguments: [
    "q:60/q:", "q:60/q:0", "bl:5/bl:", "sh:1/sh:", "bg:fff/bg:", "pg:4/pg:", "sm:0/sm:",
    "scp:0/scp:",
    "f:png/f:", "fn:a/fn:", "att:1/att:", "exp:1800000001/exp:", "exp:1800000001/exp:0",
    "fiu:aHR0cHM6Ly9oL2E/fiu:", "ar:1", "ar:", "da:1", "da:0", "kcr:1", "kcr:0/kcr:", "exar:0",
    "cb:x/cb:",
  ])
  func `an empty argument is the default`(options: String) throws {
    #expect(try query(options: options) == query("/_/plain/https://h.example/a.jpg"))
  }

  @Test(
    arguments: [
      ("/_/f:webp/plain/https://h/a", .webp), ("/_/format:jpeg/plain/https://h/a", .jpeg),
      ("/_/ext:avif/plain/https://h/a", .avif), ("/_/plain/https://h/a@png", .png),
      ("/_/f:webp/plain/https://h/a@gif", .gif), ("/_/aHR0cHM6Ly9oL2E.jpg", .jpeg),
    ] as [(String, ImageVariant.Format)])
  func `an extension goes before the format`(path: String, format: ImageVariant.Format) throws {
    let query = try query(path)
    #expect(query.request.variant.format == format)
    #expect(query.format == .fixed)
  }

  @Test func `a request may have expired`() throws {
    let end = WallTime(rawValue: 1_800_000_060_000)
    #expect(try query(options: "exp:1800000060").expiresAt == end)
    #expect(try query(options: "expires:1800000060").expiresAt == end)
    let rejection = try rejection("/_/exp:1799999999/plain/https://h/a")
    #expect(rejection.status == .notFound)
    #expect(rejection.code == "expired")
  }

  @Test func `a file has a name and may be saved`() throws {
    let query = try query(options: "fn:a%20b/att:1")
    #expect(query.fileName == "a b")
    #expect(query.isAttachment)
    #expect(try self.query(options: "filename:w7w:1").fileName == "ü")
  }

  @Test func `the author and the rights are kept unless the request wants no such data`() throws {
    #expect(try variant("sm:1").keptData.copyright)
    #expect(try !variant("kcr:0").keptData.copyright)
    let all = try variant("sm:0")
    #expect(all.keptData.metadata && !all.keptData.copyright)
  }

  @Test func `a fallback is an address in base64`() throws {
    #expect(try query(options: "fiu:aHR0cHM6Ly9oL2E").fallback == .picture(url: "https://h/a"))
  }

  // MARK: - Presets

  @Test func `presets are options by name`() throws {
    let presets = ["default=q:60/w:300", "sharp=sh:1/pr:wide", "wide=w:500", "self=q:1/pr:self"]
    var expected = ImageVariant(width: 300, height: 16_383)
    expected.quality = 60
    expected.keptData.copyright = true
    expected.sizing = Sizing(maximumPixelCount: 16_383 * 16_383)
    #expect(try variant("h:0", presets: presets) == expected)
    expected.width = 500
    expected.effects.sharpen = 1
    #expect(try variant("pr:sharp", presets: presets) == expected)
    #expect(try variant("pr:wide/w:1/pr::sharp:", presets: presets) == expected)
    #expect(try variant("pr:sharp/w:1/pr:sharp", presets: presets) == expected)
    expected.quality = 1
    #expect(try variant("preset:sharp:self", presets: presets) == expected)
  }

  @Test(arguments: ["", "a", "=w:1", "a=", "a=w", "a=w:1/b", "a=w:x", "a=pr:b", "a=wm:1", "a=w:%"])
  func `a wrong preset is refused`(definition: String) {
    #expect(throws: (any Error).self) { try ImgproxyPresets(parsing: [definition]) }
  }

  @Test func `presets that use each other have a limited number of options`() {
    var presets = ["p0=w:1"]
    for number in 1...40 { presets.append("p\(number)=pr:p\(number - 1):p\(number - 1)") }
    #expect(throws: (any Error).self) { try ImgproxyPresets(parsing: presets) }
  }

  @Test func `an unknown preset is refused`() throws {
    #expect(try rejection("/_/pr:nothing/plain/https://h/a").message.contains("\"nothing\""))
  }

  // MARK: - Refusals

  @Test(
    arguments: [
      "w:-1", "w:1.5", "w:16384", "w:99999999999999999999", "w:1:2", "h:x", "rs:fill_down:1:1",
      "rs:none:1:1", "rs:fit:1:1:0:1", "rs:fit:1:1:2", "rs:a:b:c:d:e:f:g:h:i", "s:1:2:3",
      "rs:force:300", "dpr:0", "dpr:-1", "dpr:inf", "dpr:nan", "w:2/dpr:9999", "dpr:99999", "el:x",
      "g:no:1:0", "g:obj:face", "g:fp", "g:fp:2:0", "g:fp:0", "g:sm:0", "q:101", "q:-1", "q:1.5",
      "f:svg", "f:ico", "f:tiff", "f:best", "f:jxl", "f:heic", "bl:-1", "bl:nan", "bl:101",
      "sh:1e1",
      "bg:1:2", "bg:1:2:256", "bg:1:2:3:4", "bg:12", "pg:-1", "pg:1000000", "sm:2", "kcr:2", "ar:0",
      "exp:abc", "exp:-5", "exp:99999999999999999999", "fn:a%2Fb", "fn:!:1", "fn:a:b:c", "att:x",
      "fiu:!",
    ])
  func `a value out of range is refused with the name of its option`(options: String) throws {
    let rejection = try rejection("/_/\(options)/plain/https://h/a")
    #expect(rejection.status == .unprocessableContent)
    #expect(rejection.code == "invalid_option")
    let name = try #require(options.split(separator: ":").first)
    let long = ["rs": "resizing_type"][name]
    #expect(
      rejection.message.contains("\"\(name)\"")
        || rejection.message.contains("\"\(long ?? "dpr")\""))
  }

  @Test(arguments: [
    "ex:1", "exar:1", "mw:5", "min-height:5", "pd:1", "c:100:100", "crop:1:0:ce", "t:10", "rot:90",
    "fl:1", "raw:1", "wm:0.5", "zoom:2", "z:1:2", "pgs:2", "skp:gif", "fq:jpg:80", "mb:1000",
    "pix:5", "dpi:72", "maf:10", "msr:5", "hs:md5:x", "vts:1", "trim:0", "eth:1", "ra:cubic",
  ])
  func `an option of imgproxy that is not there is refused by name`(option: String) throws {
    let rejection = try rejection("/_/\(option)/plain/https://h/a")
    #expect(rejection.status == .unprocessableContent)
    #expect(rejection.code == "unsupported_option")
    let name = try #require(option.split(separator: ":").first)
    #expect(rejection.message.contains("\"\(name)\""))
  }

  @Test(arguments: [
    "ex:0", "exar:", "mw:0", "pd:0:0", "c:0:0", "rot:0", "fl:0:0", "raw:0", "wm:0", "zoom:1",
    "z:1:1", "pgs:1", "mb:0", "pix:0", "eth:f", "ex:0:ce:0:0", "c:0:0:ce", "g:ce:0.0:0.0", "trim:",
    "ph:0", "fq:", "skp:",
  ])
  func `an option that is switched off is accepted`(option: String) throws {
    #expect(try query(options: option) == query("/_/plain/https://h.example/a.jpg"))
  }

  @Test func `other options are refused by name`() throws {
    #expect(try rejection("/_/widht:5/plain/https://h/a").message.contains("did you mean width?"))
    #expect(try rejection("/_/:/plain/https://h/a").code == "malformed_target")
    #expect(try rejection("/_/enc/abc").code == "unsupported_option")
    #expect(try rejection("/_/enc/abc").message.contains("encrypted"))
    #expect(try rejection("/_/plain/https://h/a@svg").message.contains("\"extension\""))
    #expect(try rejection("/_/plain/https://h/@me/a").message.contains("%40"))
  }

  @Test(arguments: [
    "/https://h.example/a.jpg",
    "/unsafe/300x200/h.example/a.jpg", "/unsafe/rs:fit:3:2/https://h.example/a.jpg",
  ])
  func `a path of another server is told the form of those here`(path: String) throws {
    let rejection = try rejection(path)
    #expect(rejection.code == "invalid_url")
    #expect(rejection.message.contains("/plain/https://example.org/a.jpg"))
  }

  @Test(arguments: [
    ("/_/rs:fit:1:1/-/bl:2/plain/https://h/a", "unsupported_option", "chained pipelines"),
    ("/info/_/plain/https://h/a", "unsupported_option", "/info"),
    ("/_/small/plain/https://h/a", "malformed_target", "pr:NAME"),
    ("/resize/300/200/plain/https://h/a", "malformed_target", "rs:fit:300:200"),
    ("/_/rs:fit:50:50//plain/https://h/a", "malformed_target", "two slashes"),
    ("/_/fill/300/200/sm/0/plain/https://h/a", "malformed_target", "deprecated"),
    ("/_/aHR0cHM6Ly9oL2E/my.name.png", "invalid_url", "my.name.png"),
  ])
  func `another form of imgproxy's paths is refused with its name`(
    path: String, code: String, message: String
  ) throws {
    let rejection = try rejection(path)
    #expect(rejection.code == code)
    #expect(rejection.message.contains(message))
  }

  @Test func `hostile paths are refused`() throws {
    var nested = "https://h.example/a"
    for _ in 0..<12 { nested = Data(nested.utf8).base64EncodedString() }
    let paths = [
      "/_/\(nested.filter { $0 != "=" })", "/_/" + String(repeating: "w:1/", count: 8_000),
      "/_/" + String(repeating: ":", count: 30_000), "/_/" + String(repeating: "/", count: 30_000),
      "/_/plain/" + String(repeating: "https://h/", count: 3_000),
      "/_/rs" + String(repeating: ":9", count: 15_000) + "/plain/https://h/a",
    ]
    for path in paths where path.utf8.count < 32_000 {
      #expect(try rejection(path).message.utf8.count < 400)
    }
  }
}

/// The guide for those who move from other servers names every option.
struct MovingGuideTests {
  /// In the checkout that these tests were compiled from.
  private static let guide =
    #filePath.split(separator: "/").dropLast(4).map { "/\($0)" }.joined()
    + "/Sources/imgctl/imgctl.docc/Moving.md"

  @Test(arguments: [
    ("imgproxy's options", ImgproxyName.names),
    ("weserv's options", WeservOption.names + WeservOption.unsupportedNames.sorted()),
  ])
  func `the options of a server are in its section`(title: String, names: [String]) throws {
    let text = try String(contentsOfFile: Self.guide, encoding: .utf8)
    let sections = text.components(separatedBy: "\n### ")
    let section = try #require(sections.first { $0.hasPrefix(title) })
    for name in names { #expect(section.contains("`\(name)`"), "\(name)") }
  }
}
