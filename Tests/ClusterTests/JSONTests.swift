import FoundationEssentials
import ImgSystem
import TestCluster
import TestFiles
import TestOrigin
import Testing

/// What every command prints with `--json`, against the article that documents it.
@Suite(.timeLimit(.minutes(20)))
struct JSONTests {
  private let origin: ListOrigin
  private let document: JSONDocument

  init() throws {
    origin = try ListOrigin()
    document = try JSONDocument()
  }

  @Test func `the JSON guide has a row for each command and a table for each object`() throws {
    let cluster = try Cluster(isStarted: false)
    let names = try cluster.imgctl("help").lines.drop { $0 != "Commands:" }.dropFirst()
      .prefix { $0.hasPrefix("  ") }
      .map { String($0.dropFirst(2).split(separator: "  ")[0]) }
    #expect(document.objectsOfCommand.keys.sorted() == names.sorted())
    let objects = Set(document.objectsOfCommand.values.joined())
    #expect(objects.union(Self.objectsOfGateway) == Set(document.keys.keys))
  }

  /// What no command prints, but the gateway answers.
  private static let objectsOfGateway: Set = ["Entry"]
  /// It runs until it is stopped, so it has a test of its own.
  private static let endlessCommand = "serve"

  @Test func `every command prints the objects of the JSON guide`() throws {
    let cluster = try Cluster()
    let list = try cluster.list(origin.pictures(2) + [origin.url("/missing/1")])
    let file = try cluster.directory.write(
      try cluster.imgctl("get", origin.url("/p/7")).outputBytes, to: "p")
    let out = cluster.directory.file("out")
    let put = ["put", "http://127.0.0.1/put", file]
    let commands: [(String, [String])] = [
      ("submit", [list, "--name", "first", "--pin"]), ("submit", [list, "--wait"]),
      ("submit", [list, "--delay", "1h"]), ("wait", ["1"]), ("watch", ["1"]),
      ("status", []), ("status", ["--limits"]), ("status", ["2"]), ("list", []),
      ("failures", ["2"]), ("retry", ["2", "--all", "--wait"]), ("pause", ["3"]),
      ("resume", ["3"]), ("priority", ["3", "1"]), ("unpin", ["1"]), ("cancel", ["3"]),
      ("remove", ["3"]),
      ("get", [origin.url("/p/5")]), ("get", [origin.url("/p/5"), "--no-cache"]),
      ("get", [origin.url("/missing/2")]), ("get", [file]), ("info", [origin.url("/p/5")]),
      ("info", [file, "--full", "--gps"]), ("info", ["--list", list]), ("export", ["2", out]),
      ("cache put", Array(put.dropFirst())), ("cache put", ["http://127.0.0.1/put", list]),
      ("cache get", ["http://127.0.0.1/put"]), ("cache ls", []), ("cache stat", []),
      ("cache rm", ["http://127.0.0.1/put"]), ("cache clean", []), ("cache verify", []),
      ("cache compact", []), ("limits", ["--transfers", "9"]), ("start", []),
      ("start", ["--workers", "3"]), ("stop", []), ("stop", []),
      ("recover", ["\(cluster.dataDirectory)/journal", out]), ("cache reset", []),
      ("start", []), ("stop", []), ("version", []),
    ]
    for (command, arguments) in commands {
      let words = command.split(separator: " ").map(String.init)
      let result = try cluster.begin(words + arguments + ["--json"]).wait()
      #expect(!result.lines.isEmpty, "\(command) \(arguments): \(result.messages)")
      for line in result.lines {
        let fault = try document.fault(of: line, by: command)
        #expect(fault == nil, "\(line)")
      }
    }
    let named = Set(commands.map(\.0)).union([Self.endlessCommand])
    #expect(named == Set(document.objectsOfCommand.keys))
  }

  @Test func `serve prints where it answers`() throws {
    let cluster = try Cluster()
    let path = cluster.directory.file("notify")
    let manager = try DatagramReceiver(address: path)
    var environment = cluster.environment
    environment["NOTIFY_SOCKET"] = path
    let arguments = [Self.endlessCommand, "--listen", "127.0.0.1:0", "--json"]
    let run = try ProgramRun(
      Programs.path(of: "imgctl"), arguments, environment: environment, in: cluster.directory)
    // It is ready after it has printed.
    #expect(try manager.next(until: .now + .seconds(20)) != nil)
    run.signal(15)
    let lines = try run.wait().lines
    #expect(lines.count == 1)
    for line in lines { #expect(try document.fault(of: line, by: Self.endlessCommand) == nil) }
  }

  @Test func `a missing and a damaged store are reported in JSON`()
    throws
  {
    let cluster = try Cluster(isStarted: false)
    for command in ["stat", "compact", "verify", "reset", "clean"] {
      let result = try cluster.imgctl("cache", command, "--json")
      #expect(result.exitCode == 0)
      #expect(result.lines.count == 1)
      for line in result.lines {
        #expect(try document.fault(of: line, by: "cache \(command)") == nil)
      }
    }
    #expect(!FileManager.default.fileExists(atPath: cluster.dataDirectory))
  }

  /// What no run above shows.
  @Test func `every documented key is in a source`() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().path + "/../../Sources"
    var words: Set<Substring> = []
    let directories = [
      "ImgCommands", "ImgFacts", "ImgGateway", "ImgModel", "ImgStore/Thumbnails", "ImgWire",
    ]
    for directory in directories {
      let files = try FileManager.default.subpathsOfDirectory(atPath: "\(root)/\(directory)")
      for file in files where file.hasSuffix(".swift") {
        let text = try String(contentsOfFile: "\(root)/\(directory)/\(file)", encoding: .utf8)
        words.formUnion(text.split { !$0.isLetter && !$0.isNumber && $0 != "_" })
      }
    }
    for key in document.keys.values.flatMap(\.keys) {
      #expect(words.contains(key.split(separator: ".").last ?? ""), "\(key)")
    }
  }
}
