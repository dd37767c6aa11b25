import FoundationEssentials
import ImgModel
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// `imgctl info` and jobs of facts, from the command line to the origin.
@Suite(.timeLimit(.minutes(20)))
struct InfoTests {
  private struct Report: Decodable {
    let status: String?
    let format: String?
    let width: Int?
    let height: Int?
    let media_type: String?
    let declared_type: String?
    let file_bytes: Int?
    let bytes_fetched: Int?
    let from_cache: Bool?
    let frame_delays_ms: [Int]?
    let code: String?
    let url: String
  }

  private let cluster: Cluster
  private let origin: TestOrigin
  /// A JPEG with much behind its header.
  private let picture: [UInt8]

  init() throws {
    cluster = try Cluster()
    origin = try TestOrigin()
    picture =
      try PictureMaker.start().card(index: 1, width: 640, height: 480)
      + [UInt8](repeating: 0, count: 2_500_000)
    origin.serve("/a.jpg", .resource(Resource(picture, entityTag: "\"1\"")))
  }

  private func info(_ arguments: String...) throws -> Report {
    try cluster.begin(["info"] + arguments + ["--json"]).wait().decoded(Report.self)
  }

  @Test func `the facts of a URL cost a few KiB, and none the second time`() throws {
    let url = origin.baseURL + "/a.jpg"
    let report = try info(url)
    #expect(report.format == "jpeg" && report.width == 640 && report.height == 480)
    #expect(report.status == "complete" && report.file_bytes == picture.count)
    #expect(report.from_cache == false && report.declared_type == nil)
    let sent = origin.counters("/a.jpg").bytesSent
    #expect(report.bytes_fetched == sent && sent <= 64 << 10)
    #expect(try info(url).from_cache == true)
    #expect(origin.counters("/a.jpg").requests == 1)
    // From the map.
    #expect(try cluster.imgctl("stop").exitCode == 0)
    #expect(try info(url).bytes_fetched == 0)
    #expect(try cluster.imgctl("status").exitCode == 3)
  }

  @Test func `facts, thumbnail and original of one URL are records of their own`() throws {
    let url = origin.baseURL + "/a.jpg"
    #expect(try info(url).width == 640)
    #expect(try cluster.imgctl("get", url, "--keep", "all", "--size", "64").exitCode == 0)
    let kinds = try cluster.imgctl("cache", "ls", "--json").lines
    #expect(kinds.count == 3 && kinds.count { $0.contains("\"kind\":\"facts\"") } == 1)
    // Those of the whole file are read from the original.
    let requests = origin.counters("/a.jpg").requests
    #expect(try info(url, "--full").width == 640)
    #expect(origin.counters("/a.jpg").requests == requests)
    #expect(try cluster.imgctl("cache", "rm", url).exitCode == 0)
    #expect(try cluster.imgctl("cache", "ls", "--json").lines.isEmpty)
  }

  @Test func `a type that is declared wrongly is told`() throws {
    origin.serve("/b.jpg", .body(try PictureMaker.start().card(index: 1, format: .png)))
    let report = try info(origin.baseURL + "/b.jpg")
    #expect(report.media_type == "image/png" && report.declared_type == "image/jpeg")
  }

  @Test func `files and standard input are read in place, without a coordinator`() throws {
    #expect(try cluster.imgctl("stop").exitCode == 0)
    let path = try cluster.directory.write(picture, to: "a.png")
    let report = try info(path)
    #expect(report.width == 640 && report.declared_type == "image/png" && report.url == path)
    let text = try cluster.imgctl("info", "-", inputPath: path)
    #expect(text.exitCode == 0 && text.output.contains("640x480"), "\(text.messages)")
    // How long a stream is shows only at its end.
    #expect(!text.output.contains("bytes"))
    #expect(try cluster.imgctl("status").exitCode == 3)
    let junk = try cluster.directory.write(Array("this is not a picture at all".utf8), to: "junk")
    let failed = try cluster.imgctl("info", junk)
    #expect(failed.exitCode == 1 && failed.messages.contains(": not_an_image: "))
    let cut = try cluster.directory.write(Array(picture.prefix(100)), to: "cut.jpg")
    #expect(try cluster.imgctl("info", cut).messages.contains(": corrupt_image: "))
    try cluster.expectRefused("info", "/no/such/file", because: "no such file")
    try cluster.expectRefused("info", because: "name a picture, or a list")
  }

