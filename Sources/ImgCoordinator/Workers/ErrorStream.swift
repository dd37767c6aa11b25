import ImgScheduler
import ImgSystem

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
  func nextRead(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
    reads.nextToken(at: Self.rate).flatMap { $0 > now ? $0 : nil }
  }

  /// Reads what was written.
  ///
  /// - Returns: the complete lines of the program itself that may be logged.
  func read(at now: ContinuousClock.Instant) -> [String] {
    reads.take(at: now, rate: Self.rate)
    return lines.admit(readOnce(at: now), at: now)
  }

  /// Reads all that a process has left behind that has ended.
  ///
  /// - Returns: the lines of the program itself that may be logged.
  func readToEnd(at now: ContinuousClock.Instant) -> [String] {
    lines.admit(readOnce(at: now) + [output.end(at: now)].compactMap(\.self), at: now)
  }

  /// When ``takeOmissions()`` has something that waited long enough for more.
  var omissionsDeadline: ContinuousClock.Instant? { lines.reportDeadline }

  /// Takes a predicate that says how many lines were not logged; `nil` when all were.
  func takeOmissions() -> String? { lines.takeReport() }

  /// When ``takeMessage()`` has a message that waited long enough for others.
  var messageDeadline: ContinuousClock.Instant? { output.messageDeadline }

  /// Takes the message of the libraries in the process; `nil` when there is none.
  func takeMessage() -> String? { output.takeMessage() }

  private func readOnce(at now: ContinuousClock.Instant) -> [String] {
    var bytes: [UInt8] = []
    // A pipe that cannot be read is one that nobody will write to.
    let result = try? OutputPipe.read(reader.rawValue, into: &bytes)
    if result == nil || result == .closed { isClosed = true }
    return output.receive(bytes, at: now)
  }
}
