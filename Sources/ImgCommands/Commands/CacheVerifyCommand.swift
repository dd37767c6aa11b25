import ImgClient
package import ImgSettings

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
    let checkedCount = try context.store.verify(isRepairing: isRepairing) { defect in
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
      return "checked \(HumanText.count(checked, of: "thumbnail")): \(verdict)"
        + (removed > 0 ? ", removed\n" : "\n")
    }
  }
}
