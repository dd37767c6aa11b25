import ImgClient
import ImgModel
import ImgSettings

/// What an export has done, in numbers, with the first names of what a person may want to look at.
struct ExportTally {
  /// Names of files. Messages have the first few.
  struct Names {
    private(set) var count = 0
    private var first: [String] = []

    private static let shownMaximum = 3

    mutating func add(_ name: String) {
      count += 1
      if first.count < Self.shownMaximum { first.append(name) }
    }

    var text: String {
      first.joined(separator: ", ")
        + (count > first.count ? " and \(count - first.count) more" : "")
    }
  }

  /// The files that have what the store has.
  var exportedCount = 0
  /// Those of them that were not there before, or had changed.
  var writtenCount = 0
  /// Those of them whose bytes no earlier export has written.
  var newCount = 0
  /// The intact files of earlier exports of this job whose thumbnails the store no longer has.
  var presentCount = 0
  /// The lines without an intact file.
  var missingCount = 0
  /// The missing files whose thumbnail was made but has expired or was evicted since.
  var goneCount = 0
  /// The lines that could not be made again.
  private(set) var unmade = Names()
  /// Intact files of earlier exports. The store has other bytes of their pictures.
  var changed = Names()
  /// The files that differed from the manifest, and were written again.
  var repaired = Names()
  /// The files that differ from the manifest alone, which has their lines again.
  var misrecorded = Names()
  /// The files that are there again after others had taken their places.
  var returned = Names()
  /// The files that were gone, and were written again.
  var restored = Names()
  /// The files that are gone. The store has no picture for them.
  var lostCount = 0
  /// Those of them whose thumbnails could be made again.
  var goneFiles = Names()
  /// The files that differ from the manifest, as the store does.
  var differing = Names()
  /// The files that differ from the manifest. The store has no picture for them.
  var unrepaired = Names()
  /// The files that no export of this job has written, at the names of its files.
  private(set) var occupied = Names()
  /// The files whose lines the manifest has lost, and that have other bytes than the store.
  private(set) var disowned = Names()
  /// The files whose lines the manifest has lost, and whose thumbnails the store no longer has.
  var unchecked = Names()
  /// The lines that the manifest of an earlier export has lost.
  var lostLineCount = 0
  /// The name that this manifest has now.
  var damagedManifest: String?
  /// The files that were gone and have other bytes now.
  var replaced = Names()
  /// The intact files of what was stored after the job had its own.
  var storedLater = Names()
  /// The shards of a set; 0 of other exports.
  var shardCount = 0
  /// Those that were not as they had been written.
  var damagedShards = Names()
  /// The samples whose JSON or caption was not that of their line.
  var changedSamples = Names()
  /// The extensions of the pictures of the set.
  var extensions: Set<String> = []
  /// The columns that a set without captions could have them from.
  var captionColumns: [String] = []

  var differingCount: Int { differing.count + unrepaired.count }

  /// The files that stay where others would be written.
  var takenCount: Int { occupied.count + disowned.count }

  /// - Parameter isLost: whether the manifest has lost the line of the file's name.
  mutating func addTaken(_ name: String, isLost: Bool) {
    if isLost { disowned.add(name) } else { occupied.add(name) }
  }

  mutating func addUnmade(_ entry: LineResult, _ failure: Failure) {
    unmade.add(
      "\(HumanText.source(HumanText.listed(entry.url))) (\(failure.code.rawValue): \(failure.sentence))"
    )
  }
}

/// The result of an export, for people and as JSON.
struct ExportReport: Encodable {
  private let command: ExportCommand
  private let tally: ExportTally
  private var keep: Keep { status.request.keep }
  private var noun: String { keep.noun }
  private let status: ImageJob
  private let lines: LineCounts
  private let journal: JournalPlace?

  /// - Parameters:
  ///   - lines: what had become of them when they were exported.
  ///   - journal: where the job was read; `nil` if a coordinator runs, so that it goes on.
  init(
    _ command: ExportCommand, _ tally: ExportTally, _ lines: LineCounts, _ status: ImageJob,
    journal: JournalPlace?
  ) {
    self.command = command
    self.lines = lines
    self.status = status
    self.journal = journal
    self.tally = tally
  }

