import ImgClient
import ImgHTTP
import ImgModel
import Testing

@testable import ImgGateway

@Suite struct WeservRequestTests {
  private let queries = ImageQueries()

  private func query(_ query: String) throws(RequestRejection) -> ImageQuery {
    try queries.weserv(RequestTarget("/image?\(query)"))
  }

  /// The variant of a query with an address.
  private func variant(_ options: String) throws(RequestRejection) -> ImageVariant {
    try query("url=h.example/a.jpg&\(options)").request.variant
  }

  private func rejection(_ options: String) throws -> RequestRejection {
    try #require(throws: RequestRejection.self) { try query(options) }
  }

  // MARK: - Addresses

  @Test(arguments: [
    ("h.example/a.jpg", "http://h.example/a.jpg"),
    ("http://H.example/a.jpg", "http://h.example/a.jpg"),
    ("HTTPS%3A%2F%2Fh.example%2Fa%2520b.jpg", "https://h.example/a%20b.jpg"),
    ("ssl:h.example/a.jpg", "https://h.example/a.jpg"),
    ("SSL://h.example/a.jpg", "https://h.example/a.jpg"),
    ("//h.example/a.jpg", "https://h.example/a.jpg"),
    ("h.example:8080/a?x=1%26y=2", "http://h.example:8080/a?x=1&y=2"),
    ("h.example/a+b.jpg", "http://h.example/a+b.jpg"),
    ("h.example/%C3%BC.jpg", "http://h.example/%C3%BC.jpg"),
    ("m%C3%BCnchen.example/a", "http://xn--mnchen-3ya.example/a"),
    ("h.example/a.jpg%23x", "http://h.example/a.jpg"),
  ])
  func `an address without a scheme is completed`(written: String, url: String) throws {
    #expect(try query("url=\(written)").request.url == url)
  }

  @Test(arguments: [
    "", "url", "url=", "w=300", "url=%20", "url=http:", "url=http:%2Fh", "url=ftp://h/a",
    "url=javascript:alert(1)", "url=h.example%5C@evil.example", "url=%00", "url=a%0Ab.example",
    "url=ssl:", "url=//", "url=http://", "url=h.example&url=i.example", "url=h&w=1&w=2",
  ])
  func `a request without a URL is refused`(query: String) throws {
    #expect(try rejection(query).status == .badRequest)
  }

  @Test(arguments: ["data:image/png;base64,aGVsbG8=", "file:///etc/passwd", "FILE:/etc/passwd"])
  func `local pictures are refused`(url: String) throws {
    let rejection = try rejection("url=\(url)")
    #expect(rejection.status == .forbidden)
    #expect(rejection.code == "blocked_origin")
  }

  @Test func `a scheme that is not served is refused with those that are`() throws {
    let rejection = try rejection("url=local:///a.jpg")
    #expect(rejection.message == "the scheme local is not supported; use http or https")
  }

  // MARK: - Options

  @Test func `without options a picture keeps its size and is not enlarged`() throws {
    let query = try query("url=h.example/a.jpg")
    #expect(query.request.variant == ImageVariant(size: 16_383, mode: .ownSize))
    #expect(query.format == .negotiated)
    #expect(query.fallback == nil)
    #expect(query.wait == nil)
    #expect(query.maximumAge == nil)
    #expect(query.fileName == nil)
    #expect(!query.isAttachment)
  }

