import FoundationEssentials
import ImgClient
import ImgDecode
import ImgModel
import ImgSystem
import ImgWire
import TestCluster
import TestOrigin
import TestPictures
import Testing

extension Cluster {
  /// A cluster of one worker, which answers all look-ups of a list at once, so that the list is
  /// fetched in its order: of two, the faster one's part goes first.
  static func inOrder(_ settings: [String: String] = [:]) throws -> Cluster {
    try Cluster(settings.merging(["WORKERS": "1"]) { given, _ in given })
  }

  /// What `imgctl failures` lists: code by URL. Each line has a reason, too.
  func failures(of job: JobID) throws -> [String: String] {
    let result = try imgctl("failures", "\(job)")
    let rows = result.lines.map { $0.split(separator: "\t").map(String.init) }
    return try rows.reduce(into: [:]) { failures, row in
      try #require(row.count == 4 && !row[3].isEmpty)
      failures[row[2]] = row[0]
    }
  }

  /// What `imgctl status JOB --json` prints.
  func status(of job: JobID) throws -> ImageJob {
    try imgctl("status", "\(job)", "--json").decoded(ImageJob.self)
  }

  /// What `imgctl status --json` prints.
  func status() throws -> ClusterStatus {
    try imgctl("status", "--json").decoded(ClusterStatus.self)
  }

  /// What `imgctl list --json` prints.
  func jobs() throws -> [JobID] {
    try imgctl("list", "--json").lines.map {
      try JSONDecoder().decode(ImageJob.self, from: Data($0.utf8)).job
    }
  }

  /// Waits until what was asked for so far competes for a transfer or is beyond that. A status that
  /// is asked for now is answered after all lines in hand have been handed out to be looked up.
  ///
  /// - Returns: whether it did in time.
  func waitUntilLookedUp() throws -> Bool {
    try waitUntil(\.isNothingLookedUp)
  }

  /// Runs `imgctl` and expects it to be refused: exit status 2 and a sentence that says why.
  func expectRefused(
    _ arguments: String..., because reason: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let result = try begin(arguments).wait()
    #expect(result.exitCode == 2, sourceLocation: sourceLocation)
    #expect(result.messages.contains(reason), sourceLocation: sourceLocation)
  }

  /// Expects that a job ended as its list was made to.
  func expect(
    _ status: ImageJob, endedAs list: MixedList, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(status.state == .finished, sourceLocation: sourceLocation)
    #expect(status.total == list.lines.count, sourceLocation: sourceLocation)
    #expect(status.done == list.doneCount, sourceLocation: sourceLocation)
    #expect(status.failed == list.failures.count, sourceLocation: sourceLocation)
    let rest = [status.cancelled, status.queued, status.running]
    #expect(rest == [0, 0, 0], sourceLocation: sourceLocation)
    let failures = try failures(of: status.job)
    #expect(failures == list.failures, sourceLocation: sourceLocation)
  }

  /// Asks for the cluster's state until it meets a condition.
  ///
  /// - Returns: whether it did before a program's patience ended.
  func waitUntil(_ condition: (ClusterStatus) throws -> Bool) throws -> Bool {
    let client = try client()
    return try eventually { try condition(try client.answer(.status)) }
  }
}

extension ClusterStatus {
  /// Whether what has come in so far waits for a transfer or is beyond it: who waits for a place
  /// competes for it only then.
  var isNothingLookedUp: Bool { workers.allSatisfy { $0.lookingUp == 0 } }
}

extension Cluster {
  /// What `imgctl` prints with `--json`: where changes are shown, the final object.
  func json(_ arguments: String...) throws -> JSONValue { try json(arguments) }

  func json(_ arguments: [String]) throws -> JSONValue {
    try begin(arguments + ["--json"]).wait().decoded(JSONValue.self)
  }

  /// How many pictures the store has.
  func entryCount() throws -> Int? { try json("cache", "stat").entries.int }

  /// The records of the store, as `imgctl cache ls --json` lists them.
  func records() throws -> [JSONValue] {
    try imgctl("cache", "ls", "--json").decodedLines(JSONValue.self)
  }

  /// Ends the coordinator as a power cut would, and starts the next one.
  func restartAfterCrash() throws {
    try killCoordinator()
    try start()
  }
}

/// Any JSON. A member that an object does not have is null.
@dynamicMemberLookup
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

  subscript(dynamicMember name: String) -> JSONValue {
    if case .object(let members) = self { members[name] ?? .null } else { .null }
  }

  var int: Int? { if case .number(let value) = self { Int(exactly: value) } else { nil } }
  var string: String? { if case .string(let value) = self { value } else { nil } }
  var array: [JSONValue]? { if case .array(let values) = self { values } else { nil } }
  /// What a string stands for; `nil` if it is no such thing.
  func decoded<Value: Decodable>(_ type: Value.Type) -> Value? {
    string.flatMap { try? JSONDecoder().decode(type, from: Data("\"\($0)\"".utf8)) }
  }

  var time: WallTime? { decoded(WallTime.self) }
}

extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByStringLiteral, ExpressibleByArrayLiteral
{
  init(booleanLiteral value: Bool) { self = .boolean(value) }
  init(integerLiteral value: Int) { self = .number(Double(value)) }
  init(stringLiteral value: String) { self = .string(value) }
  init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
}

