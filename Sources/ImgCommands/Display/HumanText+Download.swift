package import ImgModel

extension HumanText {
  /// How much of a picture has arrived, such as `45 % of 1.4 MiB`, or `640.0 KiB` if its length is unknown.
  /// Rounded down: 100 % means all.
  package static func download(_ progress: BodyProgress) -> String {
    guard let expected = progress.expectedByteCount, expected > 0 else {
      return size(Int64(progress.receivedByteCount))
    }
    let share = Double(progress.receivedByteCount) / Double(expected)
    return "\(Int(min(share, 1) * 100)) % of \(size(Int64(expected)))"
  }
}
