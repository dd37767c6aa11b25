package import ImgSettings
import ImgStore

/// `imgctl cache verify`: checks everything in the store.
package struct CacheVerifyCommand: Command {
  package let isRepairing: Bool

  private static let repair = OptionDescription(
    "--repair", help: "Remove what is wrong. It is fetched anew when it is asked for.")

  package static let description = CommandDescription(
    name: "imgctl cache verify", summary: "read everything in the store and say what is damaged",
    options: [repair] + OptionDescription.places,
    examples: [
      .init("imgctl cache verify", "One line for each thing that is wrong, and exit code 1."),
      .init("imgctl cache verify --repair", "The same, and what is wrong is gone."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isRepairing = arguments.contains(Self.repair)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    guard let store = try store(in: context) else {
      context.note("there is no store in \(context.settings.dataDirectory) yet\n")
      return .success
    }
    var defectCount = 0
    let recordCount = try store.verify(isRepairing: isRepairing) { defect in
      defectCount += 1
      try context.output.write("\(defect)\n")
      // What comes next may end this process, see ``StoreCrash``.
      try context.output.flush()
    }
    let verdict =
      defectCount == 0 ? "nothing wrong" : "\(HumanText.count(defectCount, of: "thing")) wrong"
    context.note(
      "checked \(HumanText.count(recordCount, of: "thumbnail")): \(verdict)"
        + (isRepairing && defectCount > 0 ? ", and removed\n" : "\n"))
    return defectCount == 0 ? .success : .someFailed
  }

  private func store(in context: CommandContext) throws(StoreError) -> SharedStore? {
    if isRepairing { return try context.storeWriter() }
    do throws(StoreError) {
      return try SharedStore(directory: context.settings.storeDirectory, access: .readOnly)
    } catch  where error.reason == .absent {
      return nil
    }
  }
}
