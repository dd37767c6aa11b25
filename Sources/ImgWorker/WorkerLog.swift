import ImgModel
import ImgSystem

/// What a worker tells people: one line an event on standard error, which it has from its
/// coordinator, so that both write to the same log.
enum WorkerLog {
  static func note(_ message: String) {
    let time = WallTime(rawValue: WallClock.milliseconds())
    // Standard error may be closed; there is nobody else to tell.
    try? FileIO.writeAll(2, "\(time) imgworker: \(message)\n".withoutPasswords)
  }
}
