package import ImgSettings
import ImgStore

/// `imgctl cache clean`: removes what has expired.
package struct CacheCleanCommand: Command {
  package static let description = CommandDescription(
    name: "imgctl cache clean", summary: "remove what has expired from the store",
    options: OptionDescription.places,
    examples: [.init("imgctl cache clean", "What nobody asks for any more makes room now.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {}

  /// Records removed in one transaction: workers that wait for the store wait no longer than that.
  private static let batchCount = 1_000

  package func run(in context: CommandContext) throws -> ExitCode {
    var total = 0
    if let store = try context.storeWriter() {
      while true {
        let removed = try store.removeExpired(at: context.now, limit: Self.batchCount)
        total += removed
        if removed < Self.batchCount { break }
      }
    }
    context.note("removed \(total) expired thumbnails\n")
    return .success
  }
}
