package import ImgSettings
import ImgStore

/// `imgctl cache compact`: gives room that the store does not use back to the disk.
package struct CacheCompactCommand: Command {
  package static let description = CommandDescription(
    name: "imgctl cache compact", summary: "make the store's file as small as what it holds",
    options: OptionDescription.places,
    notes: [
      "The disk needs room for a copy meanwhile. Everything else goes on as ever."
    ],
    examples: [
      .init("imgctl cache compact", "After much was removed, or with a smaller budget.")
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {}

  package func run(in context: CommandContext) throws -> ExitCode {
    guard let compaction = try context.storeWriter()?.compact() else {
      context.note("there is no store in \(context.settings.dataDirectory) yet\n")
      return .success
    }
    let sizes = [compaction.byteCountBefore, compaction.byteCountAfter].map(HumanText.size)
    context.note("the store's file: \(sizes[0]) → \(sizes[1])\n")
    return .success
  }
}
