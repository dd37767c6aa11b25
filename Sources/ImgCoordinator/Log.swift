import ImgSystem
import ImgWire

/// What the coordinator tells whoever looks after it: one line an event on standard error, which is
/// the journal of a service and `coordinator.log` of one that was started in the background.
struct Log {
  func note(_ message: String) {
    let time = WallTime(rawValue: WallClock.milliseconds())
    // A log that cannot be written must not stop the work, and there is nobody left to tell.
    try? FileIO.writeAll(2, Array("\(time) imgcoordinator: \(message)\n".withoutPasswords.utf8))
  }
}
