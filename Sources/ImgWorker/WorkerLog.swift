import ImgModel
import ImgSystem

/// The log of a worker: one line an event on standard error. The worker inherits it from its
/// coordinator, so that both write to the same log.
enum WorkerLog {
  static func note(_ message: String) {
    let time = WallTime.now
    // Standard error may be closed; there is no other log.
    try? FileIO.writeAll(2, "\(time) imgworker: \(message.withoutPasswords.printable)\n")
  }
}
