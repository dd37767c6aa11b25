import ImgClient
import ImgModel
package import ImgSettings

/// `imgctl recover`: extracts the intact records of a damaged journal.
package struct RecoverCommand: Command {
  package let journal: String
  package let directory: String
  package let isJSON: Bool

  private static let journalOperand = OperandDescription(
    "JOURNAL", help: "The journal's directory: journal in the data directory, or a copy of it.")
  private static let directoryOperand = OperandDescription(
    "DIR", help: "The directory for the files; created if missing.")

  package static let description = CommandDescription(
    name: "imgctl recover", summary: "extract the intact jobs of a damaged journal",
    operands: [journalOperand, directoryOperand],
    options: [.json],
    notes: [
      "Writes two files for each job: its list job-N.txt, and job-N.jsonl with an object for each "
        + "line and its outcome. The command does not change the journal and needs no coordinator. "
        + "It may also find jobs that were removed recently. Exit code 1 means that some data is "
        + "lost.",
      "The lists contain the passwords of their URLs, so that you can submit them again. Only the "
        + "owner can read the files.",
    ],
    examples: [
      .init("imgctl recover ~/.cache/imgctl/journal jobs", "Lists and outcomes of all jobs."),
      .init("imgctl submit jobs/job-7.txt", "Submits one again; stored thumbnails are hits."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    journal = arguments.text(of: Self.journalOperand)
    directory = arguments.text(of: Self.directoryOperand)
    isJSON = arguments.contains(.json)
    guard !journal.isEmpty, !directory.isEmpty else { throw UsageError("a path is empty") }
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let recovery = try JournalRecovery(directory: journal)
    let files = try RecoveredFiles(in: directory)
    var isComplete = true
    for job in recovery.jobs {
      var report = Report(job, recovery.record(of: job))
      try files.write(job, of: recovery) { report.count($0, $1) }
      if isJSON { try context.output.write(json: report) } else { context.note(report.text) }
      isComplete = isComplete && report.isComplete
    }
    context.note(
      "extracted \(HumanText.count(recovery.jobs.count, of: "job")) to \(directory)\n")
    return isComplete ? .success : .someFailed
  }

  private struct Report: Encodable {
    private let job: JobID
    private let name: String?
    private let state: String?
    private var lines = 0
    private var lostLines = 0
    private var outcomes = 0
    private let finished: Int?

    private enum CodingKeys: String, CodingKey {
      case job, name, state, lines, outcomes, finished
      case lostLines = "lost_lines"
    }

    init(_ job: JobID, _ record: JobRecord?) {
      self.job = job
      name = record?.name
      state = record?.state.rawValue
      finished = record?.counts.finished
    }

    mutating func count(_ url: String?, _ outcome: Outcome?) {
      lines += 1
      if url == nil { lostLines += 1 }
      if outcome != nil { outcomes += 1 }
    }

    /// Whether the job's record was found with all the lines and outcomes that it counts. A
    /// cancelled job also counts lines without an outcome.
    var isComplete: Bool {
      guard let finished else { return false }
      return lostLines == 0 && (outcomes >= finished || state == "cancelled")
    }

    var text: String {
      "job \(job) (\(state ?? "record lost")): \(lines - lostLines) of \(lines) lines, "
        + "\(outcomes) outcomes\n"
    }
  }
}
