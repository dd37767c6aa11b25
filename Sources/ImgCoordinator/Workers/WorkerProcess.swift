import Glibc
import ImgModel
import ImgScheduler
import ImgSystem
import ImgWire

/// One worker process as its coordinator sees it: the child, the connection and the heartbeat page.
final class WorkerProcess {
  let id: WorkerID
  let number: Int
  let channel: Channel<WorkerMessage, CoordinatorMessage>
  private let child: ChildProcess
  private let heartbeat: WorkerHeartbeat
  /// Why the coordinator killed it; `nil` when it did not, or because an answer was overdue.
  private var killReason: String?
  private var isOverdue = false

  /// Starts the program.
  ///
  /// - Parameters:
  ///   - executable: the path of `imgworker`.
  ///   - errorStream: for what it writes to standard error.
  ///   - bandwidth: the limits that it shares with the other workers.
  init(
    id: WorkerID, number: Int, executable: String, errorStream: CInt, bandwidth: SharedBandwidth
  ) throws(SystemError) {
    self.id = id
    self.number = number
    heartbeat = try WorkerHeartbeat()
    var pair = try UnixSocket.pair()
    let theirs = pair.takeSecond()
    // Before there is a child that a failure would have to end.
    channel = try Channel(pair.takeFirst())
    child = try ChildProcess.spawn(
      executable: executable, arguments: [],
      environment: WorkerEnvironment.variables(from: ThisProcess.environment),
      descriptors: [
        (parent: errorStream, child: STDERR_FILENO),
        (parent: theirs.rawValue, child: WorkerDescriptor.channel),
        (parent: heartbeat.descriptor, child: WorkerDescriptor.heartbeat),
        (parent: bandwidth.descriptors.state, child: WorkerDescriptor.bandwidth),
        (parent: bandwidth.descriptors.rates, child: WorkerDescriptor.bandwidthRates),
      ])
  }

  var processID: Int32 { child.processID }

  /// Names it in the log.
  var name: String { "worker \(number) (process \(processID))" }

  /// Readable when the process has ended.
  var exitDescriptor: CInt { child.descriptor }

  // MARK: - Exit

  func kill() {
    child.signal(SIGKILL)
  }

  /// Kills a process that broke the protocol. Its end counts as a crash.
  func kill(because reason: String) {
    killReason = reason
    kill()
  }

  /// Kills a process that owes an answer for too long.
  func killOverdue() {
    isOverdue = true
    kill()
  }

  /// Kills a process that the scheduler does not know.
  func killAndReap() {
    kill()
    _ = child.waitForExit(until: .now + .seconds(1))
  }

  // MARK: - The heartbeat page

  var observation: Observation {
    let reading = heartbeat.reading
    return Observation(
      heartbeatAge: heartbeat.age, readingLease: reading?.lease,
      readingTime: reading?.time ?? .zero)
  }

  /// The transfer that its loop works on, or worked on when it died.
  var transferringLease: LeaseID? { heartbeat.transferringLease }

  /// How the process ended; `nil` while it runs.
  func reap(isDraining: Bool) -> WorkerEnd? {
    guard let status = child.reap() else { return nil }
    if let killReason { return .crashed("was ended: \(killReason)") }
    return WorkerEnd(
      status, isDraining: isDraining, hasCrashedInStore: heartbeat.hasCrashedInStore,
      isOverdue: isOverdue)
  }
}

/// The environment of a worker: the variables of the coordinator that have a use there, and no others,
/// because they may be secrets, such as the tokens of a shell or of a container.
enum WorkerEnvironment {
  private static let inheritedVariables: Set = [
    // Where the loader finds libraries (ld.so(8)).
    "LD_LIBRARY_PATH",
    // The C library: memory (mallopt(3)), texts (locale(7)), time zones (tzset(3)), and names of hosts
    // (resolv.conf(5), host.conf(5), hostname(7)).
    "GLIBC_TUNABLES", "HOSTALIASES", "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LOCALDOMAIN",
    "LOCPATH", "MALLOC_ARENA_MAX", "RESOLV_ADD_TRIM_DOMAINS", "RESOLV_HOST_CONF", "RESOLV_MULTI",
    "RESOLV_OVERRIDE_TRIM_DOMAINS", "RESOLV_REORDER", "RES_OPTIONS", "TZ", "TZDIR",
    // TLS libraries: their configuration, and certificates of authorities (openssl-env(7)).
    "GNUTLS_SYSTEM_PRIORITY_FILE", "NIX_SSL_CERT_FILE", "OPENSSL_CONF", "OPENSSL_ENGINES",
    "OPENSSL_MODULES", "SSL_CERT_DIR", "SSL_CERT_FILE",
  ]

