import FoundationEssentials
import ImgDecode
import ImgFacts
import ImgModel
import ImgSystem
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// One picture, now: `imgctl get`.
@Suite(.timeLimit(.minutes(20))) struct GetTests {
  private let cluster: Cluster
  private let origin = ListOrigin()

  init() throws {
    cluster = try Cluster.inOrder()
  }

  @Test func `get returns an upright thumbnail of the requested size, then from the map`() throws {
    let maker = try PictureMaker.start()
    // A camera held on its side: 400 × 300 upright, stored as 300 × 400.
    let card = try maker.card(index: 7, width: 400, height: 300, orientation: 6)
    origin.origin.serve("/card.jpg", .body(card))
    let url = origin.url("/card.jpg")

    let fetched = try cluster.imgctl("get", url, "--size", "256")
    #expect(fetched.exitCode == 0)
    let raster = try PictureReader(runtime: VipsRuntime.start()).raster(of: fetched.outputBytes)
    #expect(raster.width == 256)
    #expect(raster.height == 192)
    let inset = 10
    #expect(raster[inset, inset].isNear(Card.topLeft))
    #expect(raster[255 - inset, inset].isNear(Card.topRight))
    #expect(raster[inset, 191 - inset].isNear(Card.bottomLeft))
    #expect(raster[255 - inset, 191 - inset].isNear(Card.bottomRight))

    let original = try cluster.imgctl("get", "--original", url)
    #expect(original.outputBytes == card)
    #expect(origin.origin.counters("/card.jpg").requests <= 2)

    #expect(try cluster.imgctl("stop").exitCode == 0)
    origin.origin.stop()
    #expect(try cluster.imgctl("get", "--original", url).outputBytes == card)
    let again = try cluster.imgctl("get", url, "--size", "256")
    #expect(again.exitCode == 0)
    #expect(again.outputBytes == fetched.outputBytes)
    let report = try cluster.json("get", url, "--size", "256")
    #expect(report.url.string == url)
    #expect(report.format == "jpeg")
    #expect([report.width, report.height] == [256, 192])
    #expect(report.bytes.int == fetched.outputBytes.count)
    #expect(report.from_cache == true)
    #expect(!FileManager.default.fileExists(atPath: cluster.socketPath))

    let directory = cluster.directory.file("thumbs")
    let several = try cluster.imgctl("get", url, "--size", "256", "-v", "-o", directory + "/")
    #expect(several.messages.contains("done: \(url): 256x192 jpeg"))
    #expect(
      FileManager.default.contents(atPath: directory + "/card.jpg").map(Array.init)
        == fetched.outputBytes)
    let clash = try cluster.imgctl("get", url, origin.url("/b/card.png"), "-o", directory)
    #expect(clash.exitCode == 2 && clash.messages.contains("would both be card in"))
  }
}

extension Raster.Pixel {
  /// Whether the colours are equal but for what a lossy encoding changes.
  fileprivate func isNear(_ other: Raster.Pixel) -> Bool {
    let channels = [(red, other.red), (green, other.green), (blue, other.blue)]
    return channels.allSatisfy { abs(Int($0) - Int($1)) <= 32 }
  }
}

