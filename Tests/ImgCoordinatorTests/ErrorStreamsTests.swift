import ImgModel
import ImgSystem
import Testing

@testable import ImgCoordinator

struct WorkerEnvironmentTests {
  @Test func `a worker inherits variables that its libraries read, and no others`() {
    let variables = WorkerEnvironment.variables(from: [
      "LANG": "de_DE.UTF-8", "RES_OPTIONS": "timeout:1", "SSL_CERT_DIR": "/certificates",
      "AWS_SECRET_ACCESS_KEY": "secret", "HOME": "/home/ada", "IMGCTL_READY_FD": "3",
      "LD_PRELOAD": "/tmp/other.so", "NOTIFY_SOCKET": "/run/systemd/notify",
      "SSH_AUTH_SOCK": "/tmp/agent", "SSLKEYLOGFILE": "/tmp/keys", "https_proxy": "http://proxy",
      "SWIFT_BACKTRACE": "enable=yes",
    ])
    #expect(
      variables == [
        "LANG": "de_DE.UTF-8", "RES_OPTIONS": "timeout:1", "SSL_CERT_DIR": "/certificates",
        "SWIFT_BACKTRACE": "enable=no",
      ])
  }
}

/// The standard error of processes, each played by the test.
@Suite(.timeLimit(.minutes(20))) final class ErrorStreamsTests {
  private let poller: Poller
  private let streams: ErrorStreams
  private let first = ErrorSource.decoder(DecoderNumber(rawValue: 1))
  private let second = ErrorSource.decoder(DecoderNumber(rawValue: 2))
  private let worker = ErrorSource.worker(WorkerID(rawValue: 1))
  private let start = Instant.now
  private var writers: [ErrorSource: Writer] = [:]

  /// A process's end of its pipe.
  private final class Writer {
    let pipe: OutputPipe

    init(_ pipe: consuming OutputPipe) {
      self.pipe = pipe
    }
  }

  init() throws {
    poller = try Poller()
    streams = ErrorStreams(poller: poller, log: Log())
  }

  /// Begins to read what a process writes.
  private func add(_ sources: ErrorSource...) throws {
    for source in sources {
      var pipe = try OutputPipe()
      try streams.add(pipe.takeReader(), from: source, named: "\(source)")
      writers[source] = Writer(pipe)
    }
  }

  /// The processes whose streams are ready, after that time at the latest.
  private func ready(within time: Duration = .zero) throws -> Set<ErrorSource> {
    let sources = try poller.wait(timeout: time).map { readiness in
      guard case .errors(let source) = Token(rawValue: readiness.token) else {
        throw SystemError(operation: "another token", code: 0)
      }
      return source
    }
    return Set(sources)
  }

  private func write(_ text: String, by source: ErrorSource) throws {
    let writer = try #require(writers[source])
    try FileIO.writeAll(writer.pipe.writerDescriptor, text)
  }

  @Test func `the last message of a process is its own, also if nothing was read before`() throws {
    try add(first, second)
    try write("one\ntwo\nthree\n", by: first)
    try write("other", by: second)
    #expect(try ready() == [first, second])
    #expect(streams.end(first, at: start) == "one; two")
    #expect(streams.end(second, at: start) == "other")
    #expect(streams.end(second, at: start) == nil)
    #expect(try ready().isEmpty)
  }

  @Test func `a message is logged when it has waited, unless the process ends first`() throws {
    try add(first)
    try write("careful\n", by: first)
    streams.isReady(first, at: start)
    let deadline = try #require(streams.deadline(at: start))
    #expect(deadline == start + ErrorOutput.messageDelay)
    streams.doWhatIsDue(at: deadline)
    #expect(streams.deadline(at: deadline) == nil)
    #expect(streams.end(first, at: deadline) == nil)
  }

  @Test func `lines of a worker are no message, and those of a decoder always are`() throws {
    try add(worker, first)
    let line = "2026-01-01T00:00:00Z imgworker: one\n"
    try write(line, by: worker)
    try write(line, by: first)
    #expect(streams.end(worker, at: start) == nil)
    #expect(streams.end(first, at: start)?.hasSuffix("imgworker: one") == true)
  }

  @Test func `a process that closes its standard error and lives on wakes nobody`() throws {
    try add(first)
    writers = [:]
    // A child that another test starts has the writer open until its exec.
    #expect(try ready(within: .seconds(240)) == [first])
    streams.isReady(first, at: start)
    #expect(try ready().isEmpty)
    #expect(streams.deadline(at: start) == nil)
    #expect(streams.end(first, at: start) == nil)
  }

  @Test func `a process that writes without end wakes nobody until its next turn`() throws {
    try add(first, second)
    var readCount = 0
    while readCount < 100 {
      try write("a\n", by: first)
      guard try ready().contains(first) else { break }
      streams.isReady(first, at: start)
      readCount += 1
    }
    #expect(readCount == 2)
    try write("b\n", by: second)
    #expect(try ready() == [second])
    let resumption = try #require(streams.deadline(at: start))
    #expect(resumption > start)
    streams.doWhatIsDue(at: resumption)
    #expect(try ready() == [first, second])
  }

  @Test func `a process that ends in its pause leaves its last message`() throws {
    try add(worker)
    for number in 0..<2 {
      try write("time imgworker: \(number)\n", by: worker)
      streams.isReady(worker, at: start)
    }
    try write("abort\n", by: worker)
    #expect(try ready().isEmpty)
    #expect(streams.end(worker, at: start) == "abort")
    #expect(streams.deadline(at: start) == nil)
  }

  @Test func `a worker's lines beyond its allowance are counted, as the log says`() throws {
    var written = try OutputPipe()
    let logged = written.takeReader()
    let streams = ErrorStreams(poller: poller, log: Log(descriptor: written.writerDescriptor))
    var pipe = try OutputPipe()
    try streams.add(pipe.takeReader(), from: worker, named: "worker 0")
    func lines() throws -> [String] {
      var bytes: [UInt8] = []
      _ = try OutputPipe.read(logged.rawValue, into: &bytes)
      return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
    func flood() throws {
      let flood = String(repeating: "t imgworker: x\n", count: 1_000)
      try FileIO.writeAll(pipe.writerDescriptor, Array(flood.utf8))
    }
    try flood()
    streams.isReady(worker, at: start)
    #expect(try lines().count == 60)
    let deadline = try #require(streams.deadline(at: start))
    #expect(deadline == start + LineAllowance.reportInterval)
    streams.doWhatIsDue(at: deadline)
    #expect(try lines().map { $0.hasSuffix("worker 0 wrote 940 more lines, not shown") } == [true])
    #expect(streams.deadline(at: deadline) == nil)

    // Five came in ten seconds.
    try flood()
    #expect(streams.end(worker, at: deadline) == nil)
    let last = try lines()
    #expect(last.count == 6)
    #expect(last.last?.hasSuffix("worker 0 wrote 995 more lines, not shown") == true)
  }
}

/// What of a worker's standard error reaches the log.
@Suite struct ErrorOutputTests {
  private let start = Instant.now
  private var output = ErrorOutput(program: "imgworker")

  private mutating func receive(_ text: String, after time: Duration = .zero) -> [String] {
    output.receive(Array(text.utf8), at: start + time)
  }

  @Test mutating func `lines of the program pass through, whole and in order`() {
    #expect(receive("2026-01-01T00:00:00Z imgworker: one\n2026-01-01T").count == 1)
    #expect(receive("00:00:01Z imgworker: two\n") == ["2026-01-01T00:00:01Z imgworker: two"])
    #expect(output.messageDeadline == nil)
    #expect(output.takeMessage() == nil)
  }

  @Test mutating func `a panic of several lines becomes one`() {
    let panic = """
      thread '<unnamed>' panicked at src/lib.rs:1:2:
      called `Option::unwrap()` on a `None` value

      note: run with `RUST_BACKTRACE=1`

      """
    #expect(receive(panic).isEmpty)
    #expect(output.messageDeadline == start + ErrorOutput.messageDelay)
    let message = """
      thread '<unnamed>' panicked at src/lib.rs:1:2:; called `Option::unwrap()` on a `None` value
      """
    #expect(output.takeMessage() == message)
    #expect(output.takeMessage() == nil)
    #expect(output.messageDeadline == nil)
  }

  @Test mutating func `a line counts once, and one that fontconfig says at each start not at all`()
  {
    for _ in 0..<2 { _ = receive("Fontconfig error: No writable cache directories\n") }
    #expect(output.messageDeadline == nil)
    for line in ["one", "one", "two"] { _ = receive("\(line)\n") }
    #expect(output.takeMessage() == "one; two")
  }

  @Test mutating func `of many lines the first count`() {
    for number in 0..<1_000 { _ = receive("line \(number)\n", after: .milliseconds(number)) }
    #expect(output.messageDeadline == start + ErrorOutput.messageDelay)
    #expect(output.takeMessage() == "line 0; line 1")
  }

  @Test mutating func `a line without an end takes no more room than its maximum`() {
    for _ in 0..<100 { _ = receive(String(repeating: "x", count: 1_000)) }
    #expect(output.takeMessage() == nil)
    let last = output.end(at: start)
    #expect(last == nil)
    #expect(output.takeMessage()?.utf8.count == ErrorOutput.maximumMessageByteCount)
  }

  @Test mutating func `a line that a death cuts off still counts`() {
    #expect(receive("2026-01-01T00:00:00Z imgworker: half").isEmpty)
    #expect(output.end(at: start) == "2026-01-01T00:00:00Z imgworker: half")
    _ = receive("memory allocation of 8 bytes failed")
    let last = output.end(at: start)
    #expect(last == nil)
    #expect(output.takeMessage() == "memory allocation of 8 bytes failed")
  }

  @Test mutating func `control characters do not reach the log`() {
    _ = receive("\u{1B}[31mred\u{7}\r\n")
    #expect(output.takeMessage() == "[31mred")
    #expect(receive("t imgworker: a\u{1B}b\n") == ["t imgworker: a b"])
  }

  @Test func `messages beyond ten a minute are counted and not shown`() {
    var allowance = MessageAllowance()
    let shown = (0..<60).compactMap { allowance.take(at: start + .seconds($0)) }
    #expect(shown == [0] + Array(repeating: 5, count: 9))
  }
}
