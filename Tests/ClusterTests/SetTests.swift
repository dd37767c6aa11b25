import FoundationEssentials
import Glibc
import ImgModel
import ImgSystem
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// `imgctl export --output-format webdataset`: a set for training, whatever happens to it meanwhile.
@Suite(.timeLimit(.minutes(10))) struct SetTests {
  private let cluster: Cluster
  private let origin = ListOrigin()
  private let directory: String

  init() throws {
    cluster = try Cluster()
    directory = cluster.directory.file("set")
  }

  /// Of an export of ``export(_:count:)``.
  private var command: String {
    "imgctl export 1 \(directory) --output-format webdataset --per-shard 2 --caption-column text"
  }

  private let caption = "Caption \"0\",\n\u{E9}"

  /// Lines with captions; the URL of the second one is not found.
  private func table(_ count: Int) throws -> String {
    let pictures = origin.pictures(count)
    let rows = pictures.enumerated().map { index, url in
      "\(String(repeating: "0", count: index))7,\(index == 1 ? origin.url("/missing") : url),\"Caption \"\"\(index)\"\",\n\u{E9}\",w"
    }
    return try cluster.directory.write(
      Array((["id,url,text,width"] + rows).map { $0 + "\n" }.joined().utf8), to: "table.csv")
  }

  private func export(_ options: String..., count: Int = 2) throws -> ProgramResult {
    try cluster.begin(
      [
        "export", "1", directory, "--output-format", "webdataset", "--per-shard", "\(count)",
        "--caption-column", "text",
      ] + options
    ).wait()
  }

  /// What tar(1) finds in a shard.
  private func members(of shard: String) throws -> [(name: String, content: String)] {
    func tar(_ arguments: String...) throws -> String {
      let result = try ProgramRun(
        "/bin/tar", arguments + ["--file", "\(directory)/\(shard)"], environment: [:],
        in: cluster.directory
      ).wait()
      try #require(result.exitCode == 0, "\(result.messages)")
      return result.output
    }
    return try tar("--list").split(separator: "\n").map { name in
      (
        String(name),
        name.hasSuffix("jpg") ? "" : try tar("--extract", "--to-stdout", "\(name)")
      )
    }
  }

  private func lines(of list: String) throws -> [JSONValue] {
    try String(contentsOfFile: "\(directory)/\(list)", encoding: .utf8).split(separator: "\n")
      .map { try JSONDecoder().decode(JSONValue.self, from: Data($0.utf8)) }
  }

  /// The same bytes with another text in the place of the last that is equal.
  private func replacingLast(_ former: String, in bytes: [UInt8], with new: String) throws
    -> [UInt8]
  {
    let length = former.utf8.count
    let start = try #require(
      (0...bytes.count - length).last { bytes[$0..<$0 + length].elementsEqual(former.utf8) })
    var bytes = bytes
    bytes.replaceSubrange(start..<start + length, with: new.utf8)
    return bytes
  }

  /// Changes when a file is replaced.
  private func fileNumber(_ name: String) throws -> String {
    try FileStatus(at: "\(directory)/\(name)").number
  }

  private func bytes(_ name: String) throws -> [UInt8] {
    try FileIO.contents(of: "\(directory)/\(name)", upTo: 1 << 24)
  }

  @Test func `a shard has picture, JSON and caption of each line that has a picture`() throws {
    _ = try cluster.imgctl("submit", "--wait", "--columns", "all", try table(5))
    let result = try export()
    #expect(result.exitCode == 0)
    #expect(
      result.messages == """
        exported 4 thumbnails to 3 shards in \(directory); the .jsonl of each lists its lines
        1 failed: imgctl failures 1, or \(directory)/failures.csv

        """)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
        == ["00000", "00001", "00002"].flatMap { ["\($0).jsonl", "\($0).tar", "\($0)_stats.json"] }
        + ["failures.csv"])
    let first = try members(of: "00000.tar")
    #expect(first.map(\.name) == ["000000.jpg", "000000.json", "000000.txt"])
    #expect(first.last?.content == caption)
    #expect(
      try members(of: "00001.tar").map(\.name)
        == ["000010", "000011"].flatMap { ["\($0).jpg", "\($0).json", "\($0).txt"] })

    let lines = try lines(of: "00000.jsonl")
    #expect(lines.map(\.key) == ["000000", "000001"])
    #expect(lines.map(\.status) == ["success", "failed_to_download"])
    #expect(lines.map(\.error_message) == [.null, "http_status: the origin answered 404"])
    // The names of the job's columns do not hide what a sample has itself.
    #expect(lines.map(\.id) == ["7", "07"] && lines.map(\.column_width) == ["w", "w"])
    #expect(lines.map(\.width) == [64, .null] && lines[0].original_height == 48)
    #expect(lines[0].caption == .string(caption) && lines[0].text == .null)
    #expect(
      first[1].content.utf8.elementsEqual(try bytes("00000.jsonl").prefix { $0 != 0x0A } + [0x0A]))
    let statistics = try self.lines(of: "00000_stats.json")[0]
    #expect(
      [statistics.count, statistics.successes, statistics.failed_to_download] == [2, 1, 1])
    #expect(statistics.status_dict.success == 1)
  }

  @Test func `a second export keeps the samples, and adds what was made since`() throws {
    _ = try cluster.imgctl("submit", "--wait", "--columns", "all", try table(4))
    #expect(try export().exitCode == 0)
    let shards = ["00000.tar", "00001.tar"]
    let before = try shards.map(bytes)
    let kept = try fileNumber("00001.tar")
    origin.serve("/missing")
    #expect(try cluster.imgctl("retry", "1", "--all", "--wait").exitCode == 0)
    let added = try export()
    #expect(
      added.messages.hasPrefix("exported 4 thumbnails to 2 shards in \(directory), 1 of them new;"))
    #expect(try fileNumber("00001.tar") == kept, "not written again")
    #expect(try bytes("00000.tar").starts(with: before[0].prefix(1_536)))
    #expect(try members(of: "00000.tar").count == 6)
    #expect(try bytes("failures.csv").count { $0 == 0x0A } == 1, "the names of its columns")

    // One shard is cut off, and a picture of the other has changed.
    let whole = try shards.map(bytes)
    try FileIO.replaceRegular(path: "\(directory)/00000.tar", with: Array(whole[0].prefix(4_000)))
    var changed = whole[1]
    changed[700] ^= 1
    try FileIO.replaceRegular(path: "\(directory)/00001.tar", with: changed)
    let repaired = try export()
    #expect(repaired.exitCode == 0)
    #expect(
      repaired.messages.contains(
        "2 shards were damaged or missing, and what is intact or stored was written again: "
          + "\(directory)/00000.tar, \(directory)/00001.tar\n"))
    #expect(try shards.map(bytes) == whole)

    // A caption and JSON have changed, and the statistics are gone.
    for (former, new) in [("Caption \"0", "Capti0n \"0"), ("\"id\":\"7", "\"id\":\"8")] {
      try FileIO.replaceRegular(
        path: "\(directory)/00000.tar", with: replacingLast(former, in: whole[0], with: new))
      let mended = try export()
      #expect(
        mended.messages.contains(
          "1 sample had other JSON or another caption than the job; written again: 000000\n"),
        "\(mended.messages)")
      #expect(try bytes("00000.tar") == whole[0])
    }
    let list = try fileNumber("00000.jsonl")
    #expect(try export().exitCode == 0)
    #expect(try fileNumber("00000.jsonl") == list, "nothing is written again")
    #expect(unsafe unlink("\(directory)/00000_stats.json") == 0)
    #expect(try export().exitCode == 0)
    #expect(try lines(of: "00000_stats.json")[0].successes == 2)
  }

  @Test func `what the shards have stays if the store has nothing`() throws {
    _ = try cluster.imgctl("submit", "--wait", "--columns", "all", try table(4))
    origin.serve("/missing")
    #expect(try cluster.imgctl("retry", "1", "--all", "--wait").exitCode == 0)
    #expect(try export().exitCode == 0)
    let whole = try ["00000.tar", "00001.tar"].map(bytes)
    var changed = whole[1]
    changed[700] ^= 1
    #expect(try cluster.imgctl("cache", "reset").exitCode == 0)
    try FileIO.replaceRegular(path: "\(directory)/00000.tar", with: [])
    #expect(try export().exitCode == 1)
    #expect(!FileIO.isFile("\(directory)/00000.tar"), "readers take an empty archive for an error")
    try FileIO.replaceRegular(path: "\(directory)/00000.tar", with: whole[0])
    try FileIO.replaceRegular(path: "\(directory)/00001.tar", with: changed)
    let incomplete = try export()
    #expect(incomplete.exitCode == 1)
    #expect(
      incomplete.messages.contains(
        "1 thumbnail no longer stored; to fetch it again: imgctl export 1 \(directory) --fetch --output-format webdataset --per-shard 2 --caption-column text\n"
      ))
    #expect(try members(of: "00001.tar").count == 3)
    #expect(try lines(of: "00001.jsonl").map(\.status) == ["not_in_store", "success"])
    let fetched = try export("--fetch", "--json")
    #expect(fetched.exitCode == 0)
    #expect(try fetched.decoded(JSONValue.self).new == 1)
    #expect(try lines(of: "00001.jsonl").map(\.stored_after_job) == [true, false])
    #expect(
      try members(of: "00001.tar").map(\.name)
        == ["000010", "000011"].flatMap { ["\($0).jpg", "\($0).json", "\($0).txt"] })
    #expect(try cluster.imgctl("list", "--json").lines.count == 1)
  }

  @Test func `an export that is killed leaves no half shard`() throws {
    _ = try cluster.imgctl("submit", "--wait", "--columns", "all", try table(4))
    #expect(try cluster.imgctl("cache", "reset").exitCode == 0)
    origin.hold("/p/3")
    let arguments = [
      "export", "1", directory, "--output-format", "webdataset", "--per-shard", "2", "--fetch",
    ]
    let export = try cluster.begin(arguments)
    try #require(try eventually { FileIO.isFile("\(directory)/00000.jsonl") })
    export.signal(SIGKILL)
    _ = try export.wait()
    #expect(!FileIO.isFile("\(directory)/00001.tar"))
    #expect(try members(of: "00000.tar").count == 2)
    origin.release(["/p/3"])
    #expect(try cluster.begin(arguments).wait().exitCode == 0)
    #expect(try members(of: "00001.tar").count == 4)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
        == ["00000", "00001"].flatMap { ["\($0).jsonl", "\($0).tar", "\($0)_stats.json"] } + [
          "failures.csv"
        ])
  }

  @Test
  func
    `a directory has the shards of one job with the same options, and nothing else of an export`()
    throws
  {
    _ = try cluster.imgctl("submit", "--wait", "--columns", "all", try table(3))
    #expect(try export().exitCode == 0)
    for count in ["2", "3"] {
      let options = ["--output-format", "webdataset", "--per-shard", count]
      let refused = try cluster.begin(["export", "1", directory] + options).wait()
      #expect(refused.exitCode == 2)
      #expect(
        refused.messages
          == "imgctl: \(directory) has shards of the job with other options; to go on with them: \(command); "
          + "for another directory: imgctl export 1 \(directory)-1 \(options.joined(separator: " "))\n"
      )
    }
    let plain = try cluster.imgctl("export", "1", directory + "/")
    #expect(plain.exitCode == 2)
    #expect(
      plain.messages.hasSuffix(
        "\(command); for another directory: imgctl export 1 \(directory)-1\n"))
    let files = cluster.directory.file("files")
    #expect(try cluster.imgctl("export", "1", files).exitCode == 0)
    let mixed = try cluster.imgctl("export", "1", files, "--output-format", "webdataset")
    #expect(mixed.exitCode == 2)
    #expect(mixed.messages.contains("\(files)/manifest.jsonl is of an export without shards"))
    let column = try cluster.imgctl(
      "export", "1", "\(directory)2", "--output-format", "webdataset", "--caption-column", "x")
    #expect(column.messages == "imgctl: the job has no column \"x\"; it has id, text, width\n")
    let useless = try cluster.imgctl("export", "1", files, "--per-shard", "2")
    #expect(
      useless.messages.hasPrefix("imgctl export: --per-shard is for --output-format webdataset"))
    try Directory.create("\(directory)2")
    try FileIO.replaceRegular(path: "\(directory)2/00000.tar", with: [1])
    let foreign = try cluster.imgctl(
      "export", "1", "\(directory)2", "--output-format", "webdataset")
    #expect(foreign.exitCode == 2)
    #expect(
      foreign.messages.contains(
        "\(directory)2/00000.tar is of no export of job 1: imgctl export 1 "))
  }

  @Test func `several sizes of a picture are one sample, and a row without a URL has none`() throws
  {
    let table = try cluster.directory.write(
      Array("id,url\n1,\(origin.pictures(1)[0])\n2,\n".utf8), to: "table.csv")
    _ = try cluster.imgctl(
      "submit", "--wait", "--columns", "id", "--size", "32", "--size", "16", table)
    let told = try cluster.imgctl("export", "1", directory, "--output-format", "webdataset")
    #expect(told.exitCode == 0)
    #expect(
      told.messages.contains(
        "the set has no captions; --caption-column takes one of the columns: id\n"))
    #expect(
      try members(of: "00000.tar").map(\.name)
        == ["000000000.32x32.jpg", "000000000.16x16.jpg", "000000000.json"])
    let row = try lines(of: "00000.jsonl")[1]
    #expect([row.id, row.url, row.sha256] == ["2", "", .null])
    #expect(row.error_message == "invalid_url: this row of the list has no URL")
  }
}
