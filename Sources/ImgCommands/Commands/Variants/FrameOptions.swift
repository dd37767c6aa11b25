import ImgModel
import ImgSettings

/// The options that select frames of an animation or pages of a document.
enum FrameOptions {
  private static let frame = OptionDescription(
    "--frame", "N",
    help: "The frame of an animation or the page of a document, counted from 0.")
  private static let time = OptionDescription(
    "--at", "TIME",
    help: "The frame that an animation shows at this time, such as 1.25s, 500ms or 2m, at most "
      + "1d; after its end, the last one.")
  private static let poster = OptionDescription(
    "--poster", help: "The first frame that is not blank.")
  private static let animated = OptionDescription(
    "--animated",
    help: "All frames: the thumbnail of an animation is one, in WebP or GIF. It keeps neither "
      + "metadata nor profile, and its centre with --crop=attention and --crop=entropy. Default: "
      + "the first frame.")

  static let options = [frame, time, poster, animated]

  /// - Parameter arguments: the arguments of a command that lists ``options``.
  static func selection(in arguments: ArgumentReader) throws(UsageError) -> FrameSelection {
    let number = try arguments.value(of: frame) { (text) throws(InvalidValue) in
      try Int(parsing: text, in: FrameSelection.numberRange)
    }
    let milliseconds = try arguments.value(of: time, milliseconds)
    let found: [FrameSelection] = [
      number.map { .number($0) }, milliseconds.map { .time($0) },
      arguments.contains(poster) ? .poster : nil, arguments.contains(animated) ? .all : nil,
    ].compactMap(\.self)
    guard found.count <= 1 else {
      throw UsageError("give one of \(options.map(\.flag).joined(separator: ", "))")
    }
    return found.first ?? .first
  }

  private static func milliseconds(_ text: String) throws(InvalidValue) -> Int {
    let range = FrameSelection.timeRange
    let milliseconds = try UnitScale.duration.value(
      parsing: text, in: Int64(range.lowerBound)...Int64(range.upperBound))
    return Int(milliseconds)
  }
}
