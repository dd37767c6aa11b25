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
  /// Those of them that no earlier export has written.
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
  /// The files that were gone, and were written again.
  var restored = Names()
  /// The files that are gone. The store has no picture for them.
  var lost = Names()
  /// The files that differ from the manifest.
  var differing = Names()
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
  private let keep: Keep
  private let noun: String
  private let status: ImageJob
  private let journal: JournalPlace?

  /// - Parameter journal: where the job was read; `nil` if a coordinator runs, so that it goes on.
  init(
    _ command: ExportCommand, _ export: JobExport, _ status: ImageJob, journal: JournalPlace?
  ) {
    self.command = command
    self.status = status
    self.journal = journal
    tally = export.tally
    keep = export.keep
    noun = export.noun
  }

  /// Whether all that the job has made is in the directory.
  var isComplete: Bool {
    tally.goneCount + tally.unmade.count + tally.differing.count + tally.takenCount == 0
      && (tally.storedLater.count == 0 || !keep.isOriginalAlone || command.isFetching)
  }

  func encode(to encoder: any Encoder) throws {
    try JSONObject([
      "exported": tally.exportedCount, "written": tally.writtenCount, "new": tally.newCount,
      "restored": tally.restored.count, "lost": tally.lost.count, "present": tally.presentCount,
      "missing": tally.missingCount, "not_in_store": tally.goneCount,
      "not_made": tally.unmade.count, "changed": tally.changed.count,
      "repaired": tally.repaired.count, "differing": tally.differing.count,
      "occupied": tally.takenCount, "unchecked": tally.unchecked.count,
      "damaged_lines": tally.lostLineCount, "replaced": tally.replaced.count,
      "stored_after_job": tally.storedLater.count,
    ]).encode(to: encoder)
  }

  var text: String {
    let lines = [total] + manifest + files + absent + jobLines
    return lines.map { $0 + "\n" }.joined()
  }

  private var total: String {
    let new =
      tally.newCount < tally.exportedCount && tally.exportedCount > 0
      ? ", \(tally.newCount) of them new" : ""
    return
      "exported \(HumanText.count(tally.exportedCount, of: noun)) to \(command.directory)\(new); "
      + "\(ExportManifest.name) lists all"
  }

  private var otherDirectory: String {
    ExportCommand.text(of: command.job, besides: command.directory)
  }

  /// What became of an earlier manifest that has lost lines.
  private var manifest: [String] {
    var lines: [String] = []
    if let name = tally.damagedManifest {
      lines.append(
        "\(HumanText.count(tally.lostLineCount, of: "line")) of \(ExportManifest.name) "
          + "\(tally.lostLineCount == 1 ? "was" : "were") damaged or missing, and made again from the store; "
          + "the earlier manifest is \(command.directory)/\(name)")
    }
    if tally.disowned.count > 0 {
      let isOne = tally.disowned.count == 1
      lines.append(
        "\(HumanText.count(tally.disowned.count, of: "file")) without \(isOne ? "its line differs" : "their lines differ") "
          + "from the \(noun)\(isOne ? "" : "s") in the store and \(isOne ? "stays" : "stay"): \(tally.disowned.text); "
          + "to write what is stored now: \(otherDirectory)")
    }
    if tally.unchecked.count > 0 {
      let isOne = tally.unchecked.count == 1
      lines.append(
        "\(HumanText.count(tally.unchecked.count, of: "file")) without \(isOne ? "its line stays" : "their lines stay"), and "
          + "the store has no \(noun) to compare \(isOne ? "it" : "them") with: \(tally.unchecked.text)")
    }
    return lines
  }

  /// What became of the files of earlier exports, and of others in the directory.
  private var files: [String] {
    func files(_ names: ExportTally.Names) -> String { HumanText.count(names.count, of: "file") }
    func differs(_ count: Int) -> String { count == 1 ? "differs" : "differ" }
    var lines: [String] = []
    if tally.presentCount > 0 {
      lines.append("\(HumanText.count(tally.presentCount, of: "file")) of an earlier export stayed")
    }
    if tally.changed.count > 0 {
      let isOne = tally.changed.count == 1
      lines.append(
        "\(HumanText.count(tally.changed.count, of: noun)) in the store \(isOne ? "is" : "are") not the exported "
          + "\(isOne ? "one; the exported file stays" : "ones; the exported files stay"): \(tally.changed.text); "
          + "to write what is stored now: \(otherDirectory)")
    }
    if tally.repaired.count > 0 {
      lines.append(
        "\(files(tally.repaired)) differed from the recorded SHA-256; written again: \(tally.repaired.text)"
      )
    }
    if tally.restored.count > 0 {
      lines.append(
        "\(files(tally.restored)) had been removed; written again: \(tally.restored.text)")
    }
    if tally.lost.count > 0 {
      lines.append(
        "\(files(tally.lost)) had been removed, and the store has no \(noun) for "
          + "\(tally.lost.count == 1 ? "it" : "them"): \(tally.lost.text)")
    }
    if tally.differing.count > 0 {
      let count = tally.differing.count
      lines.append(
        "\(files(tally.differing)) \(differs(count)) from the recorded SHA-256 and "
          + "\(count == 1 ? "stays" : "stay"): \(tally.differing.text)\(remedyOfDifferences)")
    }
    if tally.occupied.count > 0 {
      lines.append(
        "\(files(tally.occupied)) in \(command.directory) \(tally.occupied.count == 1 ? "is" : "are") of no export "
          + "and \(tally.occupied.count == 1 ? "stays" : "stay"): \(tally.occupied.text); to write the \(noun)s: "
          + otherDirectory)
    }
    if tally.replaced.count > 0 {
      lines.append(
        "\(files(tally.replaced)) had been removed and \(tally.replaced.count == 1 ? "has" : "have") other bytes "
          + "now: \(tally.replaced.text); \(ExportManifest.name) has the earlier SHA-256 as replaced_sha256"
      )
    }
    if tally.storedLater.count > 0 {
      lines.append(
        ResultsInStore.text(ofLater: tally.storedLater.count, noun, of: command.job)
          + ": \(tally.storedLater.text); \(ExportManifest.name) has stored_after_job")
    }
    return lines
  }

  /// Empty if the line about what is no longer stored has it.
  private var remedyOfDifferences: String {
    tally.goneCount > 0 ? "" : "; to write what is stored now: \(otherDirectory)"
  }

  /// In a copy of a data directory, no command starts the coordinator that fetches.
  private var fetch: String {
    let place =
      if case .copy(let original?) = journal { "--data-dir \(original.shellWord) " } else { "" }
    return "imgctl \(place)export \(command.job) \(command.directory.shellWord) --fetch"
  }

  private var absent: [String] {
    var lines: [String] = []
    if keep == .none {
      lines.append("the job stored nothing (--keep none)")
    } else if tally.goneCount > 0 {
      let remedy =
        command.isFetching
        ? "" : "; to fetch \(tally.goneCount == 1 ? "it" : "them") again: \(fetch)"
      lines.append(
        "\(HumanText.count(tally.goneCount, of: noun)) no longer stored\(remedy)")
    }
    if tally.unmade.count > 0 {
      lines.append(
        "\(HumanText.count(tally.unmade.count, of: noun)) could not be made again: \(tally.unmade.text)"
          + (command.isFetching ? "" : "; to try again: \(fetch)"))
    }
    return lines
  }

  private var jobLines: [String] {
    var lines: [String] = []
    let failures = "\(command.directory)/\(JobExport.failuresName)"
    if status.failed > 0, tally.unmade.count > 0 {
      lines.append(
        "\(status.failed) failed in the job, and \(tally.unmade.count) of --fetch: \(failures) has all "
          + "\(status.failed + tally.unmade.count)")
    } else if status.failed > 0 {
      lines.append("\(status.failed) failed: imgctl failures \(command.job), or \(failures)")
    } else if tally.unmade.count > 0 {
      lines.append("\(failures) has all failures")
    }
    if status.cancelled > 0 {
      lines.append(
        "\(HumanText.count(status.cancelled, of: "URL")) cancelled: imgctl retry \(command.job)")
    }
    if status.finished < status.total {
      let next =
        status.state == .paused ? "imgctl resume \(command.job)" : "imgctl wait \(command.job)"
      lines.append(
        "the job has not ended: \(HumanText.count(status.total - status.finished, of: "URL")) left"
          + (journal == nil ? "; to export the rest: \(next), then \(command.command)" : ""))
    }
    return lines
  }
}