  /// Whether all that the job has made is in the directory.
  var isComplete: Bool {
    tally.goneCount + tally.unmade.count + tally.differingCount + tally.takenCount == 0
      && (tally.storedLater.count == 0 || !keep.isOriginalAlone || command.isFetching)
  }

  func encode(to encoder: any Encoder) throws {
    try JSONObject([
      "exported": tally.exportedCount, "written": tally.writtenCount, "new": tally.newCount,
      "restored": tally.restored.count, "lost": tally.lostCount, "present": tally.presentCount,
      "missing": tally.missingCount, "not_in_store": tally.goneCount,
      "not_made": tally.unmade.count, "changed": tally.changed.count,
      "repaired": tally.repaired.count, "differing": tally.differingCount,
      "occupied": tally.takenCount, "unchecked": tally.unchecked.count,
      "damaged_lines": tally.lostLineCount, "misrecorded": tally.misrecorded.count,
      "returned": tally.returned.count, "replaced": tally.replaced.count,
      "stored_after_job": tally.storedLater.count,
      "shards": tally.shardCount == 0 ? nil : tally.shardCount,
    ]).encode(to: encoder)
  }

  /// A line for people, with the command that helps.
  private struct Finding {
    let text: String
    /// What the command does.
    var purpose = ""
    /// `nil` if there is none.
    var remedy: String?
  }

  var text: String {
    let findings = manifest + files + shards + absent
    let lines = findings.enumerated().map { index, finding in
      // A command that helps with several is told once, at the last of them.
      guard let remedy = finding.remedy,
        !findings[(index + 1)...].contains(where: { $0.remedy == remedy })
      else { return finding.text }
      return "\(finding.text); \(finding.purpose): \(remedy)"
    }
    return ([total] + lines + jobLines).map { $0 + "\n" }.joined()
  }

  private var total: String {
    guard tally.shardCount == 0 else {
      return
        "exported \(HumanText.count(tally.exportedCount, of: noun)) to "
        + "\(HumanText.count(tally.shardCount, of: "shard")) in \(command.directory)"
        + "\(newPart(of: tally.exportedCount)); the \(ShardFiles.listEnding) of each lists its lines"
    }
    // Those that the store does not have are there, too.
    let count = tally.exportedCount + tally.presentCount + tally.changed.count
    let files = HumanText.count(count, of: noun)
    let place =
      count == tally.newCount
      ? "exported \(files) to \(command.directory)"
      : "\(files) in \(command.directory)\(newPart(of: count))"
    return "\(place); \(ExportManifest.name) lists all"
  }

  private func newPart(of count: Int) -> String {
    switch tally.newCount {
    case count: ""
    case 0: count == 1 ? ", not a new one" : ", none of them new"
    case let count: ", \(count) of them new"
    }
  }

  /// What became of an earlier manifest that has lost lines.
  private var manifest: [Finding] {
    var findings: [Finding] = []
    if let name = tally.damagedManifest {
      findings.append(
        Finding(
          text: "\(HumanText.count(tally.lostLineCount, of: "line")) of \(ExportManifest.name) "
            + "\(tally.lostLineCount == 1 ? "was" : "were") damaged or missing, and made again where the store has the same bytes; "
            + "the earlier manifest is \(command.directory)/\(name)"))
    }
    if tally.disowned.count > 0 {
      let isOne = tally.disowned.count == 1
      findings.append(
        otherDirectory(
          for:
            "\(count(tally.disowned)) without \(isOne ? "its line differs" : "their lines differ") from the "
            + "\(noun)\(isOne ? "" : "s") in the store and \(stay(tally.disowned)): \(tally.disowned.text); \(lostLines(isOne: isOne))"
        ))
    }
    if tally.unchecked.count > 0 {
      let isOne = tally.unchecked.count == 1
      findings.append(
        Finding(
          text:
            "\(count(tally.unchecked)) without \(isOne ? "its line" : "their lines") \(stay(tally.unchecked)), and "
            + "the store has no \(noun) to compare \(isOne ? "it" : "them") with: \(tally.unchecked.text); \(lostLines(isOne: isOne))"
        ))
    }
    return findings
  }

  private func lostLines(isOne: Bool) -> String {
    "\(isOne ? "its line" : "their lines") may be in \(ExportManifest.sources(ofLostLinesIn: command.directory))"
  }

