/// How long a frame of an animation is shown.
package enum FrameDelay {
  private static let longestIgnored = 10
  private static let replacement = 100

  /// As browsers play it: a delay of at most 10 ms becomes 100 ms, in every format. Such files were
  /// made for programs that could not go as fast. Gecko does so in `FrameTimeout::FromRawMilliseconds`,
  /// Blink and WebKit where they ask for the duration of a frame.
  ///
  /// - Parameter milliseconds: as the file says it.
  package static func played(_ milliseconds: Int) -> Int {
    milliseconds <= longestIgnored ? replacement : milliseconds
  }

  /// Delays in whole units. What one delay loses by that, the next one gains: all together last as
  /// long as before, to half a unit. None becomes so short that it is ignored, see ``played(_:)``, and
  /// none longer than when it is rounded up by itself.
  ///
  /// - Parameters:
  ///   - delays: in milliseconds, as the file says them. One that is ignored is rounded by itself.
  ///   - unit: in milliseconds; the result is in milliseconds, too.
  package static func rounded(_ delays: [Double], toMultiplesOf unit: Int) -> [Int] {
    let shortest = (longestIgnored / unit + 1) * unit
    let whole = { (milliseconds: Double, rule: FloatingPointRoundingRule) in
      Int((milliseconds / Double(unit)).rounded(rule)) * unit
    }
    var lost = 0.0
    return delays.map { delay in
      guard delay > Double(longestIgnored) else { return whole(delay, .toNearestOrAwayFromZero) }
      lost += delay
      // The sum of a long and a short number is not exact.
      let nearest = min(whole(lost, .toNearestOrAwayFromZero), whole(delay, .up))
      let rounded = max(shortest, nearest)
      lost -= Double(rounded)
      return rounded
    }
  }
}
