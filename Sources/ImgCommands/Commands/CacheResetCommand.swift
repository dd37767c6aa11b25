import ImgClient
package import ImgSettings

/// `imgctl cache reset`: empties the store.
package struct CacheResetCommand: Command {
  package let isJSON: Bool

  package static let storeCrashHandling = StoreCrashHandling.restart

  package static let description = CommandDescription(
    name: "imgctl cache reset", summary: "remove everything from the store",
    options: [.json] + OptionDescription.places,
    examples: [.init("imgctl cache reset", "Removes all thumbnails; jobs and outcomes stay.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    if StoreCrash.hasHappened {
      // Reading the damaged files would end this process, so it removes them without opening them.
      guard try context.store.removeFiles() else {
        let directory = context.settings.storeDirectory
        throw UsageError("imgctl cache reset: another process is replacing \(directory); try again")
      }
    } else {
      try context.store.reset()
    }
    if isJSON {
      try context.output.write(json: Report(store: context.settings.storeDirectory))
    } else {
      context.note("the store is empty\n")
    }
    return .success
  }

  /// What `--json` prints: the store that is empty now.
  private struct Report: Encodable {
    let store: String
    let entries = 0

    private enum CodingKeys: String, CodingKey {
      case store, entries
    }
  }
}
