import FoundationEssentials
import ImgClient
import ImgModel
package import ImgSettings
import ImgSystem

extension CommandContext {
  /// ``store`` for a command about the store itself.
  ///
  /// - Parameter isNeeded: whether a named directory without a store is refused: a command that removes something would
  ///   say nothing of a wrong name.
  /// - Throws: ``UsageError`` if the last coordinator of the data directory had its store elsewhere, and none is
  ///   named.
  func namedStore(
    for command: String, isNeeded: Bool = false
  ) throws(UsageError) -> LocalStore {
    if !settings.isNamed(.cacheDirectory), let other = LastCache.otherDirectory(than: settings) {
      throw UsageError(
        "\(command): the store of the last coordinator of \(settings.dataDirectory) is in \(other); name the store: "
          + "--cache-dir \(other.shellWord), or --cache-dir \(settings.cacheDirectory.shellWord)")
    }
    let typed = [Setting.cacheDirectory, .dataDirectory].first {
      settings.sources[$0.option.flag] == .flag
    }
    if isNeeded, let typed, !store.exists {
      throw UsageError(
        "\(command): no store is in \(settings.cacheDirectory); check \(typed.option.flag)")
    }
    return store
  }
}

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
    let compaction = try context.namedStore(for: Self.description.name).compact()
    if isJSON {
      try context.output.write(
        json: JSONObject([
          "file_bytes_before": compaction?.before ?? 0, "file_bytes_after": compaction?.after ?? 0,
        ]))
    } else if let compaction {
      let sizes = [compaction.before, compaction.after].map(HumanText.size)
      context.note("the store's file: \(sizes[0]) → \(sizes[1])\n")
    } else {
      context.noteAbsentStore()
    }
    return .success
  }
}

