import FoundationEssentials

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

/// Any JSON.
enum JSONValue: Decodable, Equatable {
  case object([String: JSONValue])
  case array([JSONValue])
  case string(String)
  case number(Double)
  case boolean(Bool)
  case null

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .boolean(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  /// As the article names it.
  var type: String {
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
