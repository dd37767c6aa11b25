import FoundationEssentials
import Glibc
import ImgDecode
import ImgModel
import ImgSystem
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// `imgctl get --progress`: how much of a picture has arrived.
@Suite(.timeLimit(.minutes(20)))
struct ProgressTests {
  private static let steps = [50_000, 100_000, 200_000]
  private let cluster: Cluster
  private let origin: TestOrigin
  private let picture: [UInt8]

  init() throws {
    cluster = try Cluster(["ATTEMPTS": "2", "BACKOFF": "20ms"])
    origin = try TestOrigin()
    picture = try PictureMaker.start().noise(seed: 1, width: 700, height: 480, format: .png)
  }

  /// What `--json` says, as far as it is checked here.
  private struct Line: Decodable {
    let received: Int?
    let expected: Int?
    let url: String
    let stored: Bool?
  }

  private func lines(of run: ProgramRun) throws -> [Line] {
    try run.lines().map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
  }

  private func begin(_ path: String, _ options: String...) throws -> ProgramRun {
    try cluster.begin(["get", origin.baseURL + path, "--json", "--progress"] + options)
  }

  /// Runs `get` to its end.
  ///
  /// - Returns: the lines before the result.
  private func progress(of run: ProgramRun) throws -> [Line] {
    #expect(try run.wait().exitCode == 0)
    let lines = try lines(of: run)
    #expect(lines.last?.stored == true)
    #expect(lines.last?.received == nil)
    return lines.dropLast()
  }

  @Test func `a line of JSON says how much has arrived whenever that has grown`() throws {
    origin.serve("/a", .body(picture, delivery: .steps(Self.steps)))
    let run = try begin("/a")
    for (step, byteCount) in Self.steps.enumerated() {
      try #require(try eventually { try lines(of: run).last?.received == byteCount })
      origin.release("/a", step: step)
    }
    let said = try progress(of: run)
    let received = said.compactMap(\.received)
    #expect(received == Set(received).sorted())
    #expect(received.last == picture.count)
    #expect(said.allSatisfy { $0.expected == picture.count })
    #expect(said.allSatisfy { $0.url == origin.baseURL + "/a" })
  }

  @Test func `a chunked body has no length`() throws {
    origin.serve("/a", .body(picture, delivery: .chunked))
    let said = try progress(of: begin("/a"))
    #expect(said.last?.received == picture.count)
    #expect(said.allSatisfy { $0.expected == nil })
  }

  @Test func `a short body is reported once`() throws {
    let card = try PictureMaker.start().card(index: 0, width: 64, height: 48)
    origin.serve("/a", .body(card))
    let said = try progress(of: begin("/a"))
    #expect(said.map(\.received) == [card.count])
    #expect(said.map(\.expected) == [card.count])
  }

  @Test func `what is on this machine has no progress`() throws {
    let card = try PictureMaker.start().card(index: 0, width: 64, height: 48)
    origin.serve("/a", .body(card))
    #expect(try cluster.imgctl("get", origin.baseURL + "/a", "--json").lines.count == 1)
    // The delay makes the coordinator answer the hit.
    for options in [[], ["--delay", "1ms"]] {
      let hit = try cluster.begin(
        ["get", origin.baseURL + "/a", "--json", "--progress"] + options)
      #expect(try progress(of: hit).isEmpty)
    }
    let data = "data:image/jpeg;base64," + Data(card).base64EncodedString()
    let file = try cluster.directory.write(card, to: "card.jpg")
    for source in [data, file] {
      let result = try cluster.imgctl("get", source, "--json", "--progress")
      #expect(result.exitCode == 0)
      #expect(result.lines.count == 1)
    }
  }

  @Test func `a get without the option has no progress, and shares the fetch`() throws {
    origin.serve("/a", .body(picture, delivery: .steps(Self.steps)))
    let run = try begin("/a")
    let plain = try cluster.begin(["get", origin.baseURL + "/a", "--json"])
    try #require(try cluster.waitUntil { $0.viewers == 2 })
    try #require(try eventually { try lines(of: run).last?.received == Self.steps[0] })
    for step in Self.steps.indices { origin.release("/a", step: step) }
    #expect(try progress(of: run).isEmpty == false)
    #expect(try plain.wait().lines.count == 1)
    #expect(origin.counters("/a").requests == 1)
  }

  @Test func `a get that joins is told what has arrived so far`() throws {
    origin.serve("/a", .body(picture, delivery: .steps(Self.steps)))
    let runs = [try begin("/a")]
    try #require(try eventually { try lines(of: runs[0]).last?.received == Self.steps[0] })
    let late = try begin("/a")
    try #require(try eventually { try lines(of: late).last?.received == Self.steps[0] })
    for step in Self.steps.indices { origin.release("/a", step: step) }
    for run in runs + [late] {
      let received = try progress(of: run).compactMap(\.received)
      #expect(received == Set(received).sorted())
      #expect(received.last == picture.count)
    }
    #expect(origin.counters("/a").requests == 1)
  }

