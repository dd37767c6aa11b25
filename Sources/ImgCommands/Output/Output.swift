import FoundationEssentials
import Glibc
import ImgClient
import ImgModel
import ImgSettings
package import ImgSystem
import Synchronization

/// A buffered output stream, such as standard output or standard error.
///
/// The owner flushes it at the end. The process must ignore SIGPIPE.
package final class Output {
  private let descriptor: CInt
  private let path: String?
  private let capacity: Int
  private var buffer: [UInt8] = []

  /// - Parameters:
  ///   - path: of the file, for errors; `nil` for an inherited one.
  ///   - capacity: the size of the buffer in bytes; 0 writes everything at once.
  package init(descriptor: CInt, of path: String? = nil, capacity: Int = 64 << 10) {
    self.descriptor = descriptor
    self.path = path
    self.capacity = capacity
  }

  package func write(_ text: String) throws(OutputError) {
    buffer += text.utf8
    if buffer.count > capacity { try flush() }
  }

  /// Writes the bytes of a picture.
  package func write(bytes: [UInt8]) throws(OutputError) {
    buffer += bytes
    if buffer.count > capacity { try flush() }
  }

  /// The version of the commands' JSON, the key `schema` of every object. Removing a key or
  /// changing its meaning raises it. Adding a key does not.
  package static let jsonSchema = 1

  /// Writes an object as one line of JSON with sorted keys and ``jsonSchema``, without secrets and with
  /// escapes for what a terminal would obey.
  package func write(json value: some Encodable) throws {
    try write(try Self.json(of: value))
  }

  /// The line that ``write(json:)`` writes.
  static func json(of value: some Encodable) throws -> String {
    try json(ofObject: JSONObject(["schema": jsonSchema], beside: value))
  }

  /// The same without ``jsonSchema``.
  static func json(ofObject value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.userInfo[.isForPeople] = true
    let json = try encoder.encode(value)
    return String(decoding: json, as: UTF8.self).escapedForTerminals + "\n"
  }

  /// Writes the buffer.
  package func flush() throws(OutputError) {
    // Discard the buffer even if writing fails, so that nothing is written twice.
    defer { buffer.removeAll(keepingCapacity: true) }
    do {
      try FileIO.writeAll(descriptor, buffer.span)
    } catch {
      guard error.code != EPIPE else { throw .readerLeft }
      throw .failed(
        path.map { SystemError(operation: "write \($0)", code: error.code) } ?? error)
    }
  }
}

extension Terminal {
  /// Whether control sequences do what they say. A dumb terminal shows them as text.
  static func obeysControls(_ descriptor: CInt) -> Bool {
    isTerminal(descriptor) && !["", "dumb"].contains(ThisProcess.environment["TERM"] ?? "")
  }

  /// The width of standard error in characters; 80 if it does not report one.
  static var messageColumns: Int { columns(2) ?? 80 }
}

/// Why output could not be written.
package enum OutputError: Error, Hashable, Sendable {
  /// The reader closed the pipe, as in `imgctl list | head -1`. That ends the command and is no
  /// failure.
  case readerLeft
  case failed(SystemError)

  /// Whether an error says that a disk is full.
  static func meansFullDisk(_ error: any Error) -> Bool {
    switch error {
    case let error as SystemError: error.meansFullDisk
    case Self.failed(let error): error.meansFullDisk
    default: false
    }
  }
}

/// An error as the program reports it: an exit code, a code for scripts, and a sentence for people.
///
/// With `--json`, standard error gets the object `{"error":{"code":…,"message":…}}` instead of the
/// sentence. Standard output contains only results, so a script never reads an error there.
package struct ErrorReport: Encodable {
  package let exitCode: ExitCode
  private let code: String
  /// The sentence for people.
  private let text: String

  package init(_ exitCode: ExitCode, code: String, _ text: String) {
    self.exitCode = exitCode
    self.code = code
    self.text = text.withoutPasswords.printableLines
  }

  /// - Returns: `nil` if the reader closed the output. That ends the command and is no failure.
  package init?(_ error: any Error) {
    let text = "imgctl: \((error as? ImageError)?.message ?? "\(error)")"
    switch error {
    case OutputError.readerLeft: return nil
    case OutputError.failed(let error):
      self.init(.wrongUse, code: "output", "imgctl: the output cannot be written: \(error)")
    case let error as UsageError: self.init(.wrongUse, code: "usage", error.description)
    case let error as any CodedError:
      self.init(
        error.meansNoCoordinator ? .noCoordinator : .wrongUse, code: error.errorCode.rawValue,
        error.errorCode == .unknownJob ? "\(text); see imgctl list" : text)
    case is SystemError: self.init(.wrongUse, code: "system", text)
    default: self.init(.wrongUse, code: "failed", text)
    }
  }

  /// One line for standard error, with a line feed.
  ///
  /// - Parameter places: those that the commands in it carry.
  package func line(isJSON: Bool, places: TypedPlaces = .none) -> String {
    let report = ErrorReport(exitCode, code: code, places.completed(text))
    guard isJSON, let json = try? Output.json(of: report) else { return report.text + "\n" }
    return json
  }

  package func encode(to encoder: any Encoder) throws {
    try JSONObject(["error": JSONObject(["code": code, "message": text])]).encode(to: encoder)
  }
}

