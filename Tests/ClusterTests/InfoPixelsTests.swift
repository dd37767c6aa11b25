import ImgModel
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// `imgctl info --pixels`, from the command line to the decoder.
@Suite(.timeLimit(.minutes(20)))
struct InfoPixelsTests {
  private struct Report: Decodable {
    struct Reason: Decodable {
      let code: String
    }

    let width: Int?
    let declared_type: String?
    let from_cache: Bool?
    let frame_count: Int?
    let frame_delays_ms: [Int]?
    let duration_ms: Int?
    let thumbhash: ThumbHash?
    let blurhash: BlurHash?
    let dominant_colour: String?
    let palette: [PixelFacts.Colour]?
    let pixels_failure: Reason?
    let code: String?
    let url: String
  }

  private let cluster: Cluster
  private let origin: TestOrigin
  private let maker: PictureMaker
  private let picture: [UInt8]

  init() throws {
    cluster = try Cluster()
    origin = try TestOrigin()
    maker = try PictureMaker.start()
    picture = try maker.encode(
      Raster(width: 64, height: 48) { x, _ in x < 48 ? .init(200, 30, 30) : .init(30, 60, 200) },
      as: .png)
    origin.serve("/a.png", .resource(Resource(picture, entityTag: "\"1\"")))
  }

  private var url: String { origin.baseURL + "/a.png" }

  private func info(_ arguments: String...) throws -> Report {
    try cluster.begin(["info", "--pixels", "--json"] + arguments).wait().decoded(Report.self)
  }

  private func check(_ report: Report) {
    #expect(report.width == 64)
    #expect(report.thumbhash != nil && report.blurhash != nil && report.pixels_failure == nil)
    #expect(report.dominant_colour == "#c81e1e")
    #expect(report.palette?.map(\.share) == [0.75, 0.25])
  }

  @Test func `the pixels of a URL are decoded once, and told from the store`() throws {
    let first = try info(url)
    check(first)
    #expect(first.from_cache == false)
    let second = try info(url)
    check(second)
    #expect(second.from_cache == true && origin.counters("/a.png").requests == 1)
    let text = try cluster.imgctl("info", "--pixels", url).output
    #expect(text.contains("colours    #c81e1e 75 %, #1e3cc8 25 %\n"), "\(text)")
    // Facts without pixels are another record.
    let plain = try cluster.imgctl("info", url, "--full", "--json").decoded(Report.self)
    #expect(plain.width == 64 && plain.thumbhash == nil && plain.palette == nil)
    #expect(try cluster.imgctl("cache", "rm", url).exitCode == 0)
    #expect(try cluster.imgctl("cache", "ls", "--json").lines.isEmpty)
  }

  @Test func `a file and standard input are uploaded, and not stored`() throws {
    let path = try cluster.directory.write(picture, to: "a.jpg")
    let report = try info(path)
    check(report)
    #expect(report.url == path && report.declared_type == "image/jpeg")
    let stream = try cluster.imgctl("info", "--pixels", "--json", "-", inputPath: path)
    check(try stream.decoded(Report.self))
    #expect(try cluster.imgctl("cache", "ls", "--json").lines.isEmpty)
    let junk = try cluster.directory.write(Array("this is not a picture at all".utf8), to: "junk")
    let failed = try cluster.imgctl("info", "--pixels", junk)
    #expect(failed.exitCode == 1 && failed.messages.contains(": not_an_image: "))
    try cluster.expectRefused("info", "--pixels", "/no/such/file", because: "no such file")
  }

  @Test func `the decoder counts the frames of a JPEG XL animation`() throws {
    let frames = (0..<3).map {
      JXLWriter.Frame(Card(index: $0, width: 16, height: 12).raster, ticks: 1_320)
    }
    let path = try cluster.directory.write(JXLWriter.file(frames), to: "a.jxl")
    let report = try info(path)
    #expect(report.frame_delays_ms == [1_320, 1_320, 1_320])
    #expect(report.frame_count == 3 && report.duration_ms == 3_960)
    let text = try cluster.imgctl("info", "--pixels", path).output
    #expect(text.contains(" 3, 3.96s, plays forever\n"), "\(text)")
    let plain = try cluster.imgctl("info", "--full", path).output
    #expect(
      plain.contains(" animated, not counted, plays forever; --pixels counts them\n"), "\(plain)")
  }

  @Test func `what the store has of a picture, an original too, is not fetched again`() throws {
    #expect(try cluster.imgctl("get", url, "--keep", "all", "--json").exitCode == 0)
    check(try info(url))
    #expect(origin.counters("/a.png").requests == 1)
  }

  @Test func `a picture in its URL is decoded`() throws {
    let svg =
      "<svg xmlns='http://www.w3.org/2000/svg' width='64' height='48'>"
      + "<rect width='48' height='48' fill='%23c81e1e'/>"
      + "<rect x='48' width='16' height='48' fill='%231e3cc8'/></svg>"
    #expect(try info("data:image/svg+xml,\(svg)").dominant_colour == "#c81e1e")
  }

  @Test func `a picture that cannot be decoded has its facts, and the reason`() throws {
    // Their decoder is not allowed, and their pixels are not all there.
    origin.serve("/b.jp2", .body(try maker.jpeg2000Card(index: 1)))
    origin.serve("/c.png", .body(Array(picture.dropLast(40))))
    for (path, code, width) in [
      ("/b.jp2", "unsupported_format", 320), ("/c.png", "corrupt_image", 64),
    ] {
      let report = try info(origin.baseURL + path)
      #expect(report.width == width && report.thumbhash == nil && report.palette == nil)
      #expect(report.pixels_failure?.code == code)
      #expect(try info(origin.baseURL + path).pixels_failure?.code == code)
      #expect(origin.counters(path).requests == 1)
    }
    let text = try cluster.imgctl("info", "--pixels", origin.baseURL + "/b.jp2")
    #expect(text.exitCode == 0 && text.output.contains("  not decoded: unsupported_format"))
    // A thumbnail is another matter.
    #expect(try cluster.imgctl("get", origin.baseURL + "/b.jp2", "--json").exitCode == 1)
  }

  @Test func `a wrong type is told as without pixels`() throws {
    origin.serve("/d", .body(picture, contentType: "image/jpeg"))
    let report = try info(origin.baseURL + "/d")
    check(report)
    #expect(report.declared_type == "image/jpeg")
  }

  @Test func `a list gives the pixels of each URL`() throws {
    origin.serve("/gone", .status(404))
    let urls = [url, origin.baseURL + "/gone"]
    let path = try cluster.directory.write(Array(urls.joined(separator: "\n").utf8), to: "list")
    let result = try cluster.imgctl("info", "--pixels", "--list", path)
    #expect(result.exitCode == 1, "\(result.messages)")
    let reports = try result.decodedLines(Report.self)
    #expect(reports.compactMap(\.code) == ["http_status"])
    for report in reports where report.code == nil { check(report) }
    #expect(reports.count == 2)
  }
}