extension ProgramResult {
  /// The last object that was printed: where changes are shown, the final one.
  func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try JSONDecoder().decode(type, from: Data(try #require(lines.last).utf8))
  }

  /// All objects that were printed, one a line.
  func decodedLines<Value: Decodable>(_ type: Value.Type) throws -> [Value] {
    try lines.map { try JSONDecoder().decode(type, from: Data($0.utf8)) }
  }
}

/// Polls a condition until it is true.
///
/// - Returns: whether it was so before the time ended, by default a program's patience.
func eventually(
  within time: Duration = ProgramRun.patience, _ condition: () throws -> Bool
) throws -> Bool {
  let deadline = ContinuousClock.now + time
  while ContinuousClock.now < deadline {
    if try condition() { return true }
    ThisProcess.pause(for: .milliseconds(5))
  }
  return false
}

/// An origin for lists: `/p/N` is a small picture, `/text/N` is none, and all else is not found.
struct ListOrigin {
  let origin: TestOrigin

  /// Made once for all tests; URLs make them many.
  private static let pictures: [[UInt8]] = {
    do {
      let maker = try PictureMaker.start()
      return try (0..<8).map { try maker.card(index: $0, width: 64, height: 48) }
    } catch {
      fatalError("no picture: \(error)")
    }
  }()

  /// - Parameter headerDelay: how long each answer is held back.
  init(headerDelay: Duration = .zero) {
    origin = TestOrigin { path, _ in
      let parts = path.split(separator: "/")
      guard parts.count == 2, let number = Int(parts[1]) else { return nil }
      return switch parts[0] {
      case "p": .body(Self.pictures[number % Self.pictures.count], headerDelay: headerDelay)
      case "text": .body(Array("no picture".utf8), contentType: "text/plain")
      default: nil
      }
    }
  }

  /// Serves a picture that is held back until its path is released.
  func hold(_ path: String) {
    origin.serve(path, .body(Self.pictures[0], delivery: .hold))
  }

  /// Serves a picture.
  func serve(_ path: String) {
    origin.serve(path, .body(Self.pictures[0]))
  }

  /// Serves a picture, but to the first who asks says that it is too busy.
  func refuseOnce(_ path: String) {
    origin.serve(path, .statuses([503, 200], body: Self.pictures[0]))
  }

  /// Holds the first transfers of a list back, so that what follows waits in its order.
  ///
  /// - Returns: their paths.
  func holdPictures(_ count: Int) -> [String] {
    let paths = (0..<count).map { "/held/\($0)" }
    for path in paths { hold(path) }
    return paths
  }

  /// Holds the first pictures of a list back until so many requests are in flight, and lets them
  /// go: however slow the machine is, places that are there have then been used.
  ///
  /// - Parameter body: submits the list.
  func gather<Result>(_ count: Int, _ body: () throws -> Result) throws -> Result {
    let paths = (0..<count).map(Self.picturePath)
    for path in paths { hold(path) }
    let result = try body()
    try #require(origin.waitUntil { $0.totals.inFlight == count })
    release(paths)
    return result
  }

  func release(_ paths: [String]) {
    for path in paths { origin.release(path) }
  }

  func url(_ path: String) -> String { origin.baseURL + path }

  /// The URLs of so many pictures.
  func pictures(_ count: Int) -> [String] {
    (0..<count).map { url(Self.picturePath($0)) }
  }

  private static func picturePath(_ number: Int) -> String { "/p/\(number)" }

  /// A list whose every twentieth line is a 404.
  func listWithMissing(_ count: Int) -> MixedList {
    var list = MixedList()
    for number in 0..<count {
      let isMissing = number % 20 == 19
      list.add(
        url(isMissing ? "/missing/\(number)" : Self.picturePath(number)),
        failing: isMissing ? .httpStatus : nil)
    }
    return list
  }

  /// A list whose every tenth line is a 404, and every tenth is not an image.
  func mixedList(_ count: Int) -> MixedList {
    var list = MixedList()
    for number in 0..<count {
      switch number % 10 {
      case 3:
        list.add(url("/missing/\(number)"), failing: .httpStatus)
      case 7:
        list.add(url("/text/\(number)"), failing: .notAnImage)
      default:
        list.add(url("/p/\(number)"), failing: nil)
      }
    }
    return list
  }
}

/// The lines of a list, and how each is to end.
struct MixedList {
  private(set) var lines: [String] = []
  private(set) var failures: [String: String] = [:]

  var doneCount: Int { lines.count - failures.count }

  mutating func add(_ line: String, failing code: Failure.Code?) {
    lines.append(line)
    failures[line] = code?.rawValue
  }
}

/// A client's end of a connection, message by message.
typealias ClientChannel = Channel<CoordinatorReply, ClientMessage>

extension Cluster {
  func connect() throws -> ClientChannel {
    try ClientChannel(UnixSocket.connect(path: socketPath))
  }

  func greetedChannel() throws -> ClientChannel {
    let channel = try connect()
    try channel.send(.hello(Hello(processID: ThisProcess.processID)))
    _ = try channel.nextInTime()
    return channel
  }
}

extension ClientChannel {
  /// The next reply, within a program's patience.
  func nextInTime() throws -> CoordinatorReply {
    try next(until: .now + ProgramRun.patience)
  }

  func sendWhole(_ message: ClientMessage) throws {
    try send(message)
    try flush(until: .now + ProgramRun.patience)
  }
}

extension CoordinatorReply {
  var got: GotReply? { if case .got(_, let reply) = self { reply } else { nil } }
  var refusal: (code: Failure.Code, message: String)? {
    if case .refused(_, let code, let message) = self { (code, message) } else { nil }
  }
  var status: ClusterStatus? { if case .status(_, let status) = self { status } else { nil } }
}

extension Tag {
  /// Waits for a limit of the product to pass: ten seconds and more.
  @Tag static var slow: Self
}
