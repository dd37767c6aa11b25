import Glibc
import ImgSystem
import ImgWire

/// Why a worker can no longer use a decoder.
enum DecoderFault: Error {
  /// It closed the channel, most likely because it died.
  case closed
  /// It did not answer in time. The text says what took so long.
  case timedOut(String)
  /// It sent something that no decoder sends.
  case misbehaved(String)
  /// It was refused memory for a picture.
  case outOfMemory
  /// It cannot start.
  case refused(DecoderRefusal)
}

/// How a decoder ended, as far as it concerns its picture.
enum DecoderEnd: Hashable {
  /// The text is a predicate: `was killed by signal 11 (SIGSEGV)`.
  case crashed(String)
  /// The text says what took too long.
  case timedOut(String)
  /// An allocation was refused. It may have died of that.
  case outOfMemory
  /// By SIGKILL that this worker did not ask for: a person, or the kernel without memory.
  case killed

  /// - Parameters:
  ///   - exit: `nil` if the coordinator has not told.
  ///   - wasRefusedMemory: whether an allocation was refused while it had the picture.
  init(_ fault: DecoderFault, _ exit: DecoderExit.End?, wasRefusedMemory: Bool) {
    switch (fault, exit) {
    case (.timedOut(let what), _): self = .timedOut(what)
    case (.outOfMemory, _): self = .outOfMemory
    case (.misbehaved(let how), _): self = .crashed(how)
    case (.refused(let refusal), _): self = .crashed(refusal.reason)
    case (.closed, .signalled(SIGKILL)): self = .killed
    // The timers that the decoder sets itself, see `ThisProcess.setTimers`.
    case (.closed, .signalled(SIGALRM)): self = .timedOut("decoding took too long")
    case (.closed, .signalled(SIGPROF)):
      self = .timedOut("decoding took too much processor time")
    case (.closed, _) where wasRefusedMemory: self = .outOfMemory
    case (.closed, .signalled(let signal)): self = .crashed("\(ExitStatus.signalled(signal))")
    case (.closed, .exited(let status)): self = .crashed("\(ExitStatus.exited(status))")
    case (.closed, .notStarted(let reason)): self = .crashed("could not be started: \(reason)")
    case (.closed, nil): self = .crashed("closed its connection")
    }
  }
}
