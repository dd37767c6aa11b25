import ImgClient
import ImgModel
package import ImgSettings

/// `imgctl list`: lists all jobs.
package struct ListCommand: Command {
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl list", summary: "list the jobs, newest first",
    options: [.json] + OptionDescription.startingPlaces,
    notes: [OptionDescription.journalNote],
    examples: [.init("imgctl list --json", "One object a line.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    var table = JobListing(at: context.now)
    try context.jobs().forEachJob { status in
      if isJSON { try context.output.write(json: status) } else { table.add(status) }
    }
    if !isJSON { try context.output.write(table.rendered) }
    return .success
  }
}