  /// What became of the files of earlier exports, and of others in the directory.
  private var files: [Finding] {
    var findings: [Finding] = []
    if tally.presentCount > 0 {
      let files = HumanText.count(tally.presentCount, of: "file")
      findings.append(Finding(text: "\(files) of an earlier export stayed"))
    }
    if tally.changed.count > 0 {
      let isOne = tally.changed.count == 1
      findings.append(
        otherDirectory(
          for:
            "\(HumanText.count(tally.changed.count, of: noun)) in the store \(isOne ? "is" : "are") not the exported "
            + "\(isOne ? "one; the exported file stays" : "ones; the exported files stay"): \(tally.changed.text)"
        ))
    }
    if tally.repaired.count > 0 {
      findings.append(
        Finding(
          text:
            "\(count(tally.repaired)) differed from the recorded SHA-256; written again: \(tally.repaired.text)"
        ))
    }
    if tally.misrecorded.count > 0 {
      let isOne = tally.misrecorded.count == 1
      findings.append(
        Finding(
          text:
            "\(count(tally.misrecorded)) \(isOne ? "is" : "are") as in the store, and \(ExportManifest.name) recorded other "
            + "bytes; \(isOne ? "its line was" : "their lines were") made again: \(tally.misrecorded.text)"
        ))
    }
    if tally.returned.count > 0 {
      let isOne = tally.returned.count == 1
      findings.append(
        Finding(
          text:
            "\(count(tally.returned)) \(isOne ? "has its" : "have their") replaced_sha256 again and "
            + "\(isOne ? "stays; its line is" : "stay; their lines are") back: \(tally.returned.text)"
        ))
    }
    if tally.restored.count > 0 {
      findings.append(
        Finding(
          text: "\(count(tally.restored)) had been removed; written again: \(tally.restored.text)"))
    }
    if tally.unrepaired.count > 0 {
      findings.append(
        Finding(text: text(ofDiffering: tally.unrepaired, "no longer has the exported bytes")))
    }
    if tally.differing.count > 0 {
      findings.append(
        otherDirectory(
          for: text(ofDiffering: tally.differing, "has other bytes than were exported")))
    }
    if tally.occupied.count > 0 {
      let isOne = tally.occupied.count == 1
      findings.append(
        otherDirectory(
          for:
            "\(count(tally.occupied)) in \(command.directory) \(isOne ? "is" : "are") of no export "
            + "and \(stay(tally.occupied)): \(tally.occupied.text)", to: "to write the \(noun)s"))
    }
    if tally.replaced.count > 0 {
      findings.append(
        Finding(
          text:
            "\(count(tally.replaced)) had been removed and \(tally.replaced.count == 1 ? "has" : "have") other bytes "
            + "now: \(tally.replaced.text); \(ExportManifest.name) has the earlier SHA-256 as replaced_sha256"
        ))
    }
    if tally.storedLater.count > 0 {
      let place =
        tally.shardCount == 0 ? "; \(ExportManifest.name) has stored_after_job" : ""
      findings.append(
        Finding(
          text: ResultsInStore.text(ofLater: tally.storedLater.count, noun, of: command.job)
            + ": \(tally.storedLater.text)\(place)"))
    }
    return findings
  }

  private var shards: [Finding] {
    var findings: [Finding] = []
    if tally.damagedShards.count > 0 {
      let verb = tally.damagedShards.count == 1 ? "was" : "were"
      findings.append(
        Finding(
          text:
            "\(HumanText.count(tally.damagedShards.count, of: "shard")) \(verb) damaged or missing, and what is intact or "
            + "stored was written again: \(tally.damagedShards.text)"))
    }
    if tally.changedSamples.count > 0 {
      findings.append(
        Finding(
          text:
            "\(HumanText.count(tally.changedSamples.count, of: "sample")) had other JSON or another caption than the job; "
            + "written again: \(tally.changedSamples.text)"))
    }
    if !tally.captionColumns.isEmpty {
      findings.append(
        Finding(
          text: "the set has no captions; --caption-column takes one of the columns: "
            + tally.captionColumns.map(\.shellWord).joined(separator: ", ")))
    }
    if tally.extensions.count > 1 {
      findings.append(
        Finding(
          text:
            "the pictures are in several formats (\(tally.extensions.sorted().joined(separator: ", "))), and some "
            + "readers want one: submit --format jpeg makes one"))
    }
    return findings
  }

