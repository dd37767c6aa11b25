import ImgClient
import ImgModel
package import ImgSettings

/// `imgctl cache ls`: lists the thumbnails in the store.
package struct CacheLsCommand: Command {
  package let isJSON: Bool
  package let filter: CacheLsFilter

  package static let description = CommandDescription(
    name: "imgctl cache ls", summary: "list the thumbnails in the store",
    options: [.json] + CacheLsFilter.options + OptionDescription.places,
    examples: [
      .init("imgctl cache ls --json", "One object a line."),
      .init(
        "imgctl cache ls --host example.org --older-than 2d --larger-than 64K",
        "Old and large thumbnails of one host."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isJSON = arguments.contains(.json)
    filter = try CacheLsFilter(arguments)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let now = context.now
    try context.store.forEachRecord { record in
      guard filter.admits(record, at: now) else { return true }
      if isJSON {
        try context.output.write(json: StoredReport(record))
      } else {
        try context.output.write(line(of: record))
      }
      return true
    }
    return .success
  }

  /// Kind (with `,damaged`), format, size in pixels, bytes, expiry and URL, separated by tabs. Columns are not
  /// aligned, so a list of any length streams.
  private func line(of record: StoredRecord) -> String {
    let thumbnail = record.thumbnail
    let damage = thumbnail.isDamaged ? ",damaged" : ""
    return "\(record.kind.rawValue)\(damage)\t\(thumbnail.format.rawValue)\t"
      + "\(thumbnail.width)x\(thumbnail.height)\t"
      + "\(thumbnail.byteCount)\t\(record.expiresAt)\t\(HumanText.printable(record.name))\n"
  }
}