  /// - Parameter environment: the coordinator's.
  static func variables(from environment: [String: String]) -> [String: String] {
    var variables = environment.filter { inheritedVariables.contains($0.key) }
    // The backtracer would keep a crashed worker and its memory for seconds.
    variables["SWIFT_BACKTRACE"] = "enable=no"
    return variables
  }
}

/// How many lines of its own a worker may have in the log: some dozens at once, and one in two seconds
/// after them. A worker that a response has taken over could fill the disk with them.
struct LineAllowance: Sendable {
  private static let rate = TransferRate(perMinute: 30, burst: 60)
  /// How long lines are left out before the log says how many.
  static let reportInterval = Duration.seconds(10)

  private var bucket = TokenBucket()
  private var omittedCount = 0
  /// When the log is due to say how many lines were left out; `nil` if none were.
  private(set) var reportDeadline: Instant?

  /// - Returns: those of the lines that may be logged. The others are counted.
  mutating func admit(_ lines: [String], at now: Instant) -> [String] {
    lines.filter { _ in take(at: now) }
  }

  private mutating func take(at now: Instant) -> Bool {
    if let next = bucket.nextToken(at: Self.rate), next > now {
      omittedCount += 1
      if reportDeadline == nil { reportDeadline = now + Self.reportInterval }
      return false
    }
    bucket.take(at: now, rate: Self.rate)
    return true
  }

  /// A predicate that says how many lines were left out since the last one; `nil` if none were.
  mutating func takeReport() -> String? {
    guard omittedCount > 0 else { return nil }
    defer { (omittedCount, reportDeadline) = (0, nil) }
    return "wrote \(omittedCount) more \(omittedCount == 1 ? "line" : "lines"), not shown"
  }
}

/// What a process writes to standard error: a worker's own lines for the log, and messages of
/// libraries, whose number, length and content a picture may choose.
///
/// Of lines that come close together the first two become one message: a panic says first what
/// happened, and where, and then who called whom.
struct ErrorOutput: Sendable {
  /// How long a message waits for others, and for the process's death, which is logged with it.
  static let messageDelay = Duration.seconds(1)
  static let maximumMessageByteCount = 300
  static let maximumMessageLineCount = 2
  /// What fontconfig says at each start of a decoder whose user has no directory for its cache. It needs none.
  private static let harmlessLine = "Fontconfig error: No writable cache directories"
  /// A line is cut off here.
  static let maximumLineByteCount = 4_096

  /// The program's name, which stands in each line of its own behind the time; `nil` for a program
  /// that a picture may control, none of whose lines is its own.
  private let program: String?
  /// The line that has begun and not ended.
  private var line: [UInt8] = []
  private var messageLines: [String] = []
  /// When the message can wait no longer; `nil` while there is none.
  private(set) var messageDeadline: Instant?

  init(program: String?) {
    self.program = program
  }

  /// - Returns: the lines of its own that are complete now.
  mutating func receive(
    _ bytes: some Sequence<UInt8>, at now: Instant
  ) -> [String] {
    var lines: [String] = []
    for byte in bytes {
      if byte == UInt8(ascii: "\n") {
        if let own = endLine(at: now) { lines.append(own) }
      } else if line.count < Self.maximumLineByteCount {
        line.append(byte)
      }
    }
    return lines
  }

  /// No more will come: what has begun is complete.
  ///
  /// - Returns: the last line, if it is the program's own.
  mutating func end(at now: Instant) -> String? {
    line.isEmpty ? nil : endLine(at: now)
  }

