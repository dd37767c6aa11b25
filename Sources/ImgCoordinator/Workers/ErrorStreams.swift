import ImgSystem

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
  func end(_ source: ErrorSource, at now: ContinuousClock.Instant) -> String? {
    guard let stream = streams.removeValue(forKey: source) else { return nil }
    paused.remove(source)
    stream.readToEnd(at: now).forEach(log.write)
    noteOmissions(of: stream)
    poller.unregister(stream.descriptor)
    return stream.takeMessage()
  }

  // MARK: - Events

  /// A process has written, or closed its end.
  func isReady(_ source: ErrorSource, at now: ContinuousClock.Instant) {
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
  func deadline(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
    let resumptions = paused.compactMap { streams[$0]?.nextRead(at: now) ?? now }
    let messages = streams.values.flatMap { [$0.messageDeadline, $0.omissionsDeadline] }
    return (messages.compactMap(\.self) + resumptions).min()
  }

  /// Logs what libraries said in processes that have not ended meanwhile, and how many lines it has
  /// left out, and watches again what may be read again.
  func doWhatIsDue(at now: ContinuousClock.Instant) {
    for stream in streams.values {
      if let due = stream.messageDeadline, due <= now, let message = stream.takeMessage() {
        note(message, of: stream, at: now)
      }
      if let due = stream.omissionsDeadline, due <= now { noteOmissions(of: stream) }
    }
    for source in paused { resume(source, at: now) }
  }

  private func note(_ message: String, of stream: ErrorStream, at now: ContinuousClock.Instant) {
    guard let skipped = allowance.take(at: now) else { return }
    let before = skipped == 0 ? "" : " (\(skipped) messages before it are not shown)"
    log.note("\(stream.name) says\(before): \(message)")
  }

  private func noteOmissions(of stream: ErrorStream) {
    if let omissions = stream.takeOmissions() { log.note("\(stream.name) \(omissions)") }
  }

  private func resume(_ source: ErrorSource, at now: ContinuousClock.Instant) {
    guard let stream = streams[source], stream.nextRead(at: now) == nil else { return }
    paused.remove(source)
    // It fails if the kernel has no memory for it. What the process writes is then read at its end.
    try? poller.register(stream.descriptor, .read, token: Token.errors(source).rawValue)
  }
}
