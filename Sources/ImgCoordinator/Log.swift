import ImgModel
import ImgSystem

/// What the coordinator tells whoever looks after it: one line an event on standard error, which is
/// the journal of a service and `coordinator.log` of one that was started in the background.
struct Log {
  func note(_ message: String) {
    let time = WallTime(rawValue: WallClock.milliseconds())
    write("\(time) imgcoordinator: \(message)")
  }

  /// Writes a line that names its time and program already.
  func write(_ line: String) {
    // A log that cannot be written must not stop the work, and there is nobody left to tell.
    try? FileIO.writeAll(2, Array("\(line)\n".withoutPasswords.utf8))
  }
}