  @Test(
    arguments: [
      ("w=300", 300, 16_383, .fit, nil), ("h=200", 16_383, 200, .fit, nil),
      ("width=300&height=200", 300, 200, .fit, nil),
      ("w=300&h=200&fit=inside", 300, 200, .fit, nil),
      ("w=300&h=&fit=", 300, 16_383, .fit, nil), ("w=0&h=200", 16_383, 200, .fit, nil),
      ("w=150&h=100&dpr=2", 300, 200, .fit, nil), ("w=101&dpr=1.5", 152, 16_383, .fit, nil),
      ("dpr=8", 16_383, 16_383, .ownSize, nil), ("w=16383", 16_383, 16_383, .fit, nil),
      ("w=3&h=2&fit=outside", 3, 2, .fill, nil), ("w=3&fit=outside", 3, 16_383, .fit, nil),
      ("w=3&h=2&fit=fill", 3, 2, .stretch, nil), ("fit=fill", 16_383, 16_383, .ownSize, nil),
      ("w=100&dpr=0.5", 50, 16_383, .fit, nil),
      ("w=100&dpr=0", 100, 16_383, .fit, nil),
      ("w=3&fit=contain", 3, 16_383, .fit, nil), ("w=3&fit=cover", 3, 16_383, .fit, nil),
      ("w=3&h=2&fit=cover", 3, 2, .fill, .centre),
      ("w=3&h=2&fit=cover&a=center", 3, 2, .fill, .centre),
      ("w=3&h=2&fit=cover&a=top", 3, 2, .fill, .point(x: 0.5, y: 0)),
      ("w=3&h=2&fit=cover&a=bottom-right", 3, 2, .fill, .point(x: 1, y: 1)),
      ("w=3&h=2&fit=cover&align=attention", 3, 2, .fill, .attention),
      ("w=3&h=2&fit=cover&a=entropy", 3, 2, .fill, .entropy),
      ("w=3&h=2&fit=cover&a=focal", 3, 2, .fill, .centre),
      ("w=3&h=2&fpy=.25&fit=cover&a=focal&fpx=1", 3, 2, .fill, .point(x: 1, y: 0.25)),
      ("w=3&h=2&fit=cover&fpx=1", 3, 2, .fill, .centre), ("w=3&h=2&a=left", 3, 2, .fit, nil),
      ("w=3&h=2&mode=fit", 3, 2, .fit, nil), ("w=3&h=2&mode=fill", 3, 2, .fill, nil),
      ("w=3&h=2&mode=stretch", 3, 2, .stretch, nil), ("w=3&h=2&crop=0", 3, 2, .fit, nil),
      ("w=100&h=100&mode=fill&crop=1", 100, 100, .fill, .centre),
      ("w=3&h=2&crop=1&a=entropy", 3, 2, .fill, .entropy),
      ("w=3&mode=fill&pad=10", 3, 16_363, .fit, nil), ("pad=10", 16_363, 16_363, .ownSize, nil),
    ] as [(String, Int, Int, ImageVariant.Mode, ImageVariant.Crop?)])
  func `sizes are boxes`(
    options: String, width: Int, height: Int, mode: ImageVariant.Mode, crop: ImageVariant.Crop?
  ) throws {
    let variant = try variant(options)
    #expect(variant.width == width)
    #expect(variant.height == height)
    #expect(variant.mode == mode)
    #expect(variant.crop == crop)
  }

  @Test func `a depth of 16 is for formats that hold it`() throws {
    #expect(try variant("w=3&depth=16").depth == .sixteen)
    #expect(try variant("w=3&depth=16&output=avif").depth == .sixteen)
    #expect(try variant("w=3&depth=8&output=jpg").depth == .eight)
    for options in ["depth=16&output=jpg", "depth=16&output=webp", "depth=16&n=-1", "depth=10"] {
      #expect(try rejection("url=h.example&\(options)").code == "invalid_option")
    }
  }

