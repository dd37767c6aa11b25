import ImgClient
import ImgModel
package import ImgSettings

/// `imgctl cache clean`: removes expired thumbnails.
package struct CacheCleanCommand: Command {
  /// Whether the command removes them itself and returns when none is left.
  package let isWaiting: Bool
  package let isJSON: Bool

  private static let wait = OptionDescription(
    "--wait", help: "Remove them in this process, and return when none is left.")

  package static let description = CommandDescription(
    name: "imgctl cache clean", summary: "remove expired thumbnails from the store",
    options: [wait, .json] + OptionDescription.places,
    notes: [
      "If a coordinator runs, the command returns at once, and a worker removes the thumbnails in "
        + "small steps. Without a coordinator, the command removes them itself and starts none. "
        + "Every coordinator also does this once a minute, for thumbnails that expired more than a "
        + "minute ago."
    ],
    examples: [
      .init("imgctl cache clean", "Frees the space in the background."),
      .init("imgctl cache clean --wait", "The space is free when the command ends."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isWaiting = arguments.contains(Self.wait)
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let now = context.now
    let expiredCount = try context.store.expiredCount(at: now)
    let isInBackground = expiredCount > 0 && !isWaiting && context.sweepsInBackground()
    let removedCount = isInBackground ? 0 : try context.store.removeExpired(at: now)
    if isJSON {
      try context.output.write(
        json: Report(
          expired: expiredCount, removed: removedCount, isInBackground: isInBackground))
    } else if isInBackground {
      context.note(
        "removing \(HumanText.count(expiredCount, of: "expired thumbnail")) in the background\n")
    } else {
      context.note("removed \(HumanText.count(removedCount, of: "expired thumbnail"))\n")
    }
    return .success
  }

  private struct Report: Encodable {
    let expired: Int
    let removed: Int
    let isInBackground: Bool

    private enum CodingKeys: String, CodingKey {
      case expired, removed
      case isInBackground = "in_background"
    }
  }
}
