import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl failures`: lists the URLs of a job that failed, with the reason.
package struct FailuresCommand: Command {
  package let job: JobID
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl failures",
    summary: "list the failed URLs of a job: code, status, URL, reason",
    operands: [.job],
    options: [.json] + OptionDescription.startingPlaces,
    notes: [
      "A password in a URL is shown as ***, so do not submit such a line again. imgctl retry uses "
        + "the URLs as they were submitted.",
      OptionDescription.journalNote,
    ],
    examples: [
      .init("imgctl failures 7", "One line for each URL."),
      .init("imgctl failures 7 --json", "With the stage and a description."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    try context.jobs().results(of: job, isFailedOnly: true) { entry in
      guard case .failed(let failure, _) = entry.outcome else { return }
      if isJSON {
        try context.output.write(
          json: FailureReport(RequestedURL(entry.url), index: entry.index, failure))
      } else {
        let status = failure.httpStatus.map(String.init) ?? "-"
        let texts = [entry.url, failure.detail].map(HumanText.printable)
        let line = [failure.code.rawValue, status] + texts
        try context.output.write(line.joined(separator: "\t") + "\n")
      }
    }
    return .success
  }
}
