package import FoundationEssentials
package import ImgModel

extension Date {
  init(_ time: WallTime) {
    self.init(timeIntervalSince1970: Double(time.rawValue) / 1_000)
  }
}

extension WallTime {
  /// Clamped to what a date of the store can be.
  package init(_ date: Date) {
    let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
    self.init(rawValue: Int64(min(max(milliseconds, -9e18), 9e18)))
  }
}
