import ImgModel
import ImgSettings

/// How many pixels of a screen are one pixel of a page along each side. All lengths of a variant are
/// multiplied by it, so that a thumbnail looks equal and sharper.
struct PixelRatio {
  static let option = OptionDescription(
    "--dpr", "RATIO",
    help: "Multiply --size, --blur, --sharpen and --radius, for screens with that many pixels for "
      + "each of a page. Default: 1.")

  private static let range = Thousandths(count: 100)...Thousandths(count: 10_000)

  private let ratio: Thousandths

  /// - Parameter arguments: the arguments of a command that lists ``option``.
  init(in arguments: ArgumentReader) throws(UsageError) {
    ratio =
      try arguments.value(of: Self.option) { (text) throws(InvalidValue) in
        try Thousandths(parsing: text, in: Self.range)
      } ?? .one
  }

  /// A length in pixels, rounded to the nearest number; no length becomes 0.
  func scaling(_ length: Int) -> Int {
    length == 0 ? 0 : max(1, (length * ratio.count + 500) / 1_000)
  }

  func scaling(_ length: Thousandths) -> Thousandths {
    Thousandths(count: scaling(length.count))
  }
}
