import FoundationEssentials
import Glibc
import ImgModel
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// `imgctl info` and jobs of facts, from the command line to the origin.
@Suite(.timeLimit(.minutes(20))) struct InfoTests {
  private let cluster: Cluster
  private let origin = TestOrigin()
  /// A JPEG with much behind its header.
  private let picture: [UInt8]

  init() throws {
    cluster = try Cluster()
    picture =
      try PictureMaker.start().card(index: 1, width: 640, height: 480)
      + [UInt8](repeating: 0, count: 2_500_000)
    origin.serve("/a.jpg", .resource(Resource(picture, entityTag: "\"1\"")))
  }

  private func info(_ arguments: String...) throws -> JSONValue {
    try cluster.json(["info"] + arguments)
  }

  @Test func `the facts of a URL cost a few KiB, and none the second time`() throws {
    let url = origin.baseURL + "/a.jpg"
    let report = try info(url)
    #expect(report.format == "jpeg" && report.width == 640 && report.height == 480)
    #expect(report.status == "complete" && report.file_bytes.int == picture.count)
    #expect(report.from_cache == false && report.declared_type == .null)
    let sent = origin.counters("/a.jpg").bytesSent
    #expect(report.bytes_fetched.int == sent && sent <= 64 << 10)
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
    let kinds = try cluster.records().map(\.kind)
    #expect(kinds.count == 3 && kinds.count { $0 == "facts" } == 1)
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
    #expect(report.width == 640 && report.declared_type == "image/png")
    #expect(report.url.string == path)
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
  func `frames of a local animation are counted, of a URL if --full`(format: PictureFormat) throws {
    let file = try PictureMaker.start().animation(
      index: 0, width: 300, height: 200, frameCount: 40, format: format)
    let path = try cluster.directory.write(file, to: "a")
    #expect(try info(path).frame_delays_ms.array?.count == 40)
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
    #expect(try info(url, "--full").frame_delays_ms.array?.count == 40)
  }

  @Test func `a local animation that is cut is told as such`() throws {
    let file = try PictureMaker.start().animation(index: 0, frameCount: 4, format: .gif)
    let path = try cluster.directory.write(Array(file.dropLast(20)), to: "cut.gif")
    let report = try info(path)
    #expect(report.status == "truncated" && report.width == 64)
    #expect(report.frame_delays_ms.array?.count == 4)
    let text = try cluster.imgctl("info", path).output
    #expect(text.contains(" 4, 400ms, plays forever\n"), "\(text)")
    #expect(text.contains("truncated: ") && !text.contains("--full"), "\(text)")
  }

  /// How much of a file is there, of 100; and how many bytes are missing at its end.
  private static let cuts: [(percent: Int, missing: Int)] = [
    (10, 0), (50, 0), (90, 0), (99, 0), (100, 2), (100, 1), (100, 0),
  ]

  @Test func `a file that is cut has one verdict in info and get`() throws {
    let maker = try PictureMaker.start()
    let card = Card(index: 3, width: 96, height: 64)
    var files = try [
      PictureFormat.jpeg, .progressiveJPEG, .png, .webp, .gif, .tiff, .avif, .heif, .jxl, .bmp,
      .ico,
      .pnm,
    ].map { try maker.card(index: 3, width: 96, height: 64, format: $0) }
    files.append(BitmapWriter(.info, .runs(8)).file(card.raster))
    files.append(Drawing.svg("<rect width='9' height='9'/>"))
    files.append(Array("P2 30 20 99\n\(String(repeating: "75 ", count: 600))\n".utf8))
    var urls: [String] = []
    for (index, file) in files.enumerated() {
      for cut in Self.cuts {
        let part = file.prefix(file.count * cut.percent / 100 - cut.missing)
        origin.serve("/\(index)/\(urls.count)", .resource(Resource(Array(part))))
        urls.append(origin.baseURL + "/\(index)/\(urls.count)")
      }
    }
    let list = try cluster.directory.write(Array(urls.joined(separator: "\n").utf8), to: "list")
    let verdicts = try ["--full", "--pixels"].map { option in
      let reports = try cluster.imgctl("info", option, "--list", list)
        .decodedLines(JSONValue.self)
      return reports.reduce(into: [String: String]()) { verdicts, report in
        verdicts[report.url.string ?? ""] = report.code.string ?? report.status.string
      }
    }
    let job = try cluster.submit(urls, "--size", "64")
    _ = try cluster.finished(job)
    let failures = try cluster.failures(of: job)
    for (index, url) in urls.enumerated() {
      let (full, pixels) = (verdicts[0][url], verdicts[1][url])
      #expect(full == pixels, "\(url)")
      #expect(full.map { $0 == "complete" ? "" : "corrupt_image" } == failures[url] ?? "", "\(url)")
      #expect(index % Self.cuts.count < Self.cuts.count - 1 || full == "complete", "\(url)")
    }
    // Of files, too.
    let half = try cluster.directory.write(Array(picture.prefix(4_000)), to: "half.jpg")
    #expect(try info("--full", half).status == "truncated")
    let streamed = try cluster.imgctl("info", "--full", "-", inputPath: half).output
    #expect(streamed.contains("truncated: "), "\(streamed)")
  }

  @Test func `an animation that lacks frames is truncated, and get makes a thumbnail of the first`()
    throws
  {
    let frames = (0..<3).map {
      JXLWriter.Frame(Card(index: $0, width: 64, height: 48).raster, ticks: 100)
    }
    let files = [
      JXLWriter.file(frames),
      try PictureMaker.start().animation(index: 0, frameCount: 3, format: .gif),
    ]
    for file in files {
      let path = try cluster.directory.write(Array(file.dropLast(20)), to: "cut")
      for option in ["--full", "--pixels"] {
        #expect(try info(option, path).status == "truncated", "\(option)")
      }
      #expect(try cluster.imgctl("get", path, "-o", cluster.directory.file("out")).exitCode == 0)
    }
  }

  @Test func `a picture in its URL has facts`() throws {
    let url = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='40' height='30'/>"
    let report = try info(url)
    #expect(report.format == "svg" && report.width == 40 && report.bytes_fetched == .null)
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `a list that a signal ends says how its job goes on`(signal: CInt) throws {
    origin.serve("/held", .body(picture, delivery: .hold))
    let path = try cluster.directory.write(
      Array([origin.baseURL + "/a.jpg", origin.baseURL + "/held"].joined(separator: "\n").utf8),
      to: "list")
    let run = try cluster.begin(["info", "--list", path])
    try #require(try eventually { try !run.lines().isEmpty })
    run.signal(signal)
    let end = try run.wait()
    #expect(end.exitCode == (signal == SIGINT ? 130 : nil))
    #expect(
      end.messages.hasSuffix("job 1 continues; to print its facts: imgctl export 1 DIR\n"))
    origin.release("/held")
    #expect(try cluster.finished(JobID(rawValue: 1)).finished == 2)
  }

  @Test func `a list gives one line for each URL, and costs a few KiB each`() throws {
    origin.serve("/gone", .status(404))
    let urls = ["/a.jpg", "/gone", "/a.jpg?2"].map { origin.baseURL + $0 } + ["no URL"]
    let path = try cluster.directory.write(Array(urls.joined(separator: "\n").utf8), to: "list")
    let result = try cluster.imgctl("info", "--list", path)
    #expect(result.exitCode == 1, "\(result.messages)")
    let reports = try result.decodedLines(JSONValue.self)
    #expect(reports.compactMap(\.url.string).sorted() == urls.sorted())
    #expect(reports.compactMap(\.width.int) == [640, 640])
    #expect(reports.compactMap(\.line.int).sorted() == Array(1...urls.count))
    #expect(reports.compactMap(\.code.string).sorted() == ["http_status", "invalid_url"])
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
    #expect(exported.exitCode == 0 && exported.messages.contains("exported 1 fact file"))
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

/// `imgctl info --pixels`, from the command line to the decoder.
@Suite(.timeLimit(.minutes(20))) struct InfoPixelsTests {
  private let cluster: Cluster
  private let origin = TestOrigin()
  private let maker: PictureMaker
  private let picture: [UInt8]

  init() throws {
    cluster = try Cluster()
    maker = try PictureMaker.start()
    picture = try maker.encode(
      Raster(width: 64, height: 48) { x, _ in x < 48 ? .init(200, 30, 30) : .init(30, 60, 200) },
      as: .png)
    origin.serve("/a.png", .resource(Resource(picture, entityTag: "\"1\"")))
  }

  private var url: String { origin.baseURL + "/a.png" }

  private func info(_ arguments: String...) throws -> JSONValue {
    try cluster.json(["info", "--pixels"] + arguments)
  }

  private func check(_ report: JSONValue) {
    #expect(report.width == 64)
    #expect(report.thumbhash.decoded(ThumbHash.self) != nil)
    #expect(report.blurhash.string != nil && report.pixels_failure == .null)
    #expect(report.dominant_colour == "#c81e1e")
    #expect(report.palette.array?.map(\.share) == [.number(0.75), .number(0.25)])
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
    let plain = try cluster.json("info", url, "--full")
    #expect(plain.width == 64 && plain.thumbhash == .null && plain.palette == .null)
    #expect(try cluster.imgctl("cache", "rm", url).exitCode == 0)
    #expect(try cluster.imgctl("cache", "ls", "--json").lines.isEmpty)
  }

  @Test func `a file and standard input are uploaded, and not stored`() throws {
    let path = try cluster.directory.write(picture, to: "a.jpg")
    let report = try info(path)
    check(report)
    #expect(report.url.string == path && report.declared_type == "image/jpeg")
    let stream = try cluster.imgctl("info", "--pixels", "--json", "-", inputPath: path)
    check(try stream.decoded(JSONValue.self))
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
    let plain = try cluster.imgctl("info", path).output
    #expect(
      plain.contains(" animated, not counted, plays forever; --full counts them\n"), "\(plain)")
    let full = try cluster.json("info", "--full", path)
    #expect(full.frame_count == 3 && full.status == "complete" && full.thumbhash == .null)
  }

  @Test func `a picture that cannot be decoded has its facts, and the reason`() throws {
    // Their decoder is not allowed, and their pixels are not all there.
    origin.serve("/b.jp2", .body(try maker.jpeg2000Card(index: 1)))
    origin.serve("/c.png", .body(Array(picture.dropLast(40))))
    for (path, code, width) in [
      ("/b.jp2", "unsupported_format", 320), ("/c.png", "corrupt_image", 64),
    ] {
      let report = try info(origin.baseURL + path)
      #expect(report.width.int == width && report.thumbhash == .null && report.palette == .null)
      #expect(report.pixels_failure.code.string == code)
      #expect(try info(origin.baseURL + path).pixels_failure.code.string == code)
      #expect(origin.counters(path).requests == 1)
    }
    let text = try cluster.imgctl("info", "--pixels", origin.baseURL + "/b.jp2")
    #expect(text.exitCode == 0 && text.output.contains("  not decoded: unsupported_format"))
    // A thumbnail is another matter.
    #expect(try cluster.imgctl("get", origin.baseURL + "/b.jp2", "--json").exitCode == 1)
  }
}

/// The ThumbHash of a picture, from its decoder to the reports of imgctl.
@Suite(.timeLimit(.minutes(20))) struct ThumbHashTests {

  private let cluster: Cluster
  private let url: String
  private let origin = TestOrigin()

  init() throws {
    cluster = try Cluster()
    origin.serve("/a", .body(try PictureMaker.start().card(index: 1, width: 640, height: 480)))
    url = origin.baseURL + "/a"
  }

  @Test func `every size of a picture is stored and listed with one ThumbHash`() throws {
    let job = try cluster.submit([url], "--size", "64", "--size", "256", "--keep", "all")
    #expect(try cluster.finished(job).done == 1)
    let got = try ["64", "256"].map { try cluster.json("get", url, "--size", $0).thumbhash }
    let hash = got[0]
    #expect(hash.decoded(ThumbHash.self) != nil)
    #expect(got[1] == hash)

    let listed = try cluster.records()
    #expect(listed.count == 3)
    for report in listed {
      #expect(report.thumbhash == (report.kind == "thumbnail" ? hash : .null), "\(report)")
    }
    let directory = cluster.directory.file("out")
    #expect(try cluster.imgctl("export", "\(job)", directory).exitCode == 0)
    let manifest = try Data(contentsOf: URL(filePath: "\(directory)/manifest.jsonl"))
    #expect(try JSONDecoder().decode(JSONValue.self, from: manifest).thumbhash == hash)
  }

  @Test func `a thumbnail that is not stored comes with its ThumbHash`() throws {
    let stored = try cluster.json("get", url)
    let uncached = try cluster.json("get", url, "--no-cache")
    #expect(stored.thumbhash != .null && stored.thumbhash == uncached.thumbhash)
  }
}