  @Test func `a radius and a padding are pixels of the thumbnail`() throws {
    let effects = try variant("w=100&h=100&dpr=2&radius=5&pad=40&bg=red").effects
    #expect(
      effects
        == ImageVariant.Effects(
          radius: 5, padding: 40, background: RGBColour(red: 255, green: 0, blue: 0)))
    let limited = ImageQueries(sides: SideLimit(200))
    let target = "/image?url=h.example/a.jpg&w=100&h=100&pad="
    let query = try limited.weserv(RequestTarget(target + "50"))
    #expect(query.request.variant.effects.padding == 50)
    let error = #expect(throws: RequestRejection.self) {
      try limited.weserv(RequestTarget(target + "51"))
    }
    #expect(error?.code == "too_large_side")
  }

  @Test(arguments: [
    "mode=cover", "mode=fit&crop=1", "mode=stretch&crop=1", "mode=fill&fit=cover", "crop=1,2,3,4",
    "crop=1&fit=cover", "w=3&mode=stretch", "radius=-1", "radius=x", "pad=1001", "pad=1.5",
  ])
  func `modes that contradict each other, and lengths out of range, are refused`(
    options: String
  ) throws {
    let rejection = try rejection("url=h.example&\(options)")
    #expect(rejection.status == .unprocessableContent)
    #expect(rejection.code == "invalid_option")
  }

  @Test(arguments: [
    ("w=3", true), ("w=3&we", false), ("w=3&we=1", false), ("w=3&we=0", true),
    ("w=3&we=false", true), ("w=3&we=true", false), ("we=0", false), ("", false),
  ])
  func `a picture is enlarged to its box unless we is there`(options: String, isOn: Bool) throws {
    #expect(try variant(options).enlarges == isOn)
  }

  @Test func `a drawing stays small if we is there`() throws {
    #expect(try variant("w=3&h=2&we").sizing.keepsDrawingSize)
    #expect(try !variant("w=3&h=2").sizing.keepsDrawingSize)
  }

  @Test(arguments: ["blur", "blur=", "sharp", "sharp="])
  func `a filter without a strength is refused`(option: String) throws {
    let rejection = try rejection("url=h.example&\(option)")
    #expect(rejection.code == "invalid_option")
    #expect(rejection.message.contains("standard deviation"))
  }

  @Test(arguments: ["utm_source=x", "fbclid=1", "flip=0", "flop=0", "ro=0", "cbg=red", "q=0"])
  func `a parameter that changes no picture is ignored`(option: String) throws {
    #expect(try query("url=h.example/a.jpg&\(option)") == query("url=h.example/a.jpg"))
  }

  @Test func `a version is one of the picture, unless it may belong to the address`() throws {
    #expect(try query("url=h.example/a.jpg&v=2").request.version == "v=2")
    #expect(try query("url=h.example/a.jpg&_=%20").request.version == "_=%20")
    let rejection = try rejection("url=h.example/a.jpg?w=1&v=2")
    #expect(rejection.code == "unknown_option")
    #expect(rejection.message.contains("%26"))
  }

  @Test func `effects and encodings become those of the variant`() throws {
    var expected = ImageVariant(width: 300, height: 16_383, format: .webp)
    expected.enlarges = true
    expected.quality = 60
    expected.effects.isGrayscale = true
    expected.effects.blur = 5
    expected.effects.sharpen = 0.5
    expected.effects.sharpenAmounts = SharpenAmounts(flat: .one, edges: Thousandths(count: 2_000))
    expected.sizing = Sizing(maximumPixelCount: 16_383 * 16_383)
    expected.effects.background = RGBColour(red: 0, green: 0, blue: 0)
    expected.frames = .number(2)
    let query = try query(
      "url=h.example/a&w=300&output=webp&q=60&filt=greyscale&blur=5&sharp=.5&bg=black&page=2")
    #expect(query.request.variant == expected)
    #expect(query.format == .fixed)
  }

  @Test(
    arguments: [
      ("jpg", .jpeg), ("jpeg", .jpeg), ("png", .png), ("webp", .webp), ("avif", .avif),
      ("gif", .gif), ("WEBP", .webp),
    ] as [(String, ImageVariant.Format)])
  func `the output is the format`(name: String, format: ImageVariant.Format) throws {
    #expect(try variant("output=\(name)").format == format)
  }

  @Test(arguments: [
    ("n=1", ImageVariant.Frames.first), ("n=-1", .all), ("pages=-1&output=gif", .all),
    ("n=-1&page=0", .all), ("page=3&n=1", .number(3)), ("page=0", .first), ("n=", .first),
  ])
  func `pages are frames`(options: String, frames: ImageVariant.Frames) throws {
    #expect(try variant(options).frames == frames)
  }

  @Test(arguments: [
    ("red", 255, 0, 0), ("RebeccaPurple", 0x66, 0x33, 0x99), ("CCC", 0xCC, 0xCC, 0xCC),
    ("%23a1B2c3", 0xA1, 0xB2, 0xC3), ("f123", 0x11, 0x22, 0x33), ("FF102030", 0x10, 0x20, 0x30),
  ])
  func `a background is a name or digits`(text: String, red: Int, green: Int, blue: Int) throws {
    #expect(
      try variant("bg=\(text)").effects.background
        == RGBColour(red: UInt8(red), green: UInt8(green), blue: UInt8(blue)))
  }

  @Test(arguments: [
    ("1", 1), ("90s", 90), ("10m", 600), ("12h", 43_200), ("1d", 86_400), ("31d", 2_678_400),
    ("1w", 604_800), ("1M", 2_592_000), ("1y", 31_536_000), ("0001d", 86_400),
  ])
  func `an age has a unit`(text: String, seconds: Int) throws {
    #expect(try query("url=h.example&maxage=\(text)").maximumAge == .seconds(seconds))
  }

  @Test(
    arguments: [
      ("i.example/b.png", .picture(url: "http://i.example/b.png")),
      ("ssl:i.example/?a=b%26c=d", .picture(url: "https://i.example/?a=b&c=d")),
      ("https://localhost/x", .picture(url: "https://localhost/x")),
      ("photo", .placeholder(.symbol(.photo))), ("person", .placeholder(.symbol(.person))),
      ("blank", .placeholder(.none)),
      ("%23f00", .placeholder(.colour(RGBColour(red: 255, green: 0, blue: 0)))),
      ("thumbhash", .thumbHash), ("text:A:B", .placeholder(.text("A:B"))),
      ("", nil),
    ] as [(String, Substitute?)])
  func `a default is a picture or a drawing`(text: String, fallback: Substitute?) throws {
    #expect(try query("url=h.example&default=\(text)").fallback == fallback)
    #expect(try query("url=h.example&errorredirect=\(text)").fallback == fallback)
  }

  @Test func `a file name is decoded`() throws {
    #expect(try query("url=h.example&filename=mein%20Bild%20%C3%BC").fileName == "mein Bild ü")
  }

  @Test(arguments: ["il", "il=1", "il=0", "af", "l=9", "l=0", "level=6", "fsol=0"])
  func `options about how a file is written change nothing`(option: String) throws {
    #expect(try variant(option) == variant(""))
  }

  // MARK: - Refusals

  @Test(
    arguments: [
      "w=-1", "w=1.5", "w=abc", "w=16384", "w=50%25", "w=9999999999999999999999", "w=%2B5",
      "w=0x10",
      "w=NaN", "w=1e3", "w=%EF%BC%95", "h=inf", "dpr=8.1", "dpr=9", "dpr=nan", "dpr=1,5",
      "dpr=1.2.3",
      "w=9000&dpr=2", "fit=squaredown", "fit=INSIDE", "a=crop-25-50", "a=focal-1-2", "fpx=1.1",
      "fpx=-0", "output=tiff", "output=json", "output=svg", "output=ico", "q=101", "q=80.5",
      "n=0", "n=2", "n=-2", "n=1000", "page=-1", "page=1000000", "bg=transparent", "bg=8888",
      "bg=80ffffff", "bg=12345", "blur=101", "blur=-1", "blur=1e2", "sharp=1,2,3",
      "sharp=-1",
      "filt=sepia", "filt=duotone", "filt=negate", "maxage=0", "maxage=2y", "maxage=1x", "maxage=d",
      "maxage=99999999999999999999d", "maxage=9223372036854775807y", "maxage=1.5d", "maxage=-1d",
      "maxage=1D", "filename=a/b", "filename=..", "filename=a%22b", "filename=a%0D%0Ab",
      "filename=%E2%80%AE", "l=10", "we=2", "il=maybe", "w=3&h=2&fit=contain", "w=3&fit=fill",
      "n=-1&output=jpg", "n=-1&output=avif", "n=-1&page=1", "w=1&width=1", "default=%23zzz",
      "default=Photo", "default=1",
    ])
  func `a value out of range is refused with the name of its option`(options: String) throws {
    let rejection = try rejection("url=h.example&\(options)")
    #expect(rejection.status == .unprocessableContent)
    #expect(rejection.code == "invalid_option")
    let names = options.split(separator: "&").compactMap { $0.split(separator: "=").first }
    #expect(names.contains { rejection.message.contains("\"\($0)\"") })
  }

  @Test func `a colour that is none is told what colours are`() throws {
    let rejection = try rejection("url=h.example&bg=unknown")
    #expect(rejection.message.contains("a name of CSS, or 3 or 6 hexadecimal digits"))
  }

  @Test(arguments: [
    "cx=1", "precrop", "trim", "mask=circle", "mtrim", "mbg=red", "flip", "flop",
    "ro=90", "rbg=red", "tbg=red", "con=5", "gam", "mod=1", "hue=1", "sat=1", "tint=red",
    "encoding=base64", "ll", "start=red", "t=square",
  ])
  func `an option of weserv that is not there is refused by name`(option: String) throws {
    let rejection = try rejection("url=h.example&\(option)")
    #expect(rejection.status == .unprocessableContent)
    #expect(rejection.code == "unsupported_option")
    let name = try #require(option.split(separator: "=").first)
    #expect(rejection.message.contains("\"\(name)\""))
  }

  @Test func `an address whose query is not escaped is refused with the reason`() throws {
    let rejection = try rejection("url=https://h.example/a?v=1&size=large&w=3")
    #expect(rejection.code == "unknown_option")
    #expect(rejection.message.contains("\"size\""))
    #expect(rejection.message.contains("%26"))
  }

  @Test func `a parameter without a name is refused`() throws {
    #expect(try rejection("url=h.example&=x").code == "malformed_target")
  }

  @Test func `a misspelled option is refused with a suggestion`() throws {
    let rejection = try rejection("url=h.example&ouput=webp")
    #expect(rejection.code == "unknown_option")
    #expect(rejection.message.contains("did you mean output?"))
    #expect(try self.rejection("url=h.example&W=3").code == "unknown_option")
    #expect(try self.rejection("url=h.example&wdith=3").message.contains("did you mean width?"))
  }

  @Test(arguments: [
    String(repeating: "9", count: 30_000), String(repeating: "a", count: 30_000),
    String(repeating: "%25", count: 10_000), String(repeating: "%F0%9F%98%80", count: 2_500),
  ])
  func `a long value is refused with a short message`(value: String) throws {
    for name in ["url", "w", "dpr", "bg", "maxage", "filename", "default", "a", value] {
      let options = name == "url" ? "url=\(value)" : "url=h.example&\(name)=\(value)"
      guard options.utf8.count < 32_000 else { continue }
      #expect(try rejection(options).message.utf8.count < 400)
    }
  }
}

struct SideLimitTests {
  @Test(
    arguments: [
      ("w=100", 100, 16_383, 40_000), ("h=100", 16_383, 100, 40_000), ("", 200, 200, nil),
      ("w=50&dpr=2", 100, 16_383, 40_000), ("w=200&h=30&fit=cover", 200, 30, nil),
      ("w=20&h=10&fit=outside", 20, 10, 40_000),
    ] as [(String, Int, Int, Int?)])
  func `a side that the proportions decide is limited by the pixels of the thumbnail`(
    options: String, width: Int, height: Int, maximum: Int?
  ) throws {
    let queries = ImageQueries(sides: SideLimit(200))
    let target = try RequestTarget("/image?url=https://a.example/b.jpg&\(options)")
    let variant = try queries.weserv(target).request.variant
    #expect((variant.width, variant.height) == (width, height))
    #expect(variant.sizing.maximumPixelCount == maximum)
    let path = try RequestTarget("/_/w:100/plain/https://a.example/b.jpg")
    let pathVariant = try queries.imgproxy(path, now: .now).request.variant
    #expect(pathVariant.sizing.maximumPixelCount == 40_000)
  }
}
