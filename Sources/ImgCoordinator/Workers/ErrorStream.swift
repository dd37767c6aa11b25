import ImgSystem

/// What processes write to standard error: they inherit one end of a socket pair, and the
/// coordinator reads the other.
struct ErrorStream: ~Copyable {
  private var output: WorkerOutput
  private let reader: OwnedDescriptor
  private let writer: OwnedDescriptor

  /// - Parameter program: as of ``WorkerOutput/init(program:)``.
  init(program: String?) throws(SystemError) {
    var pair = try UnixSocket.pair()
    let reader = pair.takeFirst()
    let writer = pair.takeSecond()
    // What exceeds the socket's buffer is lost: no process waits for the reader of its output.
    try UnixSocket.setNonBlocking(writer.rawValue, true)
    try UnixSocket.setNonBlocking(reader.rawValue, true)
    output = WorkerOutput(program: program)
    self.reader = reader
    self.writer = writer
  }

  /// The end for the processes.
  var inherited: CInt { writer.rawValue }

  /// Readable when something was written.
  var descriptor: CInt { reader.rawValue }

  /// Reads what was written, up to 64 KiB.
  ///
  /// - Returns: the complete lines of the program itself.
  mutating func read(at now: ContinuousClock.Instant) -> [String] {
    readOnce(at: now) ?? []
  }

  /// Reads the rest of what processes that have ended have written.
  ///
  /// - Returns: the lines of the program itself.
  mutating func readToEnd(at now: ContinuousClock.Instant) -> [String] {
    var lines: [String] = []
    while let more = readOnce(at: now) { lines += more }
    return lines + [output.end(at: now)].compactMap(\.self)
  }

  /// When ``takeMessage()`` has a message that waited long enough for others.
  var messageDeadline: ContinuousClock.Instant? { output.messageDeadline }

  /// Takes the message of the libraries in the processes; `nil` when there is none.
  mutating func takeMessage() -> String? { output.takeMessage() }

  /// - Returns: `nil` when nothing is there at this moment.
  private mutating func readOnce(at now: ContinuousClock.Instant) -> [String]? {
    var bytes: [UInt8] = []
    let result = try? UnixSocket.receive(reader.rawValue, into: &bytes, upTo: 1 << 16)
    guard case .received = result else { return nil }
    return output.receive(bytes, at: now)
  }
}
