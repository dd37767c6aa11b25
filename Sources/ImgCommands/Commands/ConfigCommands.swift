import ImgClient
package import ImgModel
package import ImgSettings
import ImgSystem

/// `imgctl config show`: shows the settings of the next start, and where they come from.
package struct ConfigShowCommand: Command {
  /// The names of the settings to show; empty for all.
  package let keys: Set<String>
  /// Whether settings that have their defaults are shown, too.
  package let isComplete: Bool
  package let isJSON: Bool

  package static let starter = Settings.Starter.person

  private static let names = OperandDescription(
    "SETTING", .any,
    help: "The names of settings, such as rate-per-host. Default: those that differ.")
  private static let all = OptionDescription(
    "--all", help: "Also show the settings that have their defaults.")

  package static let description = CommandDescription(
    name: "imgctl config show", summary: "show the settings of the next start and their sources",
    operands: [names], options: [all, .json] + OptionDescription.places,
    notes: [
      "A setting comes from a variable, else from what imgctl start or imgctl config set was told (kept), "
        + "else from its default. A flag of imgctl start overrides all of them. Where the running "
        + "coordinator has another value, that is shown, too. Passwords are hidden."
    ],
    examples: [
      .init("imgctl config show", "What differs from the defaults."),
      .init("imgctl config show rate-per-host", "One setting."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    keys = Set(
      try arguments.texts(of: Self.names).map { (name) throws(UsageError) in
        try rethrowing(try Setting(keptAs: name)) { (error: InvalidValue) in
          UsageError(error.reason)
        }.key
      })
    isComplete = arguments.contains(Self.all)
    isJSON = arguments.contains(.json)
  }

  /// Removes the dashes of the flags of settings, which take no value here.
  package static func prepared(_ arguments: [String]) -> [String] {
    Setting.withoutDashes(arguments)
  }

  package func run(in given: CommandContext) throws -> ExitCode {
    let context = try given.withDataDirectoryOfSocket()
    let record = context.settings.record
    let settings = try context.completedSettings()
    let running = try context.coordinatorIfRunning().map {
      try Settings(runningAs: $0.answer(.status))
    }
    let reports = SettingReport.all(
      of: settings, running: running, coreCount: context.coreCount
    ).filter { report in
      keys.isEmpty
        ? isComplete || !report.isDefault || report.running != nil : keys.contains(report.key)
    }
    if isJSON {
      let objects = reports.map {
        JSONObject([
          "setting": $0.key, "values": $0.texts, "source": $0.source, "running": $0.running,
        ])
      }
      try context.output.write(json: JSONObject(["file": record.path, "settings": objects]))
    } else if reports.isEmpty {
      context.note("all settings have their defaults\n")
    } else {
      try context.output.write(Self.text(of: reports))
    }
    if context.settings.isOfService, !isJSON {
      context.note(
        "the coordinator at \(context.settings.socketPath) is a service: its settings are those of its unit and "
          + "of \(ServiceAdvice.file), not those kept here\n")
    }
    return .success
  }

  private static func text(of reports: [SettingReport]) -> String {
    let hasRunning = reports.contains { $0.running != nil }
    var table = Table(
      [.text("setting").whole, .text("value").wrapped, .text("source").ifItFits]
        + (hasRunning ? [.text("running").wrapped] : []))
    for report in reports {
      let running = report.running.map(text) ?? ""
      table.addRow(
        [report.key, text(of: report.texts), report.source] + (hasRunning ? [running] : []))
    }
    return table.rendered(within: Output.columnCount)
  }

  private static func text(of texts: [String]) -> String {
    texts.isEmpty ? "none" : texts.joined(separator: ", ")
  }
}

/// `imgctl config set`: keeps settings for later starts.
package struct ConfigSetCommand: Command {
  package let isJSON: Bool

  package static let starter = Settings.Starter.person

  package static let description = CommandDescription(
    name: "imgctl config set", summary: "keep settings for later starts of the coordinator",
    options: Setting.keepable.map(\.option) + [.json] + OptionDescription.places,
    notes: [
      "Every later start of a coordinator of this data directory uses the settings, by whatever command, unless "
        + "a flag or a variable says otherwise. What imgctl limits can change also changes in the running "
        + "coordinator at once.",
      "A repeatable setting replaces all its values that were kept. Only the owner can read the file.",
    ],
    examples: [
      .init(
        "imgctl config set --rate-per-host 1/s --contact me@example.org",
        "The dashes may be left out: imgctl config set rate-per-host 1/s.")
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isJSON = arguments.contains(.json)
    guard Setting.keepable.contains(where: { arguments.contains($0.option) }) else {
      throw UsageError("no setting is given, such as imgctl config set --rate-per-host 1/s")
    }
  }

  /// Adds the dashes of flags that have none.
  ///
  /// - Throws: ``UsageError`` for a word that names no setting.
  package static func prepared(_ arguments: [String]) throws(UsageError) -> [String] {
    var isValue = false
    return try arguments.map { (argument) throws(UsageError) in
      guard !isValue else {
        isValue = false
        return argument
      }
      let name = String(argument.prefix { $0 != "=" })
      let flag = OptionGrammar.isOption(name) ? name : try flag(named: name)
      isValue = name == argument && takesValue(flag)
      return flag + argument.dropFirst(name.count)
    }
  }

  private static func flag(named name: String) throws(UsageError) -> String {
    do throws(InvalidValue) {
      return try Setting(keptAs: name).option.flag
    } catch {
      let isGuess = error.reason.contains("did you mean")
      throw UsageError(error.reason + (isGuess ? "" : "; imgctl config show --all lists them"))
    }
  }

  package func run(in given: CommandContext) throws -> ExitCode {
    let context = try given.withDataDirectoryOfSocket()
    for remark in context.settings.remarks { context.note("imgctl: \(remark)\n") }
    let (settings, record) = (context.settings, context.settings.record)
    let asked = KeptSettings(settings, from: [.flag])
    let changed = Setting.keepable.filter { asked.keys.contains($0.key) }
    try context.requireKeptSettings(
      for: Self.description.name, orSet: ServiceAdvice.variables(of: changed, in: settings))
    if let obstacle = changed.lazy.compactMap({ $0.obstacle(in: settings) }).first {
      throw UsageError("\(Self.description.name): \(obstacle)")
    }
    var effect = ConfigEffect()
    try record.change { kept in
      kept.merge(asked)
      _ = try context.completedSettings(with: kept)
    } applying: {
      try effect.apply(settings, asked.keys, in: context)
    }
    for setting in changed where context.isSet(setting.environmentVariable) {
      context.note("imgctl: the variable \(setting.environmentVariable) is set and overrides it\n")
    }
    if !settings.startsCoordinator {
      context.note(
        "imgctl: commands start no coordinator at \(settings.socketPath); start uses what is kept, and a "
          + "service what is in its unit\n")
    }
    let typed = changed.flatMap { $0.typed(in: settings) }.joined(separator: ", ")
    try effect.report("kept: \(typed)", changed, isJSON: isJSON, in: context)
    return .success
  }
}

/// `imgctl config unset`: forgets settings that are kept.
package struct ConfigUnsetCommand: Command {
  /// The names without dashes; empty for all that is kept.
  package let keys: [String]
  package let isJSON: Bool

  package static let starter = Settings.Starter.person

  private static let settings = OperandDescription(
    "SETTING", .any, help: "The name of a setting, such as rate-per-host.")
  private static let all = OptionDescription("--all", help: "Forget everything that is kept.")

  package static let description = CommandDescription(
    name: "imgctl config unset", summary: "forget settings that are kept for later starts",
    operands: [settings], options: [all, .json] + OptionDescription.places,
    notes: ["A variable or the default counts in their place."],
    examples: [
      .init("imgctl config unset rate-per-host contact", "Names may have the dashes of flags."),
      .init("imgctl config unset --all", "Later starts have the defaults."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    keys = Array(arguments.texts(of: Self.settings))
    isJSON = arguments.contains(.json)
    guard keys.isEmpty == arguments.contains(Self.all) else {
      throw UsageError(
        "give either names of settings or --all, such as imgctl config unset rate-per-host")
    }
  }

  /// Removes the dashes of the flags of settings, which take no value here.
  package static func prepared(_ arguments: [String]) -> [String] {
    Setting.withoutDashes(arguments)
  }

  package func run(in given: CommandContext) throws -> ExitCode {
    let context = try given.withDataDirectoryOfSocket()
    var removed: [String] = []
    var effect = ConfigEffect()
    var rest: Settings?
    try context.settings.record.change { kept in
      for key in keys.isEmpty ? kept.keys : keys {
        if kept.remove(key) {
          removed.append(key)
        } else {
          do throws(InvalidValue) {
            _ = try Setting(keptAs: key)
          } catch {
            throw UsageError("imgctl config unset", error)
          }
        }
      }
      // What else is kept may not be usable. The next start says so.
      rest = try? context.completedSettings(with: kept)
    } applying: {
      if !removed.isEmpty { try effect.apply(rest ?? context.settings, removed, in: context) }
    }
    let text =
      removed.isEmpty ? "nothing was kept" : "forgotten: \(removed.joined(separator: ", "))"
    try effect.report(
      text, Setting.keepable.filter { removed.contains($0.key) }, isJSON: isJSON, in: context)
    return .success
  }
}

/// What a change of kept settings means for the running coordinator.
private struct ConfigEffect {
  /// The process of the coordinator; `nil` if none runs.
  private var processID: Int32?
  /// The settings that it has now.
  private var applied: [Setting] = []
  /// Has their values.
  private var running: Settings?
  /// The settings that it does not have before it starts again.
  private var pending: [Setting] = []

  /// Changes what can be changed in the running coordinator.
  ///
  /// - Parameters:
  ///   - settings: those that count from now on.
  ///   - keys: the settings that change.
  mutating func apply(
    _ settings: Settings, _ keys: [String], in context: CommandContext
  ) throws {
    guard let client = try context.coordinatorIfRunning() else { return }
    let changed = Setting.keepable.filter { keys.contains($0.key) }
    applied = changed.filter(\.isChangeable)
    if !applied.isEmpty {
      let flags = applied.map(\.option.flag)
      try client.answer(.limit(LimitChange(settings) { flags.contains($0.option.flag) }))
    }
    let running = try Settings(runningAs: client.answer(.status))
    self.running = running
    let others = changed.filter { !$0.isChangeable && !$0.isStartDefault(in: settings) }
    let flags = Setting.differences(
      between: settings, and: running, coreCount: context.coreCount
    ) { setting in others.contains { $0.key == setting.key } }.map(\.flag)
    pending = others.filter { flags.contains($0.option.flag) }
    processID = client.coordinatorProcessID
  }

  /// Prints what was changed, and when it counts.
  ///
  /// - Parameter changed: the settings that were changed.
  func report(
    _ text: String, _ changed: [Setting], isJSON: Bool, in context: CommandContext
  ) throws {
    func flags(_ settings: [Setting]) -> String {
      settings.map(\.option.flag).joined(separator: ", ")
    }
    var lines = [text]
    if let processID, let running, !applied.isEmpty {
      let typed = applied.flatMap { $0.typed(in: running) }.joined(separator: ", ")
      lines.append("the running coordinator (process \(processID)) has now: \(typed)")
    }
    if !pending.isEmpty {
      lines.append("at the next start (imgctl stop && imgctl start): \(flags(pending))")
    }
    try context.answer(
      JSONObject([
        "changed": changed.map(\.key), "applied": applied.map(\.key),
        "at_next_start": (processID == nil ? changed : pending).map(\.key),
      ]), isJSON: isJSON, orSay: lines.joined(separator: "\n"))
  }
}

extension Command {
  /// Whether an option of the command has a value in the next argument.
  fileprivate static func takesValue(_ flag: String) -> Bool {
    description.options.contains { $0.flag == flag && $0.placeholder != nil }
  }
}

extension Setting {
  /// Arguments in which the names of settings have lost the dashes of their flags.
  fileprivate static func withoutDashes(_ arguments: [String]) -> [String] {
    arguments.map { argument in
      argument.hasPrefix("--") ? (try? Setting(keptAs: argument))?.key ?? argument : argument
    }
  }

  /// Whether it has a default that depends on what starts the coordinator.
  fileprivate func isStartDefault(in settings: Settings) -> Bool {
    dependsOnStart && settings.sources[option.flag] == nil
  }
}

/// `imgctl limits`: shows the limits of the running coordinator, or changes some of them.
package struct LimitsCommand: Command {
  /// `nil` if the command only shows the limits.
  package let change: LimitChange?
  package let isJSON: Bool
  /// The flags of the limits that it changes.
  private let changedFlags: [String]
  /// Those of the change that were below their minimum.
  private let remarks: [String]

  package static let description = CommandDescription(
    name: "imgctl limits", summary: "show the limits of the running coordinator, or change them",
    options: LimitChange.options + [.json] + OptionDescription.places,
    notes: [
      "A change applies at once, until the coordinator ends; imgctl config set keeps it. Limits that are "
        + "not given keep their values. The other limits are set by imgctl config set or imgctl start."
    ],
    examples: [
      .init("imgctl limits", "Prints the same table as imgctl status --limits."),
      .init("imgctl limits --transfers-per-host 2 --rate-per-host 30/m", "Less load on each host."),
      .init(
        "imgctl limits --default-expiry 1d",
        "Applies to thumbnails stored from now on."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isJSON = arguments.contains(.json)
    changedFlags = LimitChange.options.filter { arguments.contains($0) }.map(\.flag)
    let asked = try Settings(changing: arguments)
    change = changedFlags.isEmpty ? nil : LimitChange(asked, givenBy: arguments)
    remarks = asked.remarks
  }

  /// Refuses the settings that only a start can change, and says how they are. Asks for the dashes of the others.
  package static func prepared(_ arguments: [String]) throws(UsageError) -> [String] {
    var isValue = false
    for (index, argument) in arguments.enumerated() {
      let parts = argument.split(separator: "=", maxSplits: 1)
      guard !isValue, let name = parts.first.map(String.init) else {
        isValue = false
        continue
      }
      isValue = parts.count == 1 && takesValue(name)
      guard let setting = try? Setting(keptAs: name),
        !argument.hasPrefix("--") || !setting.isChangeable
      else { continue }
      let value = parts.count > 1 ? String(parts[1]) : arguments.dropFirst(index + 1).first
      let flag = [setting.option.flag, setting.option.placeholder == nil ? nil : value]
        .compactMap(\.self).joined(separator: " ")
      guard !setting.isChangeable else {
        throw UsageError("unexpected argument \(Spelling.quoted(name)); did you mean \(flag)?")
      }
      throw UsageError(
        "\(setting.option.flag) cannot change while the coordinator runs: imgctl config set "
          + "\(flag), then imgctl stop && imgctl start; of a service: "
          + ServiceAdvice.change(
            "\(setting.option.environmentVariable)=\(setting.option.placeholder == nil ? "yes" : value ?? "")"
          ))
    }
    return arguments
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let client = try context.runningCoordinator()
    guard let change else {
      return try LimitTable.show(try client.answer(.status), isJSON: isJSON, in: context)
    }
    for remark in remarks { context.note("imgctl: \(remark)\n") }
    let status = try client.answer(.limit(change))
    guard !isJSON else { return try LimitTable.show(status, isJSON: true, in: context) }
    let settings = try Settings(runningAs: status)
    try context.output.write(
      LimitTable.text(of: settings, within: Output.columnCount, only: changedFlags))
    let changed = Setting.keepable.filter { changedFlags.contains($0.option.flag) }
    let typed = changed.flatMap { $0.typed(in: settings) }.joined(separator: " ")
    let object = changedFlags.count == 1 ? "it" : "them"
    let command =
      context.settings.isOfService
      ? "set \(ServiceAdvice.variables(of: changed, in: settings)) in \(ServiceAdvice.file)"
      : "imgctl config set \(typed)"
    context.note("until the coordinator ends; to keep \(object): \(command)\n")
    return .success
  }
}

/// The settings of a coordinator, as `imgctl status --limits` and `imgctl limits` print them.
package enum LimitTable {
  static func show(
    _ cluster: ClusterStatus, isJSON: Bool, in context: CommandContext
  ) throws -> ExitCode {
    if isJSON {
      try context.output.write(
        json: JSONObject(
          [
            "socket": cluster.socketPath, "data_directory": cluster.dataDirectory,
            "cache_directory": cluster.cacheDirectory, "store_name": cluster.storeName,
          ],
          beside: cluster.limits, cluster.settings))
    } else {
      try context.output.write(text(of: Settings(runningAs: cluster), within: Output.columnCount))
    }
    return .success
  }

  /// - Parameters:
  ///   - width: of the terminal.
  ///   - flags: those of the settings to show, without their defaults; `nil` for all settings.
  package static func text(
    of settings: Settings, within width: Int?, only flags: [String]? = nil
  ) -> String {
    let columns: [Table.Column] = [
      .text("limit").whole.ifNothingIsCut, .text("flag").whole, .text("value").wrapped,
      .text("default").ifNothingIsCut,
    ]
    var table = Table(flags == nil ? columns : columns.dropLast())
    for row in Setting.rows(of: settings) where flags?.contains(row.flag) ?? true {
      let cells = [row.name, row.flag, row.value, row.defaultText]
      table.addRow(flags == nil ? cells : cells.dropLast())
    }
    return table.rendered(within: width)
  }
}