  private func count(_ names: ExportTally.Names) -> String {
    HumanText.count(names.count, of: "file")
  }

  private func stay(_ names: ExportTally.Names) -> String { names.count == 1 ? "stays" : "stay" }

  /// - Parameter state: what the store has.
  private func text(ofDiffering names: ExportTally.Names, _ state: String) -> String {
    "\(count(names)) \(names.count == 1 ? "differs" : "differ") from the recorded SHA-256 and \(stay(names)), because "
      + "the store \(state): \(names.text)"
  }

  private func otherDirectory(
    for text: String, to purpose: String = "to write what is stored now"
  ) -> Finding {
    Finding(
      text: text, purpose: purpose,
      remedy: ExportCommand.text(
        of: command.job, besides: command.directory, in: command.form))
  }

  /// In a copy of a data directory, no command starts the coordinator that fetches.
  private var fetch: String {
    let place =
      if case .copy(let original?) = journal { "--data-dir \(original.shellWord) " } else { "" }
    return
      "imgctl \(place)export \(command.job) \(command.directory.shellWord) --fetch\(command.form.text)"
  }

  private var absent: [Finding] {
    var findings: [Finding] = []
    if keep == .none {
      findings.append(Finding(text: "the job stored nothing (--keep none)"))
    } else if tally.goneCount > 0 {
      findings.append(
        Finding(
          text: "\(HumanText.count(tally.goneCount, of: noun)) \(status.absence)\(goneFiles)",
          purpose: "to fetch \(tally.goneCount == 1 ? "it" : "them") again",
          remedy: command.isFetching ? nil : fetch))
    }
    if tally.unmade.count > 0 {
      findings.append(
        Finding(
          text:
            "\(HumanText.count(tally.unmade.count, of: noun)) could not be made again: \(tally.unmade.text)",
          purpose: "to try again", remedy: command.isFetching ? nil : fetch))
    }
    return findings
  }

  /// The files of what is no longer stored.
  private var goneFiles: String {
    guard tally.goneFiles.count > 0 else { return "" }
    let files =
      tally.goneFiles.count < tally.goneCount
      ? "\(tally.goneFiles.count) of their files"
      : tally.goneCount == 1 ? "its file" : "their files"
    return ", and \(files) had been removed: \(tally.goneFiles.text)"
  }

  private var jobLines: [String] {
    var texts: [String] = []
    let failures = "\(command.directory)/\(FailuresFile.name)"
    if lines.failedCount > 0, tally.unmade.count > 0 {
      texts.append(
        "\(lines.failedCount) failed in the job, and \(tally.unmade.count) of --fetch: \(failures) has all "
          + "\(lines.failedCount + tally.unmade.count)")
    } else if lines.failedCount > 0 {
      texts.append("\(lines.failedCount) failed: imgctl failures \(command.job), or \(failures)")
    } else if tally.unmade.count > 0 {
      texts.append("\(failures) has all failures")
    }
    if lines.cancelledCount > 0 {
      texts.append(
        "\(HumanText.count(lines.cancelledCount, of: "URL")) cancelled: imgctl retry \(command.job)"
      )
    }
    if lines.unfinishedCount > 0 {
      texts.append(
        "the job has not ended: \(HumanText.count(lines.unfinishedCount, of: "URL")) left"
          + continuation)
    }
    return texts
  }

  /// How the rest of the lines is exported.
  private var continuation: String {
    switch journal {
    case nil:
      let verb = status.state == .paused ? "resume" : "wait"
      return "; to export the rest: imgctl \(verb) \(command.job), then \(command.command)"
    case _ where status.state == .paused: return ""
    case let journal?: return "; \(journal.continuation(of: "it"))"
    }
  }
}

/// What has become of the lines of a job, while it may go on.
struct LineCounts {
  private(set) var failedCount = 0
  private(set) var cancelledCount = 0
  private(set) var unfinishedCount = 0

  mutating func add(_ line: LineResult) {
    switch line.outcome {
    case .done: break
    case .failed: failedCount += 1
    case .cancelled: cancelledCount += 1
    case nil: unfinishedCount += 1
    }
  }
}
