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
@Suite(.timeLimit(.minutes(20))) struct ProgressTests {
  private static let steps = [50_000, 100_000, 200_000]
  private let cluster: Cluster
  private let origin = TestOrigin()
  private let picture: [UInt8]

  init() throws {
    cluster = try Cluster(["ATTEMPTS": "2", "BACKOFF": "20ms"])
    picture = try PictureMaker.start().noise(seed: 1, width: 700, height: 480, format: .png)
  }

  /// Runs `get` to its end.
  ///
  /// - Returns: the lines before the result.
  private func progress(of run: ProgramRun) throws -> [JSONValue] {
    #expect(try run.wait().exitCode == 0)
    let lines = try objects(of: run)
    #expect(lines.last?.stored == true)
    #expect(lines.last?.received == .null)
    return lines.dropLast()
  }

  @Test func `a line of JSON says how much has arrived whenever that has grown`() throws {
    origin.serve("/a", .body(picture, delivery: .steps(Self.steps)))
    let run = try cluster.begin(["get", origin.baseURL + "/a", "--json", "--progress"])
    for (step, byteCount) in Self.steps.enumerated() {
      try #require(try eventually { try objects(of: run).last?.received.int == byteCount })
      origin.release("/a", step: step)
    }
    let said = try progress(of: run)
    let received = said.compactMap(\.received.int)
    #expect(received == Set(received).sorted())
    #expect(received.last == picture.count)
    #expect(said.allSatisfy { $0.expected.int == picture.count })
    #expect(said.allSatisfy { $0.url.string == origin.baseURL + "/a" })
  }

  @Test func `without --json, standard error has the progress and the output the picture`() throws {
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
@Suite(.timeLimit(.minutes(20))) struct IncrementalTests {
  private let cluster: Cluster
  private let origin = TestOrigin()
  /// Where the picture is written.
  private let file: String

  init() throws {
    cluster = try Cluster(Cluster.inspectable, isStarted: false)
    try cluster.start()
    file = cluster.directory.file("out.png")
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

  /// The files beside the picture that begin as the file of a replacement does.
  private func leftovers() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: cluster.directory.path)
      .filter { $0.hasPrefix(".imgctl-") }
  }

  @Test(arguments: ArrivingPicture.Form.allCases)
  func `get replaces its file by ever nearer previews`(form: ArrivingPicture.Form) throws {
    let picture = try ArrivingPicture(form)
    serve(picture)
    origin.serve("/whole", .body(picture.bytes))
    let run = try begin("/a", form.showsRows ? "--incremental=force" : "--incremental")
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
    let said = try objects(of: run)
    #expect(said.dropLast().map(\.preview.int) == (1..<said.count).map { $0 })
    #expect(said.allSatisfy { [$0.width, $0.height] == [320, 240] })
    #expect(said.allSatisfy { $0.url.string == origin.baseURL + "/a" })
    #expect(said.last?.preview == .null)
    #expect(said.last?.stored == true)
    #expect(said.last?.bytes.int == bytes.count)
    #expect(try leftovers() == [])

    #expect(try begin("/whole").wait().exitCode == 0)
    #expect(try contents() == bytes, "the thumbnail is that of a get without previews")
  }

  @Test(arguments: [false, true])
  func `if the body breaks off, the file is as before and nothing is stored`(isThere: Bool) throws {
    if isThere { try FileIO.replace(path: file, with: Array("before".utf8)) }
    let picture = try ArrivingPicture(.progressiveJPEG)
    serve(picture)
    let run = try begin("/a", "--incremental")
    try #require(try eventually { try run.lines().count > 0 })
    #expect(try raster().width == 320)
    #expect(try cluster.entryCount() == 0)
    origin.stop()
    let result = try run.wait()
    #expect(result.exitCode == 1)
    #expect(FileIO.isFile(file) == isThere)
    if isThere { #expect(try contents() == Array("before".utf8)) }
    #expect(try leftovers() == [])
    #expect(try cluster.entryCount() == 0)
  }

  @Test(arguments: [false, true])
  func `a signal that ends the command puts the file back`(isThere: Bool) throws {
    if isThere { try FileIO.replace(path: file, with: Array("before".utf8)) }
    serve(try ArrivingPicture(.progressiveJPEG))
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
      let run = try begin("/a", "--incremental")
      try #require(try eventually { try run.lines().count > 0 })
      #expect(try raster().width == 320)
      run.signal(signal)
      #expect(try run.wait().status == .signalled(signal))
      #expect(FileIO.isFile(file) == isThere)
      if isThere { #expect(try contents() == Array("before".utf8)) }
      #expect(try leftovers() == [])
    }
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
}

private func objects(of run: ProgramRun) throws -> [JSONValue] {
  try run.lines().map { try JSONDecoder().decode(JSONValue.self, from: Data($0.utf8)) }
}
