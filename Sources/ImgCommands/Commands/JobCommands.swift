import ImgClient
package import ImgModel
package import ImgSettings
import ImgSystem

/// `imgctl list`: lists all jobs.
package struct ListCommand: Command {
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl list", summary: "list the jobs, newest first",
    options: [.json] + OptionDescription.startingPlaces,
    notes: [
      OptionDescription.journalNote,
      "A URL that is done stays so when its thumbnail has expired, or was evicted or removed: imgctl status JOB counts "
        + "those.",
    ],
    examples: [.init("imgctl list --json", "One object a line.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    var table = JobListing(at: context.now, places: context.places)
    var waiting = WaitingJobs()
    let jobs = try context.jobs()
    try jobs.forEachJob { status in
      waiting.add(status)
      if isJSON { try context.output.write(json: status) } else { table.add(status) }
    }
    if !isJSON {
      try context.output.write(table.rendered(within: Output.columnCount))
      if !jobs.isServed { context.note(waiting.note(context.placeOfJournal)) }
    }
    return .success
  }
}

/// `imgctl wait`: shows the progress of a job until it has ended.
package struct WaitCommand: Command {
  package let job: JobID
  package let isVerbose: Bool
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl wait", summary: "show the progress of a job until it has ended",
    operands: [.job],
    options: [.verbose, .json] + OptionDescription.startingPlaces,
    notes: [
      "On a terminal, a bar shows the progress. Elsewhere, each change prints a line, at most one "
        + "a second, and one a minute without changes. --json prints an object for each change. "
        + "The command waits for a paused job, too.",
      "If the coordinator is restarted meanwhile, the command goes on. If none answers for 10s, the "
        + "exit code is 3, and accepted jobs continue when it is started again.",
      "If none runs and the job has ended, the command reads that from the journal and starts none.",
    ],
    examples: [.init("imgctl wait 7", "The exit code is 1 if some images failed.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    isVerbose = arguments.contains(.verbose)
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let follower = JobFollower(in: context, isJSON: isJSON, isVerbose: isVerbose)
    if let client = try context.coordinatorIfRunning() {
      return try follower.follow(job, continuing: client, readsFiles: true)
    }
    if let ended = context.endedJobOfJournal(job) { return try follower.reportEnd(of: ended) }
    return try follower.follow(
      job, continuing: try context.coordinator(of: [job]), readsFiles: true)
  }
}

extension CommandContext {
  /// A job that has ended, from the journal that no coordinator has open; `nil` if the job has not ended or the
  /// journal cannot be read. Then a coordinator tells.
  fileprivate func endedJobOfJournal(_ job: JobID) -> ImageJob? {
    guard readsJournal, let status = try? journalJobs().status(of: job),
      status.hasEnded
    else { return nil }
    return status
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
      job, continuing: try context.runningCoordinator(), readsFiles: false)
    return end == .someFailed ? .success : end
  }
}

/// `imgctl failures`: lists the URLs of a job that failed, with the reason.
package struct FailuresCommand: Command {
  /// How the failures are written.
  package enum Format: Hashable, Sendable {
    /// Code, status, URL and reason between tabs.
    case plain
    case table(FailureTable.Separator)
    case json
  }

  package let job: JobID
  package let format: Format

  private static let csv = OptionDescription(
    "--csv", help: "Comma-separated values (RFC 4180) with a header, for spreadsheets.")
  private static let tsv = OptionDescription(
    "--tsv", help: "The same columns between tabs, with a header.")

  package static let description = CommandDescription(
    name: "imgctl failures",
    summary: "list the failed URLs of a job: code, status, URL, reason",
    operands: [.job],
    options: [csv, tsv, .json] + OptionDescription.startingPlaces,
    notes: [
      "The columns of --csv and --tsv are \(FailureTable.columns.joined(separator: ", ")). index "
        + "counts the URLs of the job from 0, line the lines of its list from 1, with empty lines and "
        + "comments; list tells several lists apart, from 0.",
      "A password in a URL is shown as ***, so do not submit such a line again. imgctl retry uses "
        + "the URLs as they were submitted.",
      OptionDescription.journalNote,
    ],
    examples: [
      .init("imgctl failures 7", "One line for each URL."),
      .init("imgctl failures 7 --csv", "A table with the numbers of the lines."),
      .init("imgctl failures 7 --json", "With the stage and a description."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    let given = [Self.csv, Self.tsv, .json].filter(arguments.contains)
    guard given.count < 2 else {
      throw UsageError("\(given[0].flag) and \(given[1].flag) exclude each other")
    }
    format =
      switch given.first?.flag {
      case Self.csv.flag: .table(.comma)
      case Self.tsv.flag: .table(.tab)
      case nil: .plain
      default: .json
      }
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let jobs = try context.jobs()
    let columns = try jobs.status(of: job).columns
    if case .table(let separator) = format {
      try context.output.write(FailureTable.header(separator, and: columns))
    }
    var details = FailureDetails()
    try jobs.results(of: job, isFailedOnly: true) { line in
      details.add(line)
      guard case .failed(let failure, _) = line.outcome else { return }
      switch format {
      case .plain:
        let status = failure.httpStatus.map(String.init) ?? "-"
        let texts = [HumanText.listed(line.url), failure.sentence].map(HumanText.printable)
        let cells = [failure.code.rawValue, status] + texts
        try context.output.write(cells.joined(separator: "\t") + "\n")
      case .table(let separator):
        try context.output.write(FailureTable.row(of: line, failure, separator, and: columns))
      case .json:
        let picture = JSONObject.picture(
          RequestedURL(line.url), index: line.index, place: line.place, failure)
        try context.output.write(
          json: JSONObject(
            ["columns": ColumnValues(of: line.line, in: columns), "job": job], beside: picture))
      }
    }
    let status = try jobs.status(of: job)
    if format != .json, status.hasEnded {
      let remedies = FailureReport(status, details, context.remedyTerms(for: status))
        .remedies(areFailuresListed: true)
      (jobs.isServed ? context : context.advisingOriginal())
        .note(remedies.map { $0 + "\n" }.joined())
    }
    return .success
  }
}

/// The failed lines of a job as rows of a table, for spreadsheets and scripts.
package enum FailureTable {
  package enum Separator: Hashable, Sendable {
    /// Quotes what needs quotes, and ends rows with CR LF (RFC 4180).
    case comma
    /// No text contains a tab, see ``HumanText/printable(_:)``.
    case tab
  }

  package static let columns = [
    "index", "line", "list", "code", "http_status", "retryable", "url", "detail",
  ]

  /// - Parameter columns: those of the job, behind the others.
  package static func header(_ separator: Separator, and columns: [String] = []) -> String {
    row(self.columns + columns.map(HumanText.printable), separator)
  }

  package static func row(
    of line: LineResult, _ failure: Failure, _ separator: Separator, and columns: [String] = []
  ) -> String {
    func text(_ number: Int?) -> String { number.map(String.init) ?? "" }
    // A field in quotes may have line breaks and tabs, and a tab would end one without quotes.
    let cells = (ColumnValues(of: line.line, in: columns)?.cells ?? [])
      .map { separator == .comma ? $0.withoutControls : HumanText.printable($0) }
    return row(
      [
        "\(line.index)", text(line.place?.line), text(line.place?.list), failure.code.rawValue,
        text(failure.httpStatus), "\(failure.isRetryable)",
        HumanText.printable(HumanText.listed(line.url)), HumanText.printable(failure.sentence),
      ] + cells, separator)
  }

  private static func row(_ cells: [String], _ separator: Separator) -> String {
    switch separator {
    case .comma: cells.map(quoted).joined(separator: ",") + "\r\n"
    case .tab: cells.joined(separator: "\t") + "\n"
    }
  }

  private static func quoted(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { [",", "\"", "\r", "\n"].contains($0) }) else {
      return text
    }
    return "\"" + text.replacing("\"", with: "\"\"") + "\""
  }
}

extension String {
  /// The same with U+FFFD in the place of each control character but line breaks and tabs, which a terminal might obey.
  fileprivate var withoutControls: String {
    String(
      String.UnicodeScalarView(
        unicodeScalars.map { scalar in
          let isObeyed =
            scalar.properties.generalCategory == .control && !["\n", "\r", "\t"].contains(scalar)
          return isObeyed ? "\u{FFFD}" : scalar
        }))
  }
}

/// A table of jobs, one a row. The columns for unusual options and for the reason of a wait appear
/// only if a job has them.
package struct JobListing {
  private static let columns: [Table.Column] = [
    .number("job"), .text("state").whole, .number("total").leftOut(3), .number("done"),
    .number("failed").leftOut(4),
    .number("retryable").ifItFits, .number("cancelled").ifItFits, .number("cached").ifItFits,
    .number("queued").ifItFits, .number("running").ifItFits, .text("submitted").ifItFits,
  ]

  private let now: WallTime
  private let places: TypedPlaces
  private var rows: [(cells: [String], terms: String, waiting: String, name: String)] = []

  /// - Parameter places: those that the commands to type carry.
  package init(at now: WallTime, places: TypedPlaces = .none) {
    self.now = now
    self.places = places
  }

  /// - Parameters:
  ///   - told: waits that stand above the table. A job that waits for the same has no text.
  ///   - tellsWait: whether the row says what the job waits for, as far as there is room.
  package mutating func add(
    _ status: ImageJob, besides told: [Wait] = [], tellsWait: Bool = true
  ) {
    let cells = [
      "\(status.job)", status.state.rawValue, "\(status.total)", "\(status.done)",
      "\(status.failed)", "\(status.retryable)", "\(status.cancelled)", "\(status.fromCache)",
      "\(status.queued)", "\(status.running)", HumanText.age(of: status.submissionTime, at: now),
    ]
    let wait = status.wait.flatMap { wait in
      !tellsWait || told.contains { $0.reason == wait.reason }
        ? nil : WaitText(wait, of: status.job, at: now)
    }
    let waiting = wait.map { places.completed($0.text) } ?? ""
    rows.append((cells, terms(of: status), waiting, status.name ?? ""))
  }

  package var rendered: String { rendered(within: nil) }

  /// - Parameter width: see ``Table/rendered(within:)``.
  package func rendered(within width: Int?) -> String {
    let hasTerms = rows.contains { !$0.terms.isEmpty }
    let hasWaits = rows.contains { !$0.waiting.isEmpty }
    var table = Table(
      Self.columns + (hasTerms ? [.text("options").leftOut(0)] : []) + [.text("name").leftOut(2)]
        + (hasWaits ? [.text("waiting").leftOut(1)] : []))
    for row in rows {
      table.addRow(
        row.cells + (hasTerms ? [row.terms] : []) + [row.name] + (hasWaits ? [row.waiting] : []))
    }
    return table.rendered(within: width)
  }

  /// The job's options that differ from the defaults: priority, order, leniency with the number of
  /// damaged pictures, and a delay that still runs.
  private func terms(of status: ImageJob) -> String {
    var terms: [String] = []
    if status.priority != .normal { terms.append("priority \(status.priority.rawValue)") }
    if status.order != .firstInFirstOut { terms.append(status.order.rawValue) }
    if status.pinPolicy == .untilExported { terms.append("pin") }
    if status.request.isLenient {
      terms.append("lenient" + (status.damaged > 0 ? ", \(status.damaged) damaged" : ""))
    }
    if !status.hasEnded, let notBefore = status.notBefore, notBefore > now {
      terms.append("starts in " + HumanText.duration(now.duration(to: notBefore)))
    }
    return terms.joined(separator: ", ")
  }
}
