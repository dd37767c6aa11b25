import FoundationEssentials
import ImgModel
import ImgSniff
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// What a file holds that `-o` names.
@Suite(.timeLimit(.minutes(20)))
struct OutputFormatTests {
  private let cluster: Cluster
  private let origin: ListOrigin
  private let opaque: String
  private let transparent: String

  init() throws {
    cluster = try Cluster.inOrder()
    origin = try ListOrigin()
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
    for path in ["/no/such/place/a.jpg", "/proc/a.jpg", cluster.directory.path] {
      let result = try cluster.imgctl("get", opaque, "-o", path)
      #expect(result.exitCode == 2, "\(result.messages)")
      #expect(result.messages.hasPrefix("imgctl: write \(path): "), "\(result.messages)")
    }
    #expect(origin.origin.counters("/opaque").requests == 0)
  }

  private func isFromCache(_ arguments: String...) throws -> Bool {
    struct Report: Decodable {
      let from_cache: Bool
    }
    return try cluster.begin(arguments + ["--json"]).wait().decoded(Report.self).from_cache
  }

  @Test(
    arguments: [
      ("a.jpg", .jpeg), ("a.png", .png), ("a.webp", .webp), ("a.avif", .avif), ("a.txt", .webp),
    ] as [(String, ImageFormat)])
  func `get writes the format of the file's extension`(
    name: String, format: ImageFormat
  ) throws {
    let (found, messages) = try write(["get", transparent], to: name)
    #expect(found == format)
    #expect(messages.isEmpty)
  }

  @Test func `--format overrides the extension with a note`() throws {
    let (found, messages) = try write(["get", opaque, "--format", "webp"], to: "a.jpg")
    #expect(found == .webp)
    #expect(messages.hasSuffix("a.jpg contains webp, not jpeg\n"))
    let quiet = try write(["get", opaque, "--format", "webp", "-q"], to: "b.jpg")
    #expect(quiet.format == .webp)
    #expect(quiet.messages.isEmpty)
    let unwritable = try write(["get", opaque], to: "a.tif").messages
    #expect(unwritable.hasSuffix("a.tif contains jpeg, not tiff\n"))
  }

  @Test func `a local file is converted to the format of the output's extension`() throws {
    let path = try cluster.directory.write(
      try PictureMaker.start().card(index: 1, format: .jpeg), to: "source.jpg")
    #expect(try write(["get", path], to: "a.png").format == .png)
  }

  @Test func `a thumbnail of format auto serves an extension of its format`()
    throws
  {
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
  }

  @Test func `cache get without a format writes the stored one`() throws {
    _ = try write(["get", opaque], to: "a.png")
    #expect(try write(["cache", "get", opaque], to: "b").format == .png)
    let other = try cluster.imgctl("cache", "get", opaque, "--format", "auto", "--json")
    #expect(other.exitCode == 1)
    #expect(other.messages.contains("as auto, only as png"))
  }
}
