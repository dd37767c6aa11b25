import CJXL
import ImgFacts
import ImgModel

extension JXLDecoder {
  /// When the frames are shown. A file that ends before the last one shows itself.
  func timeline() throws(DecodeError) -> Timeline {
    guard let animation else { return Timeline(delays: [0], loopCount: 1) }
    return Timeline(delays: try frameDelays(animation), loopCount: Int(animation.num_loops))
  }

  /// In milliseconds, as the file says them; `nil` for a still.
  func frameDelays() throws(DecodeError) -> [Int]? {
    guard let animation else { return nil }
    return try frameDelays(animation)
  }

  /// Reads the headers of all frames. No pixel is decoded.
  private func frameDelays(_ animation: JxlAnimationHeader) throws(DecodeError) -> [Int] {
    // A frame takes a byte or more, so that a hostile file may hold millions.
    let maximumCount = PictureDescription.maximumFrameCount
    var delays: [Double] = []
    while let frame = try nextFrame() {
      guard delays.count < maximumCount else {
        throw .unsupported("JPEG XL of more than \(maximumCount) frames")
      }
      delays.append(Self.milliseconds(ofTicks: frame.duration, animation))
    }
    return FrameDelay.rounded(delays, toMultiplesOf: 1)
  }

  /// The file says how many ticks a second has, as a fraction. The longest delay is about 25 days, so
  /// that the sum of all delays fits an `Int`.
  private static func milliseconds(
    ofTicks ticks: UInt32, _ animation: JxlAnimationHeader
  ) -> Double {
    let thousandths = Double(ticks) * 1_000 * Double(animation.tps_denominator)
    let longest = Double(PictureDescription.delayRange.upperBound)
    return min(thousandths / Double(max(1, animation.tps_numerator)), longest)
  }
}