  @Test(arguments: [PictureFormat.gif, .losslessWebP])
  func `the frames of a local animation are counted, those of a URL with --full`(
    format: PictureFormat
  ) throws {
    let file = try PictureMaker.start().animation(
      index: 0, width: 300, height: 200, frameCount: 40, format: format)
    let path = try cluster.directory.write(file, to: "a")
    #expect(try info(path).frame_delays_ms?.count == 40)
    let text = try cluster.imgctl("info", path).output
    #expect(text.contains(" 40, 4s, plays "), "\(text)")
    let streamed = try cluster.imgctl("info", "-", inputPath: path).output
    #expect(streamed.contains(" 40, 4s, plays "), "\(streamed)")
    origin.serve("/b", .resource(Resource(file)))
    let url = origin.baseURL + "/b"
    let plain = try cluster.imgctl("info", url).output
    // A GIF tells only in its second frame that it is animated.
    #expect(plain.contains("not counted, plays ") == (format != .gif), "\(plain)")
    #expect(plain.contains("; --full counts them\n"), "\(plain)")
    #expect(try info(url, "--full").frame_delays_ms?.count == 40)
  }

  @Test func `a local animation that is cut is told as such`() throws {
    let file = try PictureMaker.start().animation(index: 0, frameCount: 4, format: .gif)
    let path = try cluster.directory.write(Array(file.dropLast(20)), to: "cut.gif")
    let report = try info(path)
    #expect(report.status == "truncated" && report.width == 64)
    #expect(report.frame_delays_ms?.count == 4)
    let text = try cluster.imgctl("info", path).output
    #expect(text.contains(" 4, 400ms, plays forever\n"), "\(text)")
    #expect(text.contains("truncated: ") && !text.contains("--full"), "\(text)")
  }

  @Test func `a picture in its URL has facts`() throws {
    let url = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='40' height='30'/>"
    let report = try info(url)
    #expect(report.format == "svg" && report.width == 40 && report.bytes_fetched == nil)
  }

  @Test func `a list gives one line for each URL, and costs a few KiB each`() throws {
    origin.serve("/gone", .status(404))
    let urls = ["/a.jpg", "/gone", "/a.jpg?2"].map { origin.baseURL + $0 } + ["no URL"]
    let path = try cluster.directory.write(Array(urls.joined(separator: "\n").utf8), to: "list")
    let result = try cluster.imgctl("info", "--list", path)
    #expect(result.exitCode == 1, "\(result.messages)")
    let reports = try result.decodedLines(Report.self)
    #expect(reports.map(\.url).sorted() == urls.sorted())
    #expect(reports.compactMap(\.width) == [640, 640])
    #expect(reports.compactMap(\.code).sorted() == ["http_status", "invalid_url"])
    #expect(origin.counters("/a.jpg").bytesSent <= 2 * 64 << 10)
  }

  @Test func `a job of facts is exported as JSON files`() throws {
    origin.serve("/gone", .status(404))
    let job = try cluster.submit(
      [origin.baseURL + "/a.jpg", origin.baseURL + "/gone"], "--info-only")
    let status = try cluster.finished(job)
    #expect([status.done, status.failed] == [1, 1])
    #expect(try cluster.failures(of: job).values.sorted() == ["http_status"])
    let directory = cluster.directory.file("facts")
    let exported = try cluster.imgctl("export", "\(job)", directory)
    #expect(exported.exitCode == 1 && exported.messages.contains("exported 1 fact file"))
    let file = try String(contentsOfFile: directory + "/0000000.json", encoding: .utf8)
    #expect(file.contains("\"width\":640") && file.hasSuffix("}\n"))
    #expect(file.contains("\"url\":\"\(origin.baseURL)/a.jpg\""), "\(file)")
    try cluster.expectRefused(
      "submit", "-", "--info-only", "--keep", "all", because: "--info-only stores facts alone")
    let lines = try String(contentsOfFile: directory + "/manifest.jsonl", encoding: .utf8)
      .split(separator: "\n")
    #expect(lines.count == 2 && !lines[0].contains("\"thumbnail\""))
    #expect(lines[0].contains("\"facts\":{\"bytes\":\(file.utf8.count),\"format\":\"jpeg\""))
  }
}
