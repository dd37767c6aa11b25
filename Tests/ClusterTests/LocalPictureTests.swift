import FoundationEssentials
import Glibc
import ImgClient
import ImgDecode
import ImgModel
import ImgSystem
import ImgWire
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// Pictures that need no network, and what a person puts into the store, row by row.
@Suite(.timeLimit(.minutes(20))) struct LocalPictureTests {
  private let cluster: Cluster
  private let picture: [UInt8]

  init() throws {
    cluster = try Cluster(Cluster.inspectable)
    picture = try PictureMaker.start().card(index: 1, width: 640, height: 480)
  }

  private func size(of bytes: [UInt8]) throws -> [Int] {
    let raster = try PictureReader(runtime: VipsRuntime.start()).raster(of: bytes)
    return [raster.width, raster.height]
  }

  /// The kinds of what `imgctl cache ls` lists.
  private func kinds() throws -> [String] {
    try cluster.records().compactMap(\.kind.string).sorted()
  }

  private func write(_ bytes: [UInt8], _ name: String = "a.jpg") throws -> String {
    try cluster.directory.write(bytes, to: name)
  }

  // MARK: - Local files of jobs

  @Test func `the files of a directory are read with the rights of the user, whatever their names`()
    throws
  {
    let folder = cluster.directory.file("photos")
    try FileManager.default.createDirectory(
      atPath: "\(folder)/a", withIntermediateDirectories: true)
    let names = ["0100-Ünïcode #1 100%.jpg", "a/b?.heic.jpg", "a/c\n.jpg"]
    for name in names + [".hidden.jpg", "notes.txt"] {
      try Data(picture).write(to: URL(filePath: "\(folder)/\(name)"))
    }
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder)/a/loop", withDestinationPath: "..")
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder)/gone.jpg", withDestinationPath: "nowhere")
    #expect(unsafe mkfifo("\(folder)/pipe.jpg", 0o600) == 0)
    try Data(picture).write(to: URL(filePath: "\(folder)/gone.png"))
    let first = try cluster.imgctl("submit", folder, "--recursive")
    #expect(first.exitCode == 0, "\(first.messages)")
    #expect(first.messages.contains("skipped 2 files without the name of a picture, 1 hidden file"))
    let job = try #require(first.lines.first.flatMap(JobID.init))
    #expect(
      first.messages.hasSuffix(
        "to follow it: imgctl wait \(job); to write its files: imgctl export \(job) DIR\n"))
    let status = try cluster.finished(job)
    #expect([status.done, status.failed] == [4, 2])
    #expect(Set(try cluster.failures(of: job).values) == ["unreadable_file"])

    let export = cluster.directory.file("out")
    #expect(try cluster.imgctl("export", "\(job)", export).exitCode == 0)
    for name in names {
      #expect(
        try size(of: Array(Data(contentsOf: URL(filePath: "\(export)/\(name)")))) == [256, 192])
    }

    let gone = try FileManager.default.contentsOfDirectory(atPath: export).filter {
      $0.hasPrefix("gone")
    }
    #expect(gone == ["gone-4.jpg"], "whatever becomes of gone.jpg")

    // What the store has lost is read again, too.
    #expect(try cluster.imgctl("cache", "reset").exitCode == 0)
    let fetched = cluster.directory.file("fetched")
    let again = try cluster.imgctl("export", "\(job)", fetched, "--fetch")
    #expect(again.exitCode == 0, "\(again.messages)")
    for name in names {
      #expect(FileManager.default.fileExists(atPath: "\(fetched)/\(name)"))
    }

    // Only what has changed is read again.
    try Data(picture + [0]).write(to: URL(filePath: "\(folder)/\(names[0])"))
    let list = try cluster.list(
      ["./photos/\(names[0])", "\(folder)/\(names[1])", "./photos/none.jpg"])
    let second = try cluster.imgctl("submit", list, "--wait")
    #expect(second.exitCode == 1, "\(second.messages)")
    let last = try cluster.finished(try #require(second.lines.first.flatMap(JobID.init)))
    #expect([last.done, last.failed, last.fromCache] == [2, 1, 1])

    // The URL of a line names the file in the state that it had.
    try Data(picture).write(to: URL(filePath: "\(folder)/none.jpg"))
    let repeated = try cluster.imgctl("retry", "\(last.job)", "--all", "--wait")
    #expect(repeated.exitCode == 1)
    #expect(repeated.messages.contains("none.jpg has changed since it was submitted"))
    try FileManager.default.removeItem(atPath: "\(folder)/none.jpg")

    let facts = try cluster.imgctl("info", "--list", list)
    #expect(facts.exitCode == 1, "\(facts.messages)")
    #expect(facts.lines.count { $0.contains("\"width\":640") } == 2)
    #expect(facts.lines.count { $0.contains("unreadable_file") } == 1)
  }

  @Test func `files of a command that was killed wait for the next one that reads them`() throws {
    var files: [String] = []
    for name in ["a.png", "b.png"] {
      let path = try write(picture, name)
      files.append(
        FileURL.text(ofPath: Array(path.utf8), state: try FileStatus(following: path).state))
    }
    let job = try cluster.client().submit(
      name: nil, options: RequestOptions(variant: .standard), namesFiles: true
    ) {
      files.popLast().map { [$0] }
    }.job
    let waiting = try cluster.client().watch(job, every: .milliseconds(100)) { $0.wait == nil }
    #expect(waiting.wait?.kind == .localFiles && waiting.done == 0)
    #expect(try cluster.imgctl("wait", "\(job)").exitCode == 0)
    #expect(try cluster.finished(job).done == 2)
  }

  // MARK: - Contact sheets

  @Test func `a sheet has a tile for each picture, and an empty one for what cannot be decoded`()
    throws
  {
    let maker = try PictureMaker.start()
    let origin = TestOrigin()
    let colours = [Raster.Pixel(255, 0, 0), Raster.Pixel(0, 255, 0), Raster.Pixel(0, 0, 255)]
    for (index, colour) in colours.enumerated() {
      let file = try maker.encode(Raster(width: 60, height: 60) { _, _ in colour }, as: .png)
      origin.serve("/\(index).png", .body(index == 1 ? Array(file.dropLast(30)) : file))
    }
    let urls = (0..<4).map { "\(origin.baseURL)/\($0).png" }
    let submitted = try cluster.imgctl(
      "submit", try cluster.list(urls), "--decode", "lazy", "--wait")
    let job = try #require(submitted.lines.first)

    let path = cluster.directory.file("sheet.png")
    let sheet = try cluster.imgctl(
      "sheet", job, "-o", path, "--tile", "50", "--columns", "2", "--background", "black")
    #expect(sheet.exitCode == 1)
    #expect(sheet.messages.contains("1.png: no tile: corrupt_image"), "\(sheet.messages)")
    #expect(sheet.messages.contains("3 tiles of 50x50 in 2 columns: 106x106 png"))
    #expect(sheet.messages.contains("1 line without a thumbnail: imgctl failures \(job)"))
    #expect(sheet.messages.contains("1 line with an empty tile"))
    let bytes = Array(try Data(contentsOf: URL(filePath: path)))
    let raster = try PictureReader(runtime: VipsRuntime.start()).raster(of: bytes)
    let black = Raster.Pixel(0, 0, 0)
    #expect([raster[27, 27], raster[79, 27], raster[27, 79]] == [colours[0], black, colours[2]])
    #expect([raster[1, 27], raster[53, 27], raster[79, 79]] == [black, black, black])

    // The pictures themselves become a job first.
    let again = try cluster.imgctl("sheet", urls[0], urls[1], urls[2], "-o", path, "--json")
    #expect(again.exitCode == 1, "\(again.messages)")
    #expect(try #require(again.lines.last).contains("\"tiles\":2"), "\(again.lines)")
  }

  // MARK: - Pictures without an origin

  private static let dataURL =
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='40' height='30'/>"

  @Test func `a data URL needs no origin, and its original is not stored`() throws {
    let got = try cluster.imgctl("get", Self.dataURL, "--keep", "all")
    #expect(got.exitCode == 0, "\(got.messages)")
    #expect(try size(of: got.outputBytes) == [256, 192])
    #expect(try kinds() == ["thumbnail"])
    // From the map.
    #expect(try cluster.imgctl("stop").exitCode == 0)
    #expect(try cluster.imgctl("get", Self.dataURL, "--keep", "all").outputBytes == got.outputBytes)
    #expect(try cluster.imgctl("status").exitCode == 3)
    let job = try cluster.submit([Self.dataURL, "data:,junk", "data:;base64,a"], "--size", "20")
    let status = try cluster.finished(job)
    #expect([status.done, status.failed] == [1, 2])
    #expect(
      try cluster.failures(of: job)
        == ["data:,junk": "not_an_image", "data:;base64,a": "invalid_url"])
  }

  @Test func `get makes a thumbnail of standard input and stores nothing`() throws {
    let path = try write(picture)
    let fromInput = try cluster.imgctl("get", "-", "--size", "100", inputPath: path)
    #expect(fromInput.exitCode == 0, "\(fromInput.messages)")
    #expect(try size(of: fromInput.outputBytes) == [100, 75])
    for name in [path, "file://\(path)", "file://localhost\(path)", "FILE:\(path)"] {
      let result = try cluster.imgctl("get", name, "--size", "100", "--keep", "all")
      #expect(result.exitCode == 0, "\(result.messages)")
      #expect(result.outputBytes == fromInput.outputBytes)
    }
    let report = try cluster.json("get", path)
    #expect(report.url.string == path && report.source_bytes.int == picture.count)
    #expect(report.stored == false)
    #expect(try kinds() == [])
  }

  @Test func `get reports local files that are missing, too large or not pictures`() throws {
    let junk = try write(Array("no picture".utf8), "junk")
    let result = try cluster.imgctl("get", junk)
    #expect(result.exitCode == 1)
    #expect(result.messages.hasPrefix("imgctl: \(junk): not_an_image: "))
    let empty = try cluster.imgctl("get", "-")
    #expect(empty.messages.hasPrefix("imgctl: standard input: not_an_image: "))
    let missing = "/no/such/directory/with/a/very/long/name/picture.jpg"
    for command in ["get", "info"] {
      try cluster.expectRefused(command, missing, because: "no such file: \"\(missing)\"")
      let directory = cluster.directory.file("a$(b)")
      try Directory.create(directory)
      try cluster.expectRefused(
        command, directory,
        because: "to make thumbnails of its pictures: imgctl submit '\(directory)'")
    }
    try cluster.expectRefused("get", junk, "--viewer", "left", because: "are for URLs")
    let other = try cluster.imgctl("get", "file://elsewhere/a.jpg")
    #expect(other.messages.hasPrefix("imgctl: file://elsewhere/a.jpg: invalid_url: "))
    #expect(other.exitCode == 1)
    #expect(try cluster.imgctl("stop").exitCode == 0)
    try cluster.start(["--max-body", "1000"])
    let large = try cluster.imgctl("get", try write(picture))
    #expect(large.exitCode == 1)
    #expect(large.messages.contains(": too_large: "))
  }

  @Test func `no process keeps an uploaded file open`() throws {
    let path = try write(picture)
    for _ in 0..<5 { #expect(try cluster.imgctl("get", path).exitCode == 0) }
    let coordinator = try cluster.status().processID
    for processID in [coordinator] + childProcessIDs(of: coordinator) {
      #expect(try eventually { openMemoryFileCount(of: processID) == 0 })
    }
  }

  @Test func `uploads beyond the limit are refused, and the others succeed`() throws {
    try #require(try cluster.waitUntil { $0.workers.allSatisfy { $0.state == .ready } })
    let workers = try cluster.readyWorkers()
    for worker in workers { worker.signal(Self.stop) }
    let channel = try cluster.greetedChannel()
    let numbers = (1...70 as ClosedRange<UInt64>).map(RequestID.init)
    for number in numbers {
      let request = UploadRequest(
        url: nil, byteCount: picture.count, options: RequestOptions(variant: .standard))
      try channel.send(.upload(number, request), with: MemoryFile(containing: picture).file)
      try channel.flush(until: .now + ProgramRun.patience)
    }
    for number in numbers.dropFirst(64) {
      let reply = try channel.nextInTime()
      #expect(reply.request == number && reply.refusal?.code == .unavailable)
    }
    for worker in workers { worker.signal(Self.proceed) }
    var made: Set<RequestID> = []
    for _ in numbers.prefix(64) {
      if case .got(let id, let got) = try channel.nextInTime(), got.uncached != nil {
        made.insert(id)
      }
    }
    #expect(made == Set(numbers.prefix(64)))
  }

  private static let stop: CInt = 19
  private static let proceed: CInt = 18

  // MARK: - The store by URL

  @Test func `cache put, get and rm work by URL`() throws {
    let origin = TestOrigin()
    let url = origin.baseURL + "/a"
    let path = try write(picture)
    let put = try cluster.imgctl("cache", "put", url, path, "--keep", "all", "--expire-after", "1h")
    #expect(put.exitCode == 0, "\(put.messages)")
    #expect(put.messages.contains("stored 256x192 jpeg, "))
    #expect(try kinds() == ["original", "thumbnail"])
    #expect(try size(of: cluster.imgctl("cache", "get", url).outputBytes) == [256, 192])
    // Another size is made of the original.
    #expect(try size(of: cluster.imgctl("get", url, "--size", "64").outputBytes) == [64, 48])
    let other = try PictureMaker.start().card(index: 2, width: 480, height: 640)
    let again = try cluster.imgctl(
      "cache", "put", url, "-", "--json", inputPath: try write(other, "b.jpg"))
    #expect(try again.decoded(Thumbnail.self).height == 256)
    // The original was of the first picture.
    #expect(try kinds() == ["thumbnail", "thumbnail"])
    #expect(try size(of: cluster.imgctl("get", url).outputBytes) == [192, 256])
    #expect(origin.totals().requests == 0)
    #expect(try cluster.imgctl("cache", "rm", url).exitCode == 0)
    #expect(try kinds() == [])
    #expect(try cluster.imgctl("cache", "get", url).exitCode == 1)
  }

  @Test func `cache put of an original replaces the thumbnail, too`() throws {
    let url = "http://127.0.0.1:1/a"
    #expect(try cluster.imgctl("cache", "put", url, try write(picture)).exitCode == 0)
    let other = try PictureMaker.start().card(index: 2, width: 480, height: 640)
    let put = try cluster.imgctl(
      "cache", "put", url, try write(other, "b.jpg"), "--keep", "original")
    #expect(put.exitCode == 0, "\(put.messages)")
    #expect(try kinds() == ["original"])
    #expect(try size(of: cluster.imgctl("get", url).outputBytes) == [192, 256])
  }

  @Test func `cache put refuses junk and keeps the stored thumbnail`() throws {
    let url = "http://127.0.0.1:1/a"
    #expect(try cluster.imgctl("cache", "put", url, try write(picture)).exitCode == 0)
    let before = try cluster.imgctl("cache", "get", url).outputBytes
    #expect(try size(of: before) == [256, 192])
    let put = try cluster.imgctl("cache", "put", url, try write(Array("no picture".utf8), "junk"))
    #expect(put.exitCode == 1)
    #expect(put.messages.contains("/junk for \(url): not_an_image: "))
    #expect(try cluster.imgctl("cache", "get", url).outputBytes == before)
    let nowhere = try cluster.imgctl("cache", "put", "ftp://h/a", try write(picture))
    #expect(nowhere.messages.contains(" for ftp://h/a: unsupported_scheme: "))
  }
}

