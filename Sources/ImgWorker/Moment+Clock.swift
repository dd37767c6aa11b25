import ImgModel
import ImgSystem

extension WallTime {
  static var now: WallTime { WallTime(rawValue: WallClock.milliseconds()) }
}

extension Moment {
  static var now: Moment { Moment(instant: .now, wall: .now) }
}