  @Test func `a fetch that starts again reports nothing before it has more than the first`() throws
  {
    origin.serve(
      "/a",
      .sequence([
        .body(picture, delivery: .steps([100_000])),
        .body(picture, delivery: .steps([50_000, 150_000])),
      ]))
    let run = try begin("/a")
    try #require(try eventually { try lines(of: run).last?.received == 100_000 })
    try cluster.readyWorkers().forEach { $0.signal(9) }
    try #require(origin.waitUntil { $0["/a"].requests == 2 && $0["/a"].bytesSent >= 150_000 })
    origin.release("/a", step: 0)
    try #require(try eventually { try lines(of: run).last?.received == 150_000 })
    origin.release("/a", step: 1)
    let received = try progress(of: run).compactMap(\.received)
    #expect(received == Set(received).sorted())
    #expect(received.last == picture.count)
  }

  @Test func `without --json, standard error has the progress and standard output the picture`()
    throws
  {
    origin.serve("/a", .body(picture, delivery: .steps([100_000])))
    let run = try cluster.begin(["get", origin.baseURL + "/a", "--progress"])
    try #require(try eventually { try run.messages().contains(" % of ") })
    origin.release("/a", step: 0)
    let result = try run.wait()
    #expect(result.exitCode == 0)
    #expect(result.outputBytes.isEmpty == false)
  }
}

/// `imgctl get --incremental`: previews while a picture arrives.
@Suite(.timeLimit(.minutes(20)))
struct IncrementalTests {
  private let cluster: Cluster
  private let origin: TestOrigin
  /// Where the picture is written.
  private let file: String

  init() throws {
    cluster = try Cluster(Cluster.inspectable, isStarted: false)
    try cluster.start()
    origin = try TestOrigin()
    file = cluster.directory.file("out.png")
  }

  /// What `--json` says, as far as it is checked here.
  private struct Line: Decodable {
    let preview: Int?
    let url: String
    let width: Int
    let height: Int
    let bytes: Int
    let stored: Bool?
  }

  private func lines(of run: ProgramRun) throws -> [Line] {
    try run.lines().map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
  }

  private func begin(_ path: String, _ options: String...) throws -> ProgramRun {
    try cluster.begin(
      ["get", origin.baseURL + path, "--size", "320x320", "--json", "-o", file] + options)
  }

  private func serve(_ picture: ArrivingPicture, at path: String = "/a") {
    origin.serve(path, .body(picture.bytes, delivery: .steps(picture.steps)))
  }

  private func raster() throws -> Raster {
    try PictureReader(runtime: VipsRuntime.start()).raster(of: contents())
  }

  private func contents() throws -> [UInt8] { try FileIO.contents(of: file, upTo: 64 << 20) }

  private func entryCount() throws -> Int {
    struct Statistics: Decodable {
      let entries: Int
    }
    return try cluster.imgctl("cache", "stat", "--json").decoded(Statistics.self).entries
  }