/// Files that lists name, what `get` takes in place of what it cannot have, and how long it took.
@Suite(.timeLimit(.minutes(20))) struct FileAndFallbackTests {
  private let cluster: Cluster
  private let origin = TestOrigin()
  private let picture: [UInt8]

  init() throws {
    cluster = try Cluster(isStarted: false)
    picture = try PictureMaker.start().card(index: 1, width: 640, height: 480)
  }

  // MARK: - Files

  @Test func `lists may name only files below the allowed directories`() throws {
    try cluster.start(["--allow-directory", cluster.directory.path])
    let path = try cluster.directory.write(picture, to: "a.jpg")
    origin.serve("/b", .body(picture))
    let lines = ["file://\(path)", origin.baseURL + "/b", "file:///etc/hostname", "file:///a/../b"]
    let job = try cluster.submit(lines)
    let status = try cluster.finished(job)
    #expect([status.done, status.failed] == [2, 2])
    #expect(
      try cluster.failures(of: job)
        == ["file:///etc/hostname": "blocked_path", "file:///a/../b": "invalid_url"])
    let export = try cluster.imgctl("export", "\(job)", cluster.directory.file("out"))
    #expect(export.messages.hasPrefix("exported 2 thumbnails"), "\(export.messages)")
    // What it holds now counts, not what it held.
    _ = try cluster.directory.write(Array("no picture".utf8), to: "a.jpg")
    let again = try cluster.submit(["file://\(path)"])
    #expect(try cluster.finished(again).failed == 1)
    #expect(try cluster.failures(of: again) == ["file://\(path)": "not_an_image"])
  }

  @Test(arguments: ["--allow-directory", "--ca-file"])
  func `a missing allowed directory is refused at the start`(flag: String) throws {
    let result = try cluster.imgctl("start", flag, "/nonexistent/place")
    #expect(result.exitCode != 0)
    #expect(result.messages.contains("\(flag): /nonexistent/place cannot be"), "\(result.messages)")
  }

  @Test func `a file without a certificate is refused at the start`() throws {
    let path = try cluster.directory.write(Array("-----BEGIN PRIVATE KEY-----".utf8), to: "s.key")
    let result = try cluster.imgctl("start", "--ca-file", path)
    #expect(result.exitCode != 0)
    #expect(result.messages.contains("--ca-file: \(path) has no certificate"), "\(result.messages)")
  }

  // MARK: - Fallbacks

  @Test func `fallbacks are tried in order until one succeeds`() throws {
    try cluster.start()
    origin.serve("/a", .status(404))
    origin.serve("/b", .body(Array("no picture".utf8)))
    origin.serve("/c", .body(picture))
    let urls = ["/a", "/b", "/c", "/d"].map { origin.baseURL + $0 }
    let result = try cluster.imgctl(
      "get", urls[0], "--fallback", urls[1], "--fallback", urls[2], "--fallback", urls[3],
      "--json")
    #expect(result.exitCode == 0, "\(result.messages)")
    #expect(try result.decoded(JSONValue.self).url.string == urls[2])
    #expect(result.messages.contains("http_status: the origin answered 404; trying \(urls[1])"))
    #expect(origin.startOrder() == ["/a", "/b", "/c"])
  }

  @Test func `a fallback may be a file or a picture of another origin`() throws {
    try cluster.start()
    let other = TestOrigin()
    other.serve("/b", .body(picture))
    let served = try cluster.json(
      "get", origin.baseURL + "/a", "--fallback", other.baseURL + "/b", "--cache-key", "k",
      "--header", "Authorization: Bearer secret")
    #expect(served.url.string == other.baseURL + "/b")
    #expect(other.counters("/b").headersSeen["authorization"] == nil)
    #expect(origin.counters("/a").headersSeen["authorization"] == "Bearer secret")
    #expect(
      try cluster.imgctl("cache", "get", origin.baseURL + "/a", "--cache-key", "k").exitCode == 1)
    let missing = cluster.directory.file("missing.jpg")
    let chain = try cluster.json(
      "get", missing, "--fallback", missing, "--fallback", other.baseURL + "/b")
    #expect(chain.url.string == other.baseURL + "/b")
  }

  @Test func `if all fallbacks fail, the last failure is reported`() throws {
    try cluster.start()
    origin.serve("/b", .body(Array("no picture".utf8)))
    let result = try cluster.imgctl(
      "get", origin.baseURL + "/a", "--fallback", origin.baseURL + "/b", "--json")
    #expect(result.exitCode == 1)
    let report = try result.decoded(JSONValue.self)
    #expect(report.url.string == origin.baseURL + "/b")
    #expect(report.code == "not_an_image")
  }

  // MARK: - Timings

  @Test func `get reports the time of each step, and none for a hit`() throws {
    try cluster.start()
    origin.serve("/a", .body(picture))
    origin.serve("/b", .status(403))
    let url = origin.baseURL + "/a"
    let stored = try cluster.json("get", url).timings
    for time in [stored.ttfb, stored.download, stored.decode, stored.store] {
      #expect(try #require(time.int) >= 0)
    }
    #expect(stored.tls == .null)
    #expect(try cluster.json("get", url).timings == .null)
    let uncached = try cluster.json("get", url, "--no-cache").timings
    #expect(uncached.decode.int != nil && uncached.store == .null)
    let failed = try cluster.json("get", origin.baseURL + "/b").timings
    #expect(failed.ttfb.int != nil && failed.decode == .null)
  }
}
