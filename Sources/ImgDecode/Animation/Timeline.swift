import ImgFacts

/// When each frame of an animation is shown.
struct Timeline: Equatable {
  /// In milliseconds, as browsers play the file; one for each frame.
  let delays: [Int]
  /// How often the animation plays; 0 means forever.
  let loopCount: Int

  /// - Parameter delays: in milliseconds, as the file says them.
  init(delays: [Int], loopCount: Int) {
    self.delays = delays.map(FrameDelay.played)
    self.loopCount = loopCount
  }

  /// The number of the frame that is shown at a time. After the end that is the last frame, where an
  /// animation that plays once stays.
  ///
  /// - Parameter milliseconds: after the start of the first pass.
  func frame(at milliseconds: Int) -> Int {
    var end = 0
    for (number, delay) in delays.enumerated() {
      end += delay
      if milliseconds < end { return number }
    }
    return max(0, delays.count - 1)
  }
}