/// What a file holds that `-o` names.
@Suite(.timeLimit(.minutes(20))) struct OutputFormatTests {
  private let cluster: Cluster
  private let origin = ListOrigin()
  private let opaque: String
  private let transparent: String

  init() throws {
    cluster = try Cluster.inOrder()
    let maker = try PictureMaker.start()
    origin.origin.serve("/opaque", .body(try maker.card(index: 1, format: .jpeg)))
    origin.origin.serve(
      "/transparent", .body(try maker.card(index: 2, format: .png, hasAlpha: true)))
    opaque = origin.url("/opaque")
    transparent = origin.url("/transparent")
  }

  /// Runs a command that writes the file.
  ///
  /// - Returns: the format of its content, and what was said.
  private func write(
    _ arguments: [String], to name: String
  ) throws -> (format: ImageFormat, messages: String) {
    let path = cluster.directory.file(name)
    let result = try cluster.begin(arguments + ["-o", path]).wait()
    #expect(result.exitCode == 0, "\(result.messages)")
    let bytes = try Data(contentsOf: URL(filePath: path))
    return (try FormatSniffer.format(of: Array(bytes)), result.messages)
  }

  @Test func `an output that cannot be written is noticed before anything is fetched`() throws {
    let (unknown, protected) = ("/no/such/place/a.jpg", "/proc/a.jpg")
    let reasons = [
      (
        unknown, "imgctl get: --output: there is no directory \"/no/such/place\"; mkdir -p makes it"
      ),
      (protected, "imgctl: write /proc/a.jpg: "),
      ("a.tif", "imgctl get: --output: \"a.tif\": thumbnails are not tif; end the name in .jpg, "),
    ]
    for (path, reason) in reasons {
      let result = try cluster.imgctl("get", opaque, "-o", path)
      #expect(result.exitCode == 2, "\(result.messages)")
      #expect(result.messages.hasPrefix(reason), "\(result.messages)")
    }
    #expect(origin.origin.counters("/opaque").requests == 0)
  }

  private func isFromCache(_ arguments: String...) throws -> Bool {
    try cluster.json(arguments).from_cache == true
  }

  @Test(
    arguments: [
      ("a.jpg", .jpeg), ("a.png", .png), ("a.webp", .webp), ("a.avif", .avif), ("a.txt", .webp),
    ] as [(String, ImageFormat)])
  func `get writes the format of the file's extension`(name: String, format: ImageFormat) throws {
    let (found, messages) = try write(["get", transparent], to: name)
    #expect(found == format)
    #expect(messages.isEmpty)
  }

  @Test func `--format overrides the extension with a note, and no file replaces its own picture`()
    throws
  {
    let (found, messages) = try write(["get", opaque, "--format", "webp"], to: "a.jpg")
    #expect(found == .webp)
    #expect(messages.hasSuffix("a.jpg contains webp, not jpeg\n"))
    let quiet = try write(["get", opaque, "--format", "webp", "-q"], to: "b.jpg")
    #expect(quiet.format == .webp)
    #expect(quiet.messages.isEmpty)
    let own = cluster.directory.file("own.jpg")
    let bytes = try #require(FileManager.default.contents(atPath: cluster.directory.file("a.jpg")))
    try FileIO.replace(path: own, with: Array(bytes))
    let itself = try cluster.imgctl("get", own, "--size", "64", "-o", own)
    #expect(itself.exitCode == 2 && itself.messages.contains("own.jpg is the picture itself"))
    #expect(FileManager.default.contents(atPath: own) == bytes)
  }

  @Test func `a thumbnail of format auto serves an extension of its format`() throws {
    #expect(try cluster.run([opaque, transparent]).done == 2)
    let file = cluster.directory.file("a.jpg")
    #expect(try isFromCache("get", opaque, "-o", file))
    // By way of the coordinator.
    #expect(try isFromCache("get", opaque, "-o", file, "--viewer", "left"))
    #expect(origin.origin.counters("/opaque").requests == 1)
    #expect(try !isFromCache("get", transparent, "-o", file))
    #expect(try write(["get", transparent], to: "b.jpg").format == .jpeg)
    #expect(try isFromCache("get", transparent, "-o", cluster.directory.file("a.webp")))
  }

  @Test func `cache get writes the format of the file's extension or nothing`() throws {
    #expect(try cluster.run([opaque]).done == 1)
    #expect(try write(["cache", "get", opaque], to: "a.jpg").format == .jpeg)
    #expect(try write(["cache", "get", opaque], to: "a").format == .jpeg)
    let path = cluster.directory.file("a.png")
    let missing = try cluster.imgctl("cache", "get", opaque, "-o", path)
    #expect(missing.exitCode == 1)
    #expect(missing.messages.contains("is not stored in this size as png, only as jpeg"))
    #expect(!FileManager.default.fileExists(atPath: path))
    _ = try write(["get", opaque], to: "b.png")
    #expect(try write(["cache", "get", opaque], to: "c.png").format == .png)
    // The second one is not there.
    let directory = cluster.directory.file("several")
    let both = try cluster.imgctl("cache", "get", opaque, transparent, "-o", "\(directory)/")
    #expect(both.exitCode == 1)
    #expect(both.messages.contains("\(transparent) is not stored in this size"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["opaque.jpg"])
    #expect(try cluster.imgctl("cache", "get", opaque, opaque).exitCode == 2)
  }

  @Test func `cache get without a format writes the stored one`() throws {
    _ = try write(["get", opaque], to: "a.png")
    #expect(try write(["cache", "get", opaque], to: "b").format == .png)
    let other = try cluster.imgctl("cache", "get", opaque, "--format", "auto", "--json")
    #expect(other.exitCode == 1)
    #expect(other.messages.contains("as auto, only as png"))
  }
}