  /// The message of the libraries, which is forgotten; `nil` when there is none.
  mutating func takeMessage() -> String? {
    guard !messageLines.isEmpty else { return nil }
    defer { (messageLines, messageDeadline) = ([], nil) }
    let message = messageLines.joined(separator: "; ")
    return String(decoding: message.utf8.prefix(Self.maximumMessageByteCount), as: UTF8.self)
  }

  private mutating func endLine(at now: Instant) -> String? {
    defer { line.removeAll(keepingCapacity: true) }
    guard program != nil || !isMessageFull else { return nil }
    // No control character reaches a terminal that shows the log.
    let text = String(
      String.UnicodeScalarView(
        String(decoding: line, as: UTF8.self).unicodeScalars.map {
          $0.properties.generalCategory == .control ? " " : $0
        }))
    let words = text.split(separator: " ")
    if let program, words.dropFirst().first == "\(program):" { return text }
    add(words.joined(separator: " "), at: now)
    return nil
  }

  private var isMessageFull: Bool { messageLines.count >= Self.maximumMessageLineCount }

  private mutating func add(_ text: String, at now: Instant) {
    guard !text.isEmpty, !isMessageFull, !messageLines.contains(text), text != Self.harmlessLine
    else { return }
    if messageLines.isEmpty { messageDeadline = now + Self.messageDelay }
    messageLines.append(text)
  }
}

/// A process whose standard error the coordinator reads.
enum ErrorSource: Hashable {
  case worker(WorkerID)
  case decoder(DecoderNumber)

  /// The name that begins the program's own lines, behind their time; `nil` for a program that a
  /// picture may control, none of whose lines is its own.
  var program: String? {
    switch self {
    case .worker: "imgworker"
    case .decoder: nil
    }
  }
}

/// What one process writes to standard error, read from its pipe.
///
/// A process may write without end. So its pipe is read at a rate, and what does not fit is lost.
final class ErrorStream {
  /// How often it is read, each time what a pipe holds.
  private static let rate = TransferRate(perMinute: 120)

  /// Names the process in the log.
  let name: String
  private let reader: OwnedDescriptor
  private var output: ErrorOutput
  private var reads = TokenBucket()
  private var lines = LineAllowance()
  /// Whether the process, which may live on, has closed its end.
  private(set) var isClosed = false

  /// - Parameter reader: of an `OutputPipe` to which no other process writes.
  init(_ reader: consuming OwnedDescriptor, named name: String, program: String?) {
    self.name = name
    self.reader = reader
    output = ErrorOutput(program: program)
  }

  /// Readable when something was written, or when the other end is closed.
  var descriptor: CInt { reader.rawValue }

  /// When it may be read again; `nil` for at once.
  func nextRead(at now: Instant) -> Instant? {
    reads.nextToken(at: Self.rate).flatMap { $0 > now ? $0 : nil }
  }

  /// Reads what was written.
  ///
  /// - Returns: the complete lines of the program itself that may be logged.
  func read(at now: Instant) -> [String] {
    reads.take(at: now, rate: Self.rate)
    return lines.admit(readOnce(at: now), at: now)
  }

  /// Reads all that a process has left behind that has ended.
  ///
  /// - Returns: the lines of the program itself that may be logged.
  func readToEnd(at now: Instant) -> [String] {
    lines.admit(readOnce(at: now) + [output.end(at: now)].compactMap(\.self), at: now)
  }

  /// When ``takeOmissions()`` has something that waited long enough for more.
  var omissionsDeadline: Instant? { lines.reportDeadline }

  /// Takes a predicate that says how many lines were not logged; `nil` when all were.
  func takeOmissions() -> String? { lines.takeReport() }

  /// When ``takeMessage()`` has a message that waited long enough for others.
  var messageDeadline: Instant? { output.messageDeadline }

  /// Takes the message of the libraries in the process; `nil` when there is none.
  func takeMessage() -> String? { output.takeMessage() }

