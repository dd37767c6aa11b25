import ImgClient
package import ImgModel
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

/// `imgctl wait`: shows the progress of a job until it has ended.
package struct WaitCommand: Command {
  package let job: JobID
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl wait", summary: "show the progress of a job until it has ended",
    operands: [.job],
    options: [.json] + OptionDescription.startingPlaces,
    notes: [
      "On a terminal, a bar shows the progress. Elsewhere, each change prints a line, at most one "
        + "a second, and one a minute without changes. --json prints an object for each change. "
        + "The command waits for a paused job, too.",
      "If the coordinator is restarted meanwhile, the command goes on. If none answers for 10s, the "
        + "exit code is 3, and accepted jobs continue when it is started again.",
    ],
    examples: [.init("imgctl wait 7", "The exit code is 1 if some images failed.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    try JobFollower(in: context, isJSON: isJSON).follow(
      job, continuing: try context.coordinator())
  }
}

/// `imgctl watch`: shows the updates of a job until it has ended.
package struct WatchCommand: Command {
  package let job: JobID
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl watch", summary: "show every update of a job, for programs and people",
    operands: [.job],
    options: [.json] + OptionDescription.startingPlaces,
    notes: [
      "--json prints an object for each update, at most ten a second; the last one is the end. "
        + "Otherwise the display is that of imgctl wait.",
      "Starts no coordinator. If the coordinator is restarted, the command goes on; if none answers "
        + "for 10s, the exit code is 3.",
      "Once the job has ended, the exit code is 0, whatever its outcomes are. imgctl wait tells "
        + "them by its exit code.",
    ],
    examples: [
      .init("imgctl watch 7 --json", "One object for each update, as imgctl status 7 --json.")
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let end = try JobFollower(in: context, isJSON: isJSON).follow(
      job, continuing: try context.runningCoordinator())
    return end == .someFailed ? .success : end
  }
}

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
          json: JSONObject.picture(RequestedURL(entry.url), index: entry.index, failure))
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