/// Pictures of all formats, from their origins to the store and back.
@Suite(.timeLimit(.minutes(20))) struct SourceFormatTests {
  private let cluster: Cluster
  private let origin = TestOrigin()
  private let maker: PictureMaker

  init() throws {
    cluster = try Cluster()
    maker = try PictureMaker.start()
  }

  @Test func `a thumbnail of every format is stored with what it was made of`() throws {
    for format in PictureFormat.allCases {
      origin.serve("/\(format)", .body(try maker.card(index: 1, format: format)))
    }
    let urls = PictureFormat.allCases.map { "\(origin.baseURL)/\($0)" }
    #expect(try cluster.run(urls).done == urls.count)
    let reports = try urls.map { try cluster.json("get", $0) }
    #expect(reports.allSatisfy { $0.from_cache == true && $0.source_width == 320 })
    let formats = Set(reports.compactMap(\.source_format.string))
    let others = ImageFormat.allCases.filter { ![.svg, .jp2].contains($0) }
    #expect(formats == Set(others.map(\.rawValue)))
  }

  @Test func `a thumbnail of 16 bits is one of its own`() throws {
    let gradient = WideRaster.gradient(width: 600, height: 400, bandCount: 3)
    origin.serve("/wide", .body(try maker.encode(gradient, suffix: ".tif[compression=deflate]")))
    let url = "\(origin.baseURL)/wide"
    let wide = try cluster.imgctl("get", url, "--depth", "16").outputBytes
    let shown = try #require(try PictureReader.start().wideRaster(of: wide))
    #expect(Set(shown.samples).count > 1_000)
    let narrow = try cluster.json("get", url)
    #expect(narrow.format == "jpeg" && narrow.from_cache == false)
    let again = try cluster.json("get", url, "--depth", "16")
    #expect(again.format == "png" && again.from_cache == true)
  }

  @Test func `each selection of frames is a thumbnail of its own`() throws {
    origin.serve("/a", .body(try maker.animation(index: 1, frameCount: 3, format: .gif)))
    let selections: [([String], format: String)] = [
      ([], "jpeg"), (["--frame", "2"], "jpeg"), (["--at", "150ms"], "jpeg"),
      (["--poster"], "jpeg"), (["--animated"], "webp"), (["--animated", "--format", "gif"], "gif"),
    ]
    for isCached in [false, true] {
      for (options, format) in selections {
        let report = try cluster.json(["get", "\(origin.baseURL)/a"] + options)
        #expect(report.format.string == format, "\(options)")
        #expect(report.from_cache == .boolean(isCached), "\(options)")
        #expect(report.frame_count == (options.first == "--animated" ? 3 : .null), "\(options)")
      }
    }
    let alike = [1, 1, 2].map {
      JXLWriter.Frame(Card(index: $0, width: 64, height: 48).raster, ticks: 100)
    }
    origin.serve("/b", .body(JXLWriter.file(alike)))
    #expect(try cluster.json("get", "\(origin.baseURL)/b", "--animated").frame_count == 2)
  }
}

/// `--lenient`, from the command line to the store and back.
@Suite(.timeLimit(.minutes(20))) struct LenientTests {
  private let cluster: Cluster
  private let origin = TestOrigin()
  private let picture: [UInt8]
  private let url: String

  init() throws {
    cluster = try Cluster()
    picture = try PictureMaker.start().scene(width: 640, height: 480, format: .jpeg)
    origin.serve("/a", .body(Array(picture.prefix(picture.count / 2))))
    url = origin.baseURL + "/a"
  }

  private func get(_ options: String...) throws -> JSONValue {
    try cluster.json(["get", url] + options)
  }

  private var requestCount: Int { origin.counters("/a").requests }

  @Test func `a damaged picture fails, unless the request is lenient`() throws {
    #expect(try get().code == "corrupt_image")
    let made = try cluster.imgctl("get", url, "--lenient", "--json")
    #expect(made.exitCode == 0)
    #expect(made.messages.contains("the picture is damaged"))
    #expect(try made.decoded(JSONValue.self).damaged == true)
    // From the store.
    #expect(try get("--lenient").from_cache == true)
    #expect(try get("--lenient").damaged == true)
    #expect(requestCount == 2)
    #expect(try get().code == "corrupt_image")
    #expect(try get("--cache-policy", "cache-only").code == "not_cached")
    let absent = try cluster.imgctl("cache", "get", url)
    #expect(absent.exitCode == 1)
    #expect(absent.messages.contains("the picture is damaged; --lenient accepts that"))
    #expect(try cluster.imgctl("cache", "ls").output.hasPrefix("thumbnail,damaged\tjpeg\t"))
    #expect(try cluster.json("cache", "get", url, "--lenient").damaged == true)
  }

  @Test func `a job counts its damaged pictures, and its export marks them`() throws {
    origin.serve("/b", .body(picture))
    let urls = [url, origin.baseURL + "/b"]
    let strict = try cluster.finished(cluster.submit(urls))
    #expect(strict.failed == 1)
    #expect(strict.damaged == 0)
    let job = try cluster.submit(urls, "--lenient")
    let lenient = try cluster.finished(job)
    #expect(lenient.request.isLenient)
    #expect(lenient.done == 2)
    #expect(lenient.damaged == 1)
    #expect(lenient.fromCache == 1)
    let directory = cluster.directory.file("exported")
    #expect(try cluster.imgctl("export", "\(job)", directory).exitCode == 0)
    let manifest = try #require(FileManager.default.contents(atPath: directory + "/manifest.jsonl"))
    let lines = String(decoding: manifest, as: UTF8.self).split(separator: "\n")
    #expect(lines.map { $0.contains(#""damaged":true"#) } == [true, false])
    let again = try cluster.imgctl("submit", cluster.list(urls), "--lenient", "--wait")
    #expect(again.messages.contains("2 of 2 done, 1 of them damaged, 0 failed, 2 from cache"))
  }
}
