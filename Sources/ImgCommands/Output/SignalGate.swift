import Glibc
import ImgSystem
import Synchronization

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
