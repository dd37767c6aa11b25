import FoundationEssentials
import ImgSystem
import TestCluster
import TestFiles
import TestOrigin
import Testing

/// What every command prints with `--json`, against the article that documents it.
@Suite(.timeLimit(.minutes(20))) struct JSONTests {
  private let origin = ListOrigin()
  private let document: JSONDocument

  init() throws {
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
  private static let objectsOfGateway: Set = ["Entry", "Phase"]
  /// It runs until it is stopped, so it has a test of its own.
  private static let endlessCommand = "serve"

  @Test func `every command prints the objects of the JSON guide`() throws {
    let cluster = try Cluster()
    let list = try cluster.list(origin.pictures(2) + [origin.url("/missing/1")])
    let file = try cluster.directory.write(
      try cluster.imgctl("get", origin.url("/p/7")).outputBytes, to: "p")
    let out = cluster.directory.file("out")
    let keys = try cluster.directory.write(Array("00112233445566ff".utf8), to: "keys")
    let put = ["put", "http://127.0.0.1/put", file]
    let commands: [(String, [String])] = [
      ("submit", [list, "--name", "first", "--pin"]), ("submit", [list, "--wait"]),
      ("submit", [list, "--delay", "1h"]), ("wait", ["1"]), ("watch", ["1"]),
      ("status", []), ("status", ["--limits"]), ("status", ["2"]), ("list", []),
      ("failures", ["2"]), ("failures", ["2", "--by", "code"]),
      ("failures", ["2", "--by", "host"]), ("retry", ["2", "--all", "--wait"]), ("pause", ["3"]),
      ("resume", ["3"]), ("priority", ["3", "1"]), ("unpin", ["1"]), ("cancel", ["3"]),
      ("remove", ["3"]),
      ("get", [origin.url("/p/5")]), ("get", [origin.url("/p/5"), "--no-cache"]),
      ("get", [origin.url("/missing/2")]), ("get", [file]), ("info", [origin.url("/p/5")]),
      ("info", [file, "--full", "--gps"]), ("info", ["--list", list]), ("export", ["2", out]),
      ("sheet", ["2", "-o", cluster.directory.file("sheet.jpg")]),
      ("cache put", Array(put.dropFirst())), ("cache put", ["http://127.0.0.1/put", list]),
      ("cache get", ["http://127.0.0.1/put"]), ("cache ls", []), ("cache stat", []),
      ("cache rm", ["http://127.0.0.1/put"]), ("cache clean", []), ("cache verify", []),
      ("cache compact", []), ("limits", ["--transfers", "9"]), ("start", []),
      ("config set", ["attempts", "2"]), ("config show", []), ("config unset", ["attempts"]),
      ("start", ["--workers", "3"]), ("stop", []), ("stop", []),
      ("recover", ["\(cluster.dataDirectory)/journal", out]), ("cache reset", []),
      ("start", []), ("stop", []), ("version", []),
      ("sign", ["--key-file", keys, "https://h.example/a.jpg"]),
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
    let run = try cluster.begin([Self.endlessCommand, "--listen", "127.0.0.1:0", "--json"])
    try #require(try eventually { try !run.lines().isEmpty })
    run.signal(15)
    let lines = try run.wait().lines
    #expect(lines.count == 1)
    for line in lines { #expect(try document.fault(of: line, by: Self.endlessCommand) == nil) }
  }

  @Test func `a missing and a damaged store are reported in JSON`() throws {
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
      "ImgClient", "ImgCommands", "ImgFacts", "ImgGateway", "ImgModel", "ImgStore/Thumbnails",
      "ImgWire",
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

/// The article that documents the JSON of the commands, `JSON.md`, as tables.
struct JSONDocument {
  /// One key of an object; `a.b` is the key `b` of the object, or of each object of the array, `a`.
  struct Key {
    let type: String
    let isOptional: Bool
  }

  /// Command ← the objects that it may print.
  private(set) var objectsOfCommand: [String: [String]] = [:]
  /// Object ← its keys.
  private(set) var keys: [String: [String: Key]] = [:]

  init() throws {
    let path =
      URL(filePath: #filePath).deletingLastPathComponent().path
      + "/../../Sources/imgctl/imgctl.docc/JSON.md"
    var section = ""
    for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
      if line.hasPrefix("### ") { section = String(line.dropFirst(4)) }
      guard let name = line.firstMatch(of: /^\| `([^`]+)` \| (.*?) \|/) else { continue }
      if section == "Commands" {
        objectsOfCommand[String(name.1)] = name.2.matches(of: /\(#(\w+)\)/).map { String($0.1) }
      } else if let type = name.2.wholeMatch(of: /(string|number|boolean|object|array)(\?)?/) {
        keys[section, default: [:]][String(name.1)] = Key(
          type: String(type.1), isOptional: type.2 != nil)
      }
    }
  }

  /// What is wrong with a line that a command has printed; `nil` where one of the command's objects
  /// documents it.
  func fault(of line: String, by command: String) throws -> String? {
    let value = try JSONDecoder().decode(JSONValue.self, from: Data(line.utf8))
    guard case .object(var members) = value else { return "no object: \(line)" }
    guard members.removeValue(forKey: "schema") == .number(1) else { return "no schema: \(line)" }
    var found: [String] = []
    for object in objectsOfCommand[command, default: []] {
      let faults = faults(of: .object(members), in: object, below: "")
      if faults.isEmpty { return nil }
      found.append("\(object): \(faults.joined(separator: ", "))")
    }
    return "\(command): \(found.joined(separator: "; "))"
  }

  private func faults(of value: JSONValue, in object: String, below prefix: String) -> [String] {
    switch value {
    case .array(let elements):
      return elements.flatMap { faults(of: $0, in: object, below: prefix) }
    case .object(let members):
      let known = keys[object, default: [:]]
      let here = known.filter {
        $0.key.hasPrefix(prefix) && !$0.key.dropFirst(prefix.count).contains(".")
      }
      let missing = here.filter { !$0.value.isOptional }.map {
        String($0.key.dropFirst(prefix.count))
      }
      .filter { members[$0] == nil }.map { "\(prefix)\($0) is missing" }
      return missing
        + members.flatMap { name, member -> [String] in
          guard let key = known[prefix + name] else {
            return ["\(prefix)\(name) is not documented"]
          }
          guard key.type == member.type else { return ["\(prefix)\(name) is \(member.type)"] }
          let hasParts = known.keys.contains { $0.hasPrefix("\(prefix)\(name).") }
          return hasParts ? faults(of: member, in: object, below: "\(prefix)\(name).") : []
        }
    case .string, .number, .boolean, .null: return ["\(prefix) is no object"]
    }
  }
}

extension JSONValue {
  /// As the article names it.
  fileprivate var type: String {
    switch self {
    case .object: "object"
    case .array: "array"
    case .string: "string"
    case .number: "number"
    case .boolean: "boolean"
    case .null: "null"
    }
  }
}
