import ImgClient
package import ImgSettings

/// `imgctl cache compact`: returns the unused space of the store's file to the disk.
package struct CacheCompactCommand: Command {
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl cache compact", summary: "shrink the store's file to the size of its content",
    options: [.json] + OptionDescription.places,
    notes: [
      "The disk needs space for a copy. Readers and writers continue meanwhile."
    ],
    examples: [
      .init("imgctl cache compact", "Useful after many removals or with a smaller budget.")
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let compaction = try context.store.compact()
    if isJSON {
      try context.output.write(json: Report(compaction))
    } else if let compaction {
      let sizes = [compaction.before, compaction.after].map(HumanText.size)
      context.note("the store's file: \(sizes[0]) → \(sizes[1])\n")
    } else {
      context.noteAbsentStore()
    }
    return .success
  }

  /// Without a store, both sizes are 0.
  private struct Report: Encodable {
    private let before: Int64
    private let after: Int64

    private enum CodingKeys: String, CodingKey {
      case before = "file_bytes_before"
      case after = "file_bytes_after"
    }

    init(_ compaction: (before: Int64, after: Int64)?) {
      before = compaction?.before ?? 0
      after = compaction?.after ?? 0
    }
  }
}
