import ImgModel
import ImgSystem

/// The destination of the progress of one picture: with `--json` an object for each value, else a line on
/// standard error. A terminal redraws the line; elsewhere there is at most one line a second.
final class ProgressOutput {
  private static let lineInterval = Duration.seconds(1)

  private let source: RequestedURL
  private let isJSON: Bool
  private let context: CommandContext
  private let isOnTerminal = Terminal.isTerminal(2)
  private var line = RedrawnLine()
  /// When the next line may follow where none is redrawn.
  private var nextLineAt = ContinuousClock.now

  /// - Parameter source: what the progress is that of.
  init(of source: RequestedURL, isJSON: Bool, in context: CommandContext) {
    self.source = source
    self.isJSON = isJSON
    self.context = context
  }

  func show(_ progress: BodyProgress, at now: ContinuousClock.Instant = .now) {
    if isJSON {
      try? context.output.write(json: DownloadReport(progress, of: source))
      try? context.output.flush()
    } else if isOnTerminal {
      context.redraw(line.draw(HumanText.download(progress)))
    } else if nextLineAt <= now {
      nextLineAt = now + Self.lineInterval
      context.note(HumanText.download(progress) + "\n")
    }
  }

  /// The picture has arrived, or never will: other text takes the line.
  func end() {
    context.redraw(line.erase())
  }
}
