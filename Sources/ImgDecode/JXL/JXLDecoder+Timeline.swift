import CJXL
import ImgFacts

extension JXLDecoder {
  /// A frame takes a byte or more, so that a hostile file may hold millions.
  private static let maximumFrameCount = 1 << 16
  /// About 25 days: the sum of all delays fits an `Int`.
  private static let longestDelay = Double(Int32.max)

  /// Reads the headers of all frames, so that a file that ends before the last one shows itself. No
  /// pixel is decoded.
  func timeline() throws(DecodeError) -> Timeline {
    guard let animation else { return Timeline(delays: [0], loopCount: 1) }
    var delays: [Double] = []
    while let frame = try nextFrame() {
      guard delays.count < Self.maximumFrameCount else {
        throw .unsupported("JPEG XL of more than \(Self.maximumFrameCount) frames")
      }
      delays.append(Self.milliseconds(ofTicks: frame.duration, animation))
    }
    return Timeline(
      delays: FrameDelay.rounded(delays, toMultiplesOf: 1), loopCount: Int(animation.num_loops))
  }

  /// The file says how many ticks a second has, as a fraction.
  private static func milliseconds(
    ofTicks ticks: UInt32, _ animation: JxlAnimationHeader
  ) -> Double {
    let thousandths = Double(ticks) * 1_000 * Double(animation.tps_denominator)
    return min(thousandths / Double(max(1, animation.tps_numerator)), longestDelay)
  }
}
