import ImgModel
import ImgSystem

extension WallTime {
  /// Now, by the clock of the machine.
  static var now: WallTime { WallTime(rawValue: WallClock.milliseconds()) }
}