/// The places that a command line names: its socket and directories, as they were typed. The commands that messages
/// advise carry them, so that they reach the same coordinator. Those of variables are in the shell of the reader, or in a
/// script, which names itself by a variable: then the advised commands are those of the script.
package struct TypedPlaces: Sendable {
  package static let none = TypedPlaces(in: [])

  /// The first words of the commands that take places.
  private static let commandWords = Set(
    CommandTable.all.filter { $0.description.options.contains(Setting.dataDirectory.option) }
      .compactMap { $0.words.first })

  /// The variable with the name of such a script.
  package static let variable = "IMGCTL_COMMAND"
  private static let program = "imgctl"

  /// Such as `--data-dir pictures`; empty if no place is named.
  private let flags: String
  private let program: String

  /// - Parameters:
  ///   - arguments: without the program's name. Wrong options count as no places.
  ///   - environment: may name a script.
  package init(in arguments: [String], environment: [String: String] = [:]) {
    let script = environment[Self.variable].flatMap { $0.isEmpty ? nil : $0.printable }
    program = script ?? Self.program
    let grammar = OptionGrammar(CommandTable.options + [.help, .version])
    var typed: [String: String] = [:]
    var rest = arguments[...]
    while let argument = rest.popFirst(), argument != "--" {
      guard OptionGrammar.isOption(argument) else { continue }
      for given in (try? grammar.read(argument, rest: &rest)) ?? [] {
        typed[given.option.flag] = given.value
      }
    }
    flags = OptionDescription.places.compactMap { place in
      typed[place.flag].map { "\(place.flag) \($0.shellWord.printable)" }
    }.joined(separator: " ")
  }

  /// A text in which the commands to type carry the places.
  ///
  /// A message writes `imgctl` before a command that people can type. An error begins with that name and a colon.
  /// Elsewhere a message names the command by its own words, such as `submit`.
  package func completed(_ text: String) -> String {
    guard !flags.isEmpty || program != Self.program else { return text }
    var completed = ""
    let parts = text.split(separator: "imgctl ", omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      if index > 0 {
        completed +=
          Self.isTyped(part, after: completed.last)
          ? "\(program) \(flags)\(flags.isEmpty ? "" : " ")" : "\(Self.program) "
      }
      completed += part
    }
    return completed
  }

  /// Whether a command is one to type.
  ///
  /// - Parameters:
  ///   - rest: what follows `imgctl`.
  ///   - last: what precedes it; within a word, that is a path.
  private static func isTyped(_ rest: Substring, after last: Character?) -> Bool {
    (last.map(" (\n\"".contains) ?? true)
      && commandWords.contains(String(rest.prefix(while: \.isLetter)))
      && !CommandTable.all.contains { rest.hasPrefix("\($0.words.joined(separator: " ")):") }
  }
}

/// The exit code of a command.
package enum ExitCode: Int32, Sendable {
  case success = 0
  /// The command finished, but some images failed.
  case someFailed = 1
  /// The request makes no sense or cannot be done here. The command prints the reason.
  case wrongUse = 2
  /// No coordinator could be reached or started.
  case noCoordinator = 3
  /// Ctrl-C while a job was watched; the job continues. The value is 128 plus the number of SIGINT,
  /// as in shells.
  case interrupted = 130
}

/// A URL on the command line that is not valid. Names the URL, because a command may take several.
struct InvalidArgumentURL: CodedError, CustomStringConvertible {
  let url: String
  let failure: Failure

  var errorCode: ImageError.Code { failure.code }
  var description: String { "\(HumanText.source(url)): \(failure)" }
}

extension ImageURL {
  /// Reads an argument of a command.
  init(argument text: String) throws(InvalidArgumentURL) {
    do throws(Failure) {
      try self.init(line: text)
    } catch {
      throw InvalidArgumentURL(url: text, failure: error)
    }
  }
}

extension JSONObject {
  /// What `--json` prints about a picture: the members of a value and, in the place of the name that a record
  /// has, the URL.
  ///
  /// - Parameters:
  ///   - url: the URL as requested.
  ///   - index: the position in the list, from 0; `nil` without a list.
  ///   - place: where it stands in the lists of a job; `nil` if that is not known.
  static func picture(
    _ url: RequestedURL, index: Int? = nil, place: LinePlace? = nil, _ value: some Encodable
  ) -> JSONObject {
    JSONObject(["index": index, "line": place?.line, "list": place?.list], beside: value, url)
  }
}

/// The URL of a picture in `--json` and manifests: `url` as requested, so that people find their
/// own line, and `normalized_url` if it differs. imgctl fetches and stores the normalized URL.
struct RequestedURL: Encodable {
  private let url: String
  private let normalized: String?
  /// Of a file that the command has read.
  private let path: String?

