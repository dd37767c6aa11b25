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
}