  private func readOnce(at now: Instant) -> [String] {
    var bytes: [UInt8] = []
    // A pipe that cannot be read is one that nobody will write to.
    let result = try? OutputPipe.read(reader.rawValue, into: &bytes)
    if result == nil || result == .closed { isClosed = true }
    return output.receive(bytes, at: now)
  }
}

/// What all workers and decoders write to standard error, each into a pipe of its own: lines of the
/// workers pass into the log, as many as each may have, and of what libraries say as much as the log has
/// room for.
final class ErrorStreams {
  private var streams: [ErrorSource: ErrorStream] = [:]
  /// Those that the poller does not watch until they may be read again.
  private var paused: Set<ErrorSource> = []
  private var allowance = MessageAllowance()
  private let poller: Poller
  private let log: Log

  init(poller: Poller, log: Log) {
    self.poller = poller
    self.log = log
  }

  // MARK: - Begin and end

  /// Reads from now on what a process writes.
  ///
  /// - Parameters:
  ///   - reader: of an `OutputPipe` that no other process has.
  ///   - name: names the process in the log.
  func add(
    _ reader: consuming OwnedDescriptor, from source: ErrorSource, named name: String
  ) throws(SystemError) {
    precondition(streams[source] == nil, "a process has one standard error")
    let stream = ErrorStream(reader, named: name, program: source.program)
    try poller.register(stream.descriptor, .read, token: Token.errors(source).rawValue)
    streams[source] = stream
  }

  /// A process has ended: reads the rest.
  ///
  /// - Returns: the last message of its libraries, if it is not in the log.
  func end(_ source: ErrorSource, at now: Instant) -> String? {
    guard let stream = streams.removeValue(forKey: source) else { return nil }
    paused.remove(source)
    stream.readToEnd(at: now).forEach(log.write)
    noteOmissions(of: stream)
    poller.unregister(stream.descriptor)
    return stream.takeMessage()
  }

  // MARK: - Events

  /// A process has written, or closed its end.
  func isReady(_ source: ErrorSource, at now: Instant) {
    // An event of the same round that paused it is of no use either.
    guard let stream = streams[source], !paused.contains(source) else { return }
    stream.read(at: now).forEach(log.write)
    if stream.isClosed {
      poller.unregister(stream.descriptor)
    } else if stream.nextRead(at: now) != nil {
      poller.unregister(stream.descriptor)
      paused.insert(source)
    }
  }

  /// When ``doWhatIsDue(at:)`` has something to do.
  func deadline(at now: Instant) -> Instant? {
    let resumptions = paused.compactMap { streams[$0]?.nextRead(at: now) ?? now }
    let messages = streams.values.flatMap { [$0.messageDeadline, $0.omissionsDeadline] }
    return (messages.compactMap(\.self) + resumptions).min()
  }

  /// Logs what libraries said in processes that have not ended meanwhile, and how many lines it has
  /// left out, and watches again what may be read again.
  func doWhatIsDue(at now: Instant) {
    for stream in streams.values {
      if let due = stream.messageDeadline, due <= now, let message = stream.takeMessage() {
        note(message, of: stream, at: now)
      }
      if let due = stream.omissionsDeadline, due <= now { noteOmissions(of: stream) }
    }
    for source in paused { resume(source, at: now) }
  }

  private func note(_ message: String, of stream: ErrorStream, at now: Instant) {
    guard let skipped = allowance.take(at: now) else { return }
    let (noun, verb) = skipped == 1 ? ("message", "is") : ("messages", "are")
    let before = skipped == 0 ? "" : " (\(skipped) \(noun) before it \(verb) not shown)"
    log.note("\(stream.name) says\(before): \(message)")
  }

  private func noteOmissions(of stream: ErrorStream) {
    if let omissions = stream.takeOmissions() { log.note("\(stream.name) \(omissions)") }
  }

  private func resume(_ source: ErrorSource, at now: Instant) {
    guard let stream = streams[source], stream.nextRead(at: now) == nil else { return }
    paused.remove(source)
    // It fails if the kernel has no memory for it. What the process writes is then read at its end.
    try? poller.register(stream.descriptor, .read, token: Token.errors(source).rawValue)
  }
}
