import ImgClient
package import ImgSettings
import ImgWire

/// `imgctl list`: all jobs.
package struct ListCommand: Command {
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl list", summary: "list the jobs, the newest first",
    options: [.json] + OptionDescription.places,
    examples: [.init("imgctl list --json", "One object a line.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let client = try context.coordinator()
    var table = JobTable(at: context.now)
    var oldest: JobID?
    while true {
      let page = try client.jobs(before: oldest)
      for status in page.jobs {
        if isJSON { try context.output.write(json: status) } else { table.add(status) }
      }
      oldest = page.jobs.last?.job
      guard page.hasMore, oldest != nil else { break }
    }
    if !isJSON { try context.output.write(table.rendered) }
    return .success
  }
}
