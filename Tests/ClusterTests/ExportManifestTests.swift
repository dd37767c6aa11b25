import FoundationEssentials
import Glibc
import ImgSystem
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// What `imgctl export` does in a directory whose manifest is damaged or gone, or whose disk is full.
@Suite(.timeLimit(.minutes(20))) struct ExportManifestTests {
  private let cluster: Cluster
  private let origin = ListOrigin()
  private let directory: String

  init() throws {
    cluster = try Cluster()
    directory = cluster.directory.file("out")
  }

  @Test
  func
    `lines of a manifest that are damaged or cut off are told, and the file stays beside the new one`()
    throws
  {
    let urls = origin.pictures(5)
    _ = try cluster.imgctl("submit", "--wait", try cluster.list(urls))
    #expect(try cluster.imgctl("export", "1", directory).exitCode == 0)
    let lines = try manifestLines(in: directory)
    let damaged = "\(lines[0])\n\(lines[1].dropFirst(9))\n\(lines[2])\n\(lines[3].dropLast(20))"
    try write(damaged)
    try overwrite("\(directory)/0000003.jpg")
    #expect(try cluster.imgctl("cache", "rm", urls[4]).exitCode == 0)

    let told = try cluster.imgctl("export", "1", directory)
    #expect(told.exitCode == 1)
    let damage = """
      3 lines of manifest.jsonl were damaged or missing, and made again where the store has the same bytes; the \
      earlier manifest is \(directory)/manifest.damaged.jsonl

      """
    let source =
      "its line may be in \(directory)/manifest.damaged.jsonl or a copy of manifest.jsonl"
    let text = """
      1 file without its line differs from the thumbnail in the store and stays: 0000003.jpg; \(source); \
      to write what is stored now: imgctl export 1 \(directory)-1
      1 file without its line stays, and the store has no thumbnail to compare it with: 0000004.jpg; \(source)
      1 thumbnail no longer stored; to fetch it again: imgctl export 1 \(directory) --fetch

      """
    #expect(
      told.messages.hasSuffix("; manifest.jsonl lists all\n" + damage + text), "\(told.messages)")
    let again = try manifestLines(in: directory)
    #expect(again.prefix(3) == lines.prefix(3))
    #expect(try again[3...].map { try record($0).reason } == ["line_lost", "line_lost"])
    #expect(try contents("manifest.damaged.jsonl") == damaged)
    let later = try cluster.imgctl("export", "1", directory)
    #expect(later.messages.hasSuffix("; manifest.jsonl lists all\n" + text), "\(later.messages)")
    #expect(try manifestLines(in: directory) == again)

    // One that has lost all of them does not take the place of the first.
    try write("")
    let fetched = try cluster.json("export", "1", directory, "--fetch")
    #expect([fetched.damaged_lines, fetched.unchecked, fetched.exported] == [5, 0, 4])
    #expect(try manifestLines(in: directory)[4].contains(#""sha256":""#))
    #expect(try contents("manifest.damaged.jsonl") == damaged)
    #expect(try contents("manifest.damaged-1.jsonl").isEmpty)
    #expect(try cluster.json("export", "1", directory).damaged_lines == 0)
    #expect(!FileIO.isFile("\(directory)/manifest.damaged-2.jsonl"))
  }

  @Test
  func `a directory whose manifest is gone is exported to again once its failures are moved away`()
    throws
  {
    _ = try cluster.imgctl("submit", "--wait", try cluster.list(origin.pictures(2) + ["no URL"]))
    _ = try cluster.imgctl("export", "1", directory)
    let lines = try manifestLines(in: directory)
    #expect(unsafe unlink("\(directory)/manifest.jsonl") == 0)
    let refused = try cluster.imgctl("export", "1", directory)
    #expect(refused.exitCode == 2)
    #expect(
      refused.messages
        == "imgctl: \(directory) has failures.csv, and no manifest.jsonl that says of which job it is; if it is of job "
        + "1: move failures.csv away, and export again; else: imgctl export 1 \(directory)-1\n")
    #expect(unsafe unlink("\(directory)/failures.csv") == 0)
    #expect(try cluster.imgctl("export", "1", directory).exitCode == 0)
    #expect(try manifestLines(in: directory) == lines)
  }

  @Test func `a file that is back from a copy keeps its place and its line`() throws {
    let maker = try PictureMaker.start()
    let file = "\(directory)/0000000.jpg"
    let (first, second) = try (
      maker.card(index: 1, width: 64, height: 48), maker.card(index: 2, width: 80, height: 48)
    )
    origin.origin.serve("/a", .body(first))
    let options = ["--keep", "original", "--cache-policy", "reload", "--wait"]
    let list = try cluster.list([origin.url("/a")])
    #expect(try cluster.begin(["submit", list] + options).wait().exitCode == 0)
    #expect(try cluster.imgctl("export", "1", directory).exitCode == 0)
    let proof = try record(manifestLines(in: directory)[0])
    origin.origin.serve("/a", .body(second))
    #expect(try cluster.begin(["submit", list] + options).wait().exitCode == 0)
    #expect(unsafe unlink(file) == 0)
    let replaced = try cluster.imgctl("export", "1", directory)
    #expect(
      replaced.messages.hasPrefix("exported 1 original to \(directory); "), "\(replaced.messages)")

    try FileIO.replaceRegular(path: file, with: first)
    for isFirst in [true, false] {
      let back = try cluster.imgctl("export", "1", directory)
      #expect(back.exitCode == 0)
      let told =
        "1 file has its replaced_sha256 again and stays; its line is back: 0000000.jpg\n"
      #expect(back.messages.contains(told) == isFirst, "\(back.messages)")
      #expect(try FileIO.contents(of: file, upTo: 1 << 20) == first)
      let line = try record(manifestLines(in: directory)[0])
      #expect([line.sha256, line.stored_at] == [proof.sha256, proof.stored_at])
      #expect([line.status, line.replaced_sha256] == ["store_differs", .null])
    }
  }

  @Test func `a line whose hash alone is damaged is made again`() throws {
    _ = try cluster.imgctl("submit", "--wait", try cluster.list(origin.pictures(1)))
    #expect(try cluster.imgctl("export", "1", directory).exitCode == 0)
    let line = try manifestLines(in: directory)[0]
    let hash = try #require(try record(line).sha256.string)
    let damagedHash = String(repeating: "0", count: 64)
    try write(line.replacing(hash, with: damagedHash) + "\n")
    let total = "1 thumbnail in \(directory), not a new one; manifest.jsonl lists all\n"
    let repaired = try cluster.imgctl("export", "1", directory)
    #expect(repaired.exitCode == 0)
    #expect(
      repaired.messages == total
        + "1 file is as in the store, and manifest.jsonl recorded other bytes; its line was made again: 0000000.jpg\n"
    )
    let again = try record(manifestLines(in: directory)[0])
    #expect([again.sha256.string, again.replaced_sha256.string] == [hash, damagedHash])
    #expect(try cluster.imgctl("export", "1", directory).messages == total)
  }

  @Test(.enabled("a tmpfs of its own needs user namespaces") { try SmallDisk.isAvailable() })
  func `on a full disk, an export names the file that it could not write, and how it goes on`()
    throws
  {
    _ = try cluster.imgctl("submit", "--wait", try cluster.list(origin.pictures(5)))
    try Directory.create(directory)
    let disk = SmallDisk(directory: directory, kibibytes: 8)
    let export = try cluster.begin(["export", "1", directory], on: disk).wait()
    #expect(export.exitCode == 2)
    let end = """
      .jpg: No space left on device (ENOSPC)
      the files that are written stay; once \(directory) has room: imgctl export 1 \(directory)

      """
    #expect(
      export.messages.hasPrefix("imgctl: write \(directory)/000") && export.messages.hasSuffix(end),
      "\(export.messages)")
  }

  private func write(_ manifest: String) throws {
    try manifest.write(toFile: "\(directory)/manifest.jsonl", atomically: false, encoding: .utf8)
  }

  private func contents(_ name: String) throws -> String {
    try String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8)
  }
}

/// The lines of the manifest that an export has written.
func manifestLines(in directory: String) throws -> [Substring] {
  try String(contentsOfFile: "\(directory)/manifest.jsonl", encoding: .utf8).split(separator: "\n")
}

func record(_ line: Substring) throws -> JSONValue {
  try JSONDecoder().decode(JSONValue.self, from: Data(line.utf8))
}

/// Changes the last byte of a file.
func overwrite(_ path: String) throws {
  var bytes = try Array(Data(contentsOf: URL(filePath: path)))
  bytes[bytes.count - 1] ^= 1
  try FileIO.replaceRegular(path: path, with: bytes)
}