  /// The files beside the picture that begin as the file of a replacement does.
  private func leftovers() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: cluster.directory.path)
      .filter { $0.hasPrefix(".imgctl-") }
  }

  @Test(arguments: ArrivingPicture.Form.allCases)
  func `get replaces its file by previews, each nearer to the thumbnail`(
    form: ArrivingPicture.Form
  ) throws {
    let picture = try ArrivingPicture(form)
    serve(picture)
    origin.serve("/whole", .body(picture.bytes))
    let run = try begin("/a", "--incremental")
    var shown: [Raster] = []
    for step in picture.steps.indices {
      try #require(try eventually { try run.lines().count > step })
      shown.append(try raster())
      origin.release("/a", step: step)
    }
    #expect(try run.wait().exitCode == 0)
    let (final, bytes) = (try raster(), try contents())
    let differences = shown.map { $0.meanDifference(from: final) }
    #expect(differences == differences.sorted(by: >), "\(differences)")
    #expect(differences.allSatisfy { $0 > 0 })
    let said = try lines(of: run)
    #expect(said.dropLast().map(\.preview) == (1..<said.count).map { $0 })
    #expect(said.allSatisfy { [$0.width, $0.height] == [320, 240] })
    #expect(said.allSatisfy { $0.url == origin.baseURL + "/a" })
    #expect(said.last?.preview == nil)
    #expect(said.last?.stored == true)
    #expect(said.last?.bytes == bytes.count)
    #expect(try leftovers() == [])

    #expect(try begin("/whole").wait().exitCode == 0)
    #expect(try contents() == bytes, "the thumbnail is that of a get without previews")
  }

  @Test func `a get without the option has no previews, and shares the fetch`() throws {
    let picture = try ArrivingPicture(.interlacedPNG)
    serve(picture)
    let run = try begin("/a", "--incremental")
    let other = cluster.directory.file("other.png")
    let plain = try cluster.begin(
      ["get", origin.baseURL + "/a", "--size", "320x320", "--json", "-o", other])
    try #require(try cluster.waitUntil { $0.viewers == 2 })
    for step in picture.steps.indices {
      try #require(try eventually { try run.lines().count > step })
      #expect(try plain.lines() == [])
      #expect(!FileIO.isFile(other))
      origin.release("/a", step: step)
    }
    #expect(try run.wait().exitCode == 0)
    #expect(try plain.wait().exitCode == 0)
    #expect(try plain.lines().count == 1)
    #expect(try FileIO.contents(of: other, upTo: 64 << 20) == contents())
    #expect(origin.counters("/a").requests == 1)
  }

  @Test(arguments: [false, true])
  func `if the body breaks off, the file is as before and nothing is stored`(
    isThere: Bool
  ) throws {
    if isThere { try FileIO.replace(path: file, with: Array("before".utf8)) }
    let picture = try ArrivingPicture(.progressiveJPEG)
    serve(picture)
    let run = try begin("/a", "--incremental")
    try #require(try eventually { try run.lines().count > 0 })
    #expect(try raster().width == 320)
    #expect(try entryCount() == 0)
    origin.stop()
    let result = try run.wait()
    #expect(result.exitCode == 1)
    #expect(FileIO.isFile(file) == isThere)
    if isThere { #expect(try contents() == Array("before".utf8)) }
    #expect(try leftovers() == [])
    #expect(try entryCount() == 0)
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT], [false, true])
  func `a signal that ends the command puts the file back`(signal: CInt, isThere: Bool) throws {
    if isThere { try FileIO.replace(path: file, with: Array("before".utf8)) }
    serve(try ArrivingPicture(.progressiveJPEG))
    let run = try begin("/a", "--incremental")
    try #require(try eventually { try run.lines().count > 0 })
    #expect(try raster().width == 320)
    run.signal(signal)
    #expect(try run.wait().status == .signalled(signal))
    #expect(FileIO.isFile(file) == isThere)
    if isThere { #expect(try contents() == Array("before".utf8)) }
    #expect(try leftovers() == [])
  }

  @Test func `a second command leaves the file to the first, and may finish it`() throws {
    try FileIO.replace(path: file, with: Array("before".utf8))
    let picture = try ArrivingPicture(.progressiveJPEG)
    serve(picture, at: "/a")
    serve(picture, at: "/b")
    let first = try begin("/a", "--incremental")
    try #require(try eventually { try first.lines().count > 0 })
    let second = try begin("/b", "--incremental")
    try #require(try eventually { try second.lines().count > 0 })
    #expect(try second.messages().contains("no previews in \(file)"))
    for step in picture.steps.indices { origin.release("/b", step: step) }
    #expect(try second.wait().exitCode == 0)
    let finished = try contents()
    first.signal(SIGTERM)
    #expect(try first.wait().status == .signalled(SIGTERM))
    #expect(try contents() == finished)
    #expect(try leftovers() == [])
  }

  @Test func `a symbolic link to the file stays, and the file keeps its rights`() throws {
    let target = cluster.directory.file("target.png")
    try FileIO.replace(path: target, with: Array("before".utf8))
    unsafe chmod(target, 0o640)
    unsafe symlink("target.png", file)
    let picture = try ArrivingPicture(.interlacedPNG)
    serve(picture)
    let run = try begin("/a", "--incremental")
    for step in picture.steps.indices {
      try #require(try eventually { try run.lines().count > step })
      #expect(try FileStatus(at: target).permissions == 0o640)
      origin.release("/a", step: step)
    }
    #expect(try run.wait().exitCode == 0)
    #expect(try FileStatus(at: target).permissions == 0o640)
    #expect(try contents() == FileIO.contents(of: target, upTo: 64 << 20))
    #expect(try raster().width == 320)
    #expect(try FileStatus(at: file).isRegularFile == false, "the link is still one")
    #expect(try leftovers() == [])
  }

  @Test func `previews go on with higher numbers when the fetch is repeated`() throws {
    let picture = try ArrivingPicture(.interlacedPNG)
    let first = picture.steps[0]
    let rest = Array(picture.steps.dropFirst())
    // The connection breaks at the first step, and the second one brings all.
    origin.serve(
      "/a",
      .sequence([
        .body(picture.bytes, delivery: .steps([first])),
        .body(picture.bytes, delivery: .steps(rest)),
      ]))
    let run = try begin("/a", "--incremental")
    try #require(try eventually { try run.lines().count == 1 })
    try cluster.readyWorkers().forEach { $0.signal(9) }
    for step in rest.indices {
      try #require(try eventually { try run.lines().count > step + 1 })
      origin.release("/a", step: step)
    }
    #expect(try run.wait().exitCode == 0)
    let said = try lines(of: run)
    #expect(said.dropLast().map(\.preview) == (1..<said.count).map { $0 })
  }

  @Test func `standard output takes no previews`() throws {
    let reason =
      "--incremental: standard output takes one picture; use -o FILE for previews, or --json"
    let url = origin.baseURL + "/a"
    try cluster.expectRefused("get", url, "--incremental", because: reason)
    try cluster.expectRefused("get", url, "--incremental", "-o", "-", because: reason)
  }

  @Test func `submit has no previews`() throws {
    try cluster.expectRefused("submit", "-", "--incremental", because: "--incremental")
  }
}