/// `imgctl cache reset`: empties the store.
package struct CacheResetCommand: Command {
  package let consent: Consent
  package let isJSON: Bool

  package static let storeCrashHandling = StoreCrashHandling.restart

  package static let description = CommandDescription(
    name: "imgctl cache reset", summary: "remove everything from the store",
    options: [Consent.option, .json] + OptionDescription.places,
    notes: ["What jobs pin is removed, too. The command says how much that is of which jobs."],
    examples: [.init("imgctl cache reset", "Removes all thumbnails; jobs and outcomes stay.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    consent = Consent(arguments)
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let store = try context.namedStore(for: Self.description.name, isNeeded: true)
    var pinned: PinnedRecords?
    if StoreCrash.hasHappened {
      // Reading the damaged files would end this process, so it removes them without opening them.
      guard try store.removeFiles() else {
        let directory = context.settings.storeDirectory
        throw UsageError("imgctl cache reset: another process is replacing \(directory); try again")
      }
    } else {
      // A store that cannot be read can be emptied.
      pinned = (try? store.pinCounts()).map(context.pinnedRecords)
      if context.asks(consent), let loss = try Self.loss(in: store, pinned) {
        try context.confirm(loss, for: Self.description.name)
      }
      try store.reset()
    }
    try context.answer(
      JSONObject([
        "store": context.settings.storeDirectory, "entries": 0, "pinned": pinned,
      ]), isJSON: isJSON,
      orSay: "the store is empty" + (pinned?.clause("; of what was removed") ?? ""))
    return .success
  }

  /// - Returns: `nil` for an empty store.
  private static func loss(in store: LocalStore, _ pinned: PinnedRecords?) throws -> String? {
    guard let statistics = try store.statistics(), statistics.recordCount > 0 else { return nil }
    var originalCount = 0
    try store.forEachRecord {
      if $0.kind == .original { originalCount += 1 }
      return true
    }
    return "removes \(HumanText.count(statistics.recordCount, of: "record")), "
      + "\(HumanText.size(statistics.byteCount)), of them "
      + HumanText.count(originalCount, of: "original") + (pinned?.clause() ?? "")
  }
}

/// `imgctl cache stat`: shows the size and the use of the store.
package struct CacheStatCommand: Command {
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl cache stat", summary: "show the size of the store and its hit rate",
    options: [.json] + OptionDescription.places,
    notes: ["A record is a thumbnail, an original or the facts of a picture."],
    examples: [.init("imgctl cache stat", "Records, bytes, budget, and the share of hits.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let statistics = try context.namedStore(for: Self.description.name).statistics()
    if isJSON {
      try context.output.write(json: statistics ?? CacheStatistics())
    } else if let statistics {
      try context.output.write(text(of: statistics, at: context.now))
    } else {
      context.noteAbsentStore()
    }
    return .success
  }

  private func text(of statistics: CacheStatistics, at now: WallTime) -> String {
    var table = Table([.text("records"), .number("\(statistics.recordCount)")])
    table.addRow(["record bytes", HumanText.size(statistics.byteCount)])
    table.addRow(["expired, not yet removed", "\(statistics.expiredCount)"])
    table.addRow(["unfinished downloads", "\(statistics.partialCount)"])
    table.addRow(["their size", HumanText.size(statistics.partialByteCount)])
    if statistics.pinnedCount > 0 {
      table.addRow(["pinned by jobs", "\(statistics.pinnedCount)"])
      table.addRow(["their size", HumanText.size(statistics.pinnedByteCount)])
    }
    table.addRow(["originals kept by auto", "\(statistics.autoOriginalCount)"])
    table.addRow(["their size", HumanText.size(statistics.autoOriginalByteCount)])
    table.addRow(["occupied", HumanText.size(statistics.occupiedByteCount)])
    table.addRow(["budget", HumanText.size(statistics.budgetByteCount ?? 0)])
    if let disk = statistics.diskByteCount {
      table.addRow(["limit of the disk", HumanText.size(disk)])
    }
    if let oldest = statistics.oldestStorageTime {
      table.addRow(["oldest", HumanText.age(of: oldest, at: now)])
    }
    if let counters = statistics.counters {
      table.addRow(["hits", "\(counters.hits)"])
      table.addRow(["misses", "\(counters.misses)"])
      table.addRow(["hit rate", counters.hitRate.map { "\(HumanText.number($0 * 100)) %" } ?? "-"])
      table.addRow(["put", "\(counters.stores)"])
      table.addRow(["evicted", "\(counters.evictions)"])
      table.addRow(["removed expired", "\(counters.expiredRemovals)"])
      table.addRow(["removed damaged", "\(counters.damagedRemovals)"])
    }
    table.addRow(["free pages", "\(statistics.freePageCount)"])
    table.addRow(["reclaimable by compact", HumanText.size(statistics.freeByteCount)])
    table.addRow(["file", HumanText.size(statistics.fileByteCount)])
    table.addRow(["map", HumanText.size(statistics.mapByteCount)])
    return table.rendered(within: Output.columnCount)
  }
}

/// `imgctl cache verify`: checks every record of the store.
package struct CacheVerifyCommand: Command {
  package let isRepairing: Bool
  package let isJSON: Bool

  private static let repair = OptionDescription(
    "--repair", help: "Remove damaged records. The next request fetches the pictures again.")

  package static let description = CommandDescription(
    name: "imgctl cache verify", summary: "read every record of the store and list damage",
    options: [repair, .json] + OptionDescription.places,
    examples: [
      .init("imgctl cache verify", "One line for each defect, and exit code 1 if there is any."),
      .init("imgctl cache verify --repair", "Also removes what is damaged."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isRepairing = arguments.contains(Self.repair)
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    var report = Report()
    let store = try context.namedStore(for: Self.description.name)
    let checkedCount = try store.verify(isRepairing: isRepairing) { defect in
      report.defects += 1
      if isJSON {
        try context.output.write(json: defect)
      } else {
        try context.output.write("\(HumanText.printable("\(defect)"))\n")
      }
      // Reading the next record may end this process, see ``StoreCrash``.
      try context.output.flush()
    }
    report.checked = checkedCount ?? 0
    report.removed = isRepairing ? report.defects : 0
    if isJSON {
      try context.output.write(json: report)
    } else if checkedCount == nil {
      context.noteAbsentStore()
    } else {
      context.note(report.text)
    }
    return report.defects == 0 ? .success : .someFailed
  }

  /// The totals, printed after the object of each defect.
  private struct Report: Encodable {
    var checked = 0
    var defects = 0
    var removed = 0

    var text: String {
      let verdict = defects == 0 ? "no defects" : HumanText.count(defects, of: "defect")
      return "checked \(HumanText.count(checked, of: "record")): \(verdict)"
        + (removed > 0 ? ", removed\n" : "\n")
    }
  }
}

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
      .init("imgctl recover ~/.local/state/imgctl/journal jobs", "Lists and outcomes of all jobs."),
      .init("imgctl submit jobs/job-7.txt", "Submits one again; stored thumbnails are hits."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    journal = arguments.text(of: Self.journalOperand)
    directory = arguments.text(of: Self.directoryOperand)
    isJSON = arguments.contains(.json)
    guard !journal.isEmpty, !directory.isEmpty else { throw UsageError("a path is empty") }
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    if let inside = JournalRecovery.journal(in: journal) {
      throw UsageError("imgctl recover: \(journal) is no journal; \(inside) is one")
    }
    let recovery = try JournalRecovery(directory: journal)
    guard !recovery.isUnreadable else {
      context.report(error: "nothing in the journal \(journal) is readable")
      return .someFailed
    }
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

/// The files of `imgctl recover`: for each job its list, and an object for each line and its outcome.
struct RecoveredFiles {
  private let directory: String

  /// - Parameter directory: created if missing.
  init(in directory: String) throws {
    try Directory.create(directory)
    self.directory = directory
  }

  /// Writes the files of a job, which only this user can read.
  ///
  /// - Parameter observe: is given each line, without a URL if its list is lost.
  func write(
    _ job: JobID, of recovery: JournalRecovery, _ observe: (_ url: String?, Outcome?) -> Void
  ) throws {
    let listFile = try ReplacementFile(path: "\(directory)/job-\(job).txt", isPrivate: true)
    let outcomeFile = try ReplacementFile(path: "\(directory)/job-\(job).jsonl", isPrivate: true)
    let list = Output(descriptor: listFile.descriptor)
    let outcomes = Output(descriptor: outcomeFile.descriptor)
    try recovery.forEachLine(of: job) { index, line, outcome in
      observe(line?.text, outcome)
      if let line { try list.write(line.text + "\n") }
      let shown = ListLine(
        line?.text.withoutPasswords ?? "", at: line?.place, columns: line?.columns ?? .none)
      try outcomes.write(json: LineResult(index: index, shown, outcome))
    }
    try list.flush()
    try outcomes.flush()
    try listFile.commit()
    try outcomeFile.commit()
  }
}

/// Handles a command that crashes while it reads a damaged store.
enum StoreCrash {
  /// Set in the environment of a command that was restarted after such a crash.
  private static let variable = "IMGCTL_STORE_CRASHED"

  /// Whether the command has crashed in the store before. A `get` then leaves the store to the
  /// coordinator, whose workers recreate it, and a `reset` does not open it.
  static var hasHappened: Bool { ThisProcess.environment[variable] != nil }

  /// - Parameters:
  ///   - arguments: the program's arguments, without its name.
  ///   - environment: the program's environment at its start.
  static func prepare(
    for handling: StoreCrashHandling, _ arguments: [String], environment: [String: String],
    _ context: CommandContext
  ) {
    switch handling {
    case .restart where !hasHappened:
      let changed = environment.merging([variable: "1"]) { $1 }
      CrashRegion.restart(arguments: arguments, environment: changed)
    case .restart, .report:
      prepare(
        "store_damaged",
        "the store in \(context.settings.storeDirectory) is damaged; imgctl cache reset removes it, and "
          + "requests make its thumbnails again", context)
    }
  }

  /// ``prepare(for:_:environment:_:)`` before the command reads the journal.
  static func prepareForJournal(_ context: CommandContext) {
    let directory = context.settings.journalDirectory
    prepare(
      "journal_damaged",
      "the journal in \(directory) is damaged; imgctl recover \(directory.shellWord) DIR extracts the intact jobs",
      context)
  }

  private static func prepare(_ code: String, _ sentence: String, _ context: CommandContext) {
    let report = ErrorReport(.wrongUse, code: code, "imgctl: \(sentence)")
    CrashRegion.report(context.line(of: report), exitStatus: report.exitCode.rawValue)
  }
}
