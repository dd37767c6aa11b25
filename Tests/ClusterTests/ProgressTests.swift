import FoundationEssentials
import ImgModel
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