  private enum CodingKeys: String, CodingKey {
    case url, path
    case normalized = "normalized_url"
  }

  /// - Parameter line: the text in a list or command line.
  init(_ line: String) {
    url = line.withoutPasswords
    let parsed = try? ImageURL(line: line)
    let text = parsed?.text
    normalized = text == line ? nil : text?.withoutPasswords
    path = parsed?.localPath
  }

  /// - Parameter name: a text that is not normalized: a path, or the name of a record.
  init(verbatim name: String) {
    url = name.withoutPasswords
    normalized = nil
    path = nil
  }
}

/// What a line has in the columns of its job: an object with a member for each, `null` for one that the line does not have.
struct ColumnValues: Encodable {
  private let names: [String]
  private let values: [JSONNode]

  /// - Parameter names: those of the columns of the job.
  /// - Returns: `nil` for a job without columns.
  init?(of line: ListLine, in names: [String]) {
    guard !names.isEmpty else { return nil }
    self.names = names
    let json = Array(line.columns.json.utf8)
    values = (try? JSONDecoder().decode([JSONNode].self, from: Data(json))) ?? []
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: JSONNode.Key.self)
    for (index, name) in names.enumerated() {
      let value = values.indices.contains(index) ? values[index] : .null
      try container.encode(value, forKey: JSONNode.Key(stringValue: name))
    }
  }

  /// Each value as a cell of a table: a text as it is, nothing for `null`, any other value as JSON.
  var cells: [String] {
    names.indices.map { values.indices.contains($0) ? values[$0].cell : "" }
  }
}

/// A value of JSON of any shape.
private enum JSONNode: Codable {
  case null
  case bool(Bool)
  case integer(Int64)
  case real(Double)
  case text(String)
  case list([JSONNode])
  case object([String: JSONNode])

  struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    self =
      if let text = try? container.decode(String.self) {
        .text(text)
      } else if container.decodeNil() {
        .null
      } else if let bool = try? container.decode(Bool.self) {
        .bool(bool)
      } else if let integer = try? container.decode(Int64.self) {
        .integer(integer)
      } else if let real = try? container.decode(Double.self) {
        .real(real)
      } else if let list = try? container.decode([JSONNode].self) {
        .list(list)
      } else {
        .object(try container.decode([String: JSONNode].self))
      }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let bool): try container.encode(bool)
    case .integer(let integer): try container.encode(integer)
    case .real(let real): try container.encode(real)
    case .text(let text): try container.encode(text)
    case .list(let list): try container.encode(list)
    case .object(let object): try container.encode(object)
    }
  }

  private static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }

  var cell: String {
    switch self {
    case .null: ""
    case .text(let text): text
    default:
      (try? Self.encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
  }
}

/// The terminal of a command.
extension Output {
  /// The columns of the terminal that standard output is; `nil` if it is none.
  static var columnCount: Int? { Terminal.columns(1) }

  /// The columns of the terminal that standard error is; `nil` if it is none.
  static var messageColumnCount: Int? { Terminal.columns(2) }

  /// Whether standard output is a terminal that obeys control sequences.
  static var obeysControls: Bool { Terminal.obeysControls(1) }

  /// Whether standard input is a terminal, so that a person has to type it.
  static var isInputTyped: Bool { Terminal.isTerminal(0) }
}

/// Lets a signal end a command only between its steps.
final class SignalGate: Sendable {
  private let isClosed = Mutex(false)

  /// Takes a step.
  func pass(_ step: () throws -> Void) throws {
    try isClosed.withLock { isClosed in
      // The signal ends the process: nothing more is done.
      while isClosed { pause() }
      try step()
    }
  }

  /// Ends the command with an action, after the step that it is at.
  func close(_ action: () -> Void) {
    isClosed.withLock { isClosed in
      action()
      isClosed = true
    }
  }
}

/// Says at Ctrl-C whether the list that a command submits has become a job.
struct SubmissionNotice {
  private final class Text: Sendable {
    private let text: Mutex<String?>

    init(_ text: String?) {
      self.text = Mutex(text)
    }

    func set(_ text: String?) { self.text.withLock { $0 = text } }

    func write() {
      guard let text = text.withLock(\.self) else { return }
      try? Output(descriptor: 2, capacity: 0).write(text)
    }
  }

  private let text: Text
  private let gate: SignalGate
  private let watch: TerminationWatch

  /// Make one before any other thread starts, see ``Termination/prepare(for:_:)``.
  ///
  /// - Parameter text: what is said from now on, with a line feed; `nil` for nothing.
  init(_ text: String?) throws {
    let (shared, gate) = (Text(text), SignalGate())
    watch = try Termination.prepare(for: [SIGINT]) {
      gate.close { shared.write() }
    }
    self.text = shared
    self.gate = gate
  }

  /// What was said before is not true any more: it is not said once this returns.
  func change(to text: String?) throws {
    try gate.pass { self.text.set(text) }
  }

  /// Leaves Ctrl-C to what follows.
  func stop() { watch.stop() }
}
