package import ImgSettings
import ImgStore

/// `imgctl cache reset`: empties the store.
package struct CacheResetCommand: Command {
  package static let description = CommandDescription(
    name: "imgctl cache reset", summary: "remove everything from the store",
    options: OptionDescription.places,
    examples: [.init("imgctl cache reset", "Jobs and their outcomes stay; thumbnails go.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {}

  package func run(in context: CommandContext) throws -> ExitCode {
    try context.storeWriter()?.reset()
    context.note("the store is empty\n")
    return .success
  }
}
