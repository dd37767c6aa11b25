import ImgClient
import ImgModel
package import ImgSettings

/// `imgctl start`: starts the coordinator with the settings of the command line.
package struct StartCommand: Command {
  /// Whether the command becomes the coordinator, instead of starting one in the background.
  package let isInForeground: Bool
  /// Whether what earlier starts were told is forgotten.
  package let isFresh: Bool
  package let isJSON: Bool

  private static let defaults = OptionDescription(
    "--defaults", help: "Forget what is kept of earlier starts.")
  private static let foreground = OptionDescription(
    "--foreground", help: "Run in this process until stopped, as service managers need.")

  package static let starter = Settings.Starter.person

  package static let description = CommandDescription(
    name: "imgctl start", summary: "start the coordinator with these settings",
    options: [foreground, defaults, .json] + Setting.options,
    notes: [
      Setting.note,
      "The settings that are given are kept in the data directory, beside those of earlier starts. Each "
        + "later start of a coordinator uses them, by whatever command, unless a flag or a variable "
        + "says otherwise. imgctl config shows and changes them.",
      "A coordinator that runs already keeps its settings. If they differ from the given ones, the "
        + "command lists the differences and ends with exit code 2.",
      "Other commands start a coordinator when none answers; that one ends when it is idle.",
    ],
    examples: [
      .init(
        "imgctl start --workers 4 --allow-network 10.0.0.0/8",
        "Four workers, which may also fetch from this network."),
      .init(
        "imgctl start --defaults --transfers 16",
        "Sixteen transfers; everything else has its default, also later."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isInForeground = arguments.contains(Self.foreground)
    isFresh = arguments.contains(Self.defaults)
    isJSON = arguments.contains(.json)
    guard !(isInForeground && isJSON) else {
      throw UsageError("--foreground and --json: a coordinator in the foreground prints its log")
    }
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    for remark in context.settings.remarks { context.note("imgctl: \(remark)\n") }
    if isInForeground { try context.becomeCoordinator(isFresh: isFresh) }
    let hint = context.hintOfLastCache + context.hintOfCopy
    let (client, started) = try context.startCoordinator(isFresh: isFresh)
    let isReady = try hasReadyWorker(client, wasStarted: started != nil, in: context)
    let status = try client.answer(.status)
    let differences =
      started != nil ? [] : try context.differences(from: status, isFresh: isFresh)
    let report = StartReport(
      processID: client.coordinatorProcessID, started: started, isReady: isReady,
      logPath: context.settings.logPath, differences: differences,
      isOfService: context.settings.isOfService)
    if isJSON {
      try context.output.write(json: report)
    } else if let error = report.error {
      context.report(error: error)
    } else {
      context.note(report.text + (started == nil ? "" : hint) + "\n")
      // Before a worker has opened the store, it may be damaged.
      if started != nil, isReady, let note = pinNote(status, in: context) { context.note(note) }
    }
    guard differences.isEmpty else { return .wrongUse }
    // Another user could name any directory.
    guard client.isOfOwnUser else { return .success }
    let record = SettingsRecord(dataDirectory: status.dataDirectory)
    return isKept(in: record, context) ? .success : .wrongUse
  }

  /// That pins leave no room in the store of a coordinator that was started; `nil` if they do.
  private func pinNote(_ status: ClusterStatus, in context: CommandContext) -> String? {
    guard let pinned = context.store.pinnedByteCount else { return nil }
    let budget = status.limits.storeBudgetByteCount
    let report = StoreReport(
      directory: context.settings.storeDirectory, budgetByteCount: budget, diskByteCount: nil,
      pinnedByteCount: pinned, pinningJobs: [])
    guard !report.hasRoomForPins else { return nil }
    return
      "pins take \(HumanText.size(pinned)) of a store of \(HumanText.size(budget)): jobs that pin wait "
      + "(imgctl export, imgctl unpin, or --store-budget)\n"
  }

  /// - Returns: whether the settings are kept.
  private func isKept(in record: SettingsRecord, _ context: CommandContext) -> Bool {
    do {
      try context.keep(isFresh: isFresh, in: record)
      return true
    } catch {
      context.report(error: "the coordinator runs, but its settings are not kept: \(error)")
      return false
    }
  }

  /// - Throws: ``ClientError/notStarted(reason:)`` where no worker can be started.
  private func hasReadyWorker(
    _ client: Client, wasStarted: Bool, in context: CommandContext
  ) throws -> Bool {
    switch try WorkerStart.outcome(client: client) {
    case .ready: return true
    case .starting: return false
    case .failed(let reason):
      // It would only retry for a while and then exit by itself.
      if wasStarted { _ = try? client.stop() }
      throw ClientError.notStarted(
        reason: "no worker can be started: \(reason); its log is \(context.settings.logPath)")
    }
  }
}

extension CommandContext {
  /// Says that the data directory is a copy, and that a start makes it a cluster of its own.
  fileprivate var hintOfCopy: String {
    LastCache.originalOfCopy(settings).map {
      "; this was a copy of \($0): its coordinator fetches what the other one fetches too"
    } ?? ""
  }

  /// Where the last coordinator of the data directory had its store, if it was elsewhere.
  var hintOfLastCache: String {
    LastCache.otherDirectory(than: settings).map {
      "; the store of the last coordinator is in \($0); to use it: --cache-dir \($0.shellWord)"
    } ?? ""
  }
}

/// `imgctl stop`: ends the coordinator.
package struct StopCommand: Command {
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl stop", summary: "finish running work and stop the coordinator",
    options: [.json] + OptionDescription.places,
    notes: [
      "If the coordinator does not answer, for example because its socket was removed, the command "
        + "finds it by its lock on the data directory and sends SIGTERM."
    ],
    examples: [
      .init(
        "imgctl stop",
        "Waiting URLs continue at the next start, and the count of attempts begins again from one.")
    ])

  /// How long a coordinator may take to end when it has no connection any more.
  private static let patience = Duration.seconds(10)

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let (wasRunning, isOfTheseSettings, gateways) = try stop(in: context)
    let waitingCount = isOfTheseSettings ? waitingCount(in: context) : nil
    if isJSON {
      try context.output.write(
        json: JSONObject(["stopped": wasRunning, "queued": waitingCount]))
    } else if wasRunning {
      context.note("the coordinator has stopped")
      if let count = waitingCount, count > 0 {
        let verb = count == 1 ? "waits" : "wait"
        context.note("; \(HumanText.count(count, of: "URL")) \(verb) for the next start")
      }
      context.note("\n")
      for gateway in gateways {
        context.note(
          "the gateway (process \(gateway)) goes on, and starts a coordinator when it needs one; if it may not, its "
            + "log says so\n")
      }
    } else {
      context.note("\(context.absence)\n")
    }
    return .success
  }

  /// - Returns: whether a coordinator ran, whether its jobs are in the journal of these settings, and the processes
  ///   of connected gateways.
  private func stop(
    in context: CommandContext
  ) throws -> (Bool, isOfTheseSettings: Bool, gateways: [Int32]) {
    do {
      let client = try context.runningCoordinator(patience: .zero)
      let dataDirectory = try client.answer(.status).dataDirectory
      let gateways = try client.stop()
      // It owns the data directory for a moment after its connections have ended.
      if let process = try context.coordinatorProcess(),
        process.processID == client.coordinatorProcessID
      {
        _ = try process.hasEnded(within: Self.patience)
      }
      return (
        true, DirectorySpelling.areSame(dataDirectory, context.settings.dataDirectory), gateways
      )
    } catch let error as ClientError where error.meansNoneRuns {
      return (false, false, [])
    } catch let error as ClientError where error.meansNoListener {
      guard try stopOwner(in: context) else { throw error }
      return (true, true, [])
    }
  }

  /// The URLs in the journal that continue at the next start; `nil` if this user cannot read the
  /// journal.
  private func waitingCount(in context: CommandContext) -> Int? {
    var count = 0
    do {
      try context.journalJobs().forEachJob { count += $0.state == .paused ? 0 : $0.queued }
    } catch {
      return nil
    }
    return count
  }

  /// - Returns: whether a process owned the data directory.
  private func stopOwner(in context: CommandContext) throws -> Bool {
    guard let owner = try context.coordinatorProcess() else {
      return false
    }
    context.note(
      "no coordinator answers at \(context.settings.socketPath); stopping process "
        + "\(owner.processID), which owns \(context.settings.dataDirectory)\n")
    try owner.stop()
    return true
  }
}

extension ClientError {
  /// Whether the socket reaches no coordinator although one may own the data directory.
  fileprivate var meansNoListener: Bool {
    switch self {
    case .notListening, .untrusted: true
    default: false
    }
  }
}

/// `imgctl serve`: becomes the gateway.
package struct ServeCommand: Command {
  /// Those of `imggateway`.
  package let arguments: [String]

  package static let description = CommandDescription(
    name: "imgctl serve", summary: "serve thumbnails and a gallery over HTTP",
    options: GatewayOptions.all + GatewayOptions.places + [GatewayInvocation.json],
    notes: GatewayInvocation.description.notes,
    examples: [
      .init("imgctl serve", "Serves the gallery at http://127.0.0.1:8080/ until Ctrl-C."),
      .init(
        "imgctl serve --listen 0.0.0.0:8080 --key-file keys --allow-origin 'https://*.example.org/'",
        "Serves signed requests of other machines, for pictures of one origin."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    // Variables are read by the gateway itself.
    _ = try GatewaySettings(arguments, environment: [:])
    self.arguments = arguments.arguments(of: Self.description.options)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    try context.becomeGateway(arguments)
  }
}

/// `imgctl sign`: prints signed targets for a gateway with `--key-file`.
package struct SignCommand: Command {
  /// Paths and URLs, as targets that are not signed yet.
  package let targets: [String]
  /// What targets begin with in the output; empty for paths alone.
  package let gateway: String
  package let isJSON: Bool
  private let arguments: ArgumentReader

  private static let target = OperandDescription(
    "PATH|URL", .many,
    help:
      "What the gateway is asked for: a path without its signature, such as /rs:fit:300:200/plain/https://example.org/a.jpg "
      + "or '/image?url=https://example.org/a.jpg&w=300'; or the URL of a picture, whose path has the options."
  )
  private static let gateway = OptionDescription(
    "--gateway", "URL",
    help:
      "Print whole URLs, which begin with this address of the gateway, such as https://img.example.org. Default: "
      + "paths.")

  package static let description = CommandDescription(
    name: "imgctl sign", summary: "sign requests for a gateway with --key-file",
    operands: [target],
    options: GatewayOptions.signing + [gateway] + VariantOptions.optionsOfPath + [.json]
      + OptionDescription.places,
    notes: [
      "Prints one line for each operand. A signature in a path, or unsafe in its place, is replaced.",
      "Options of thumbnails are for URLs of pictures. A path has its own.",
    ],
    examples: [
      .init(
        "imgctl sign --key-file keys /rs:fit:300:200/plain/https://example.org/a.jpg",
        "The same path with its signature."),
      .init(
        "imgctl sign --key-file keys https://example.org/a.jpg --size 300x200 --crop --format webp "
          + "--gateway https://img.example.org", "The whole URL of a thumbnail."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    let texts = arguments.texts(of: Self.target)
    if let option = VariantOptions.optionsOfPath.first(where: arguments.contains),
      let path = texts.first(where: { $0.hasPrefix("/") })
    {
      throw UsageError(
        "\(option.flag) is for the URL of a picture; \(Spelling.quotedWhole(path)) has its own options"
      )
    }
    targets = try texts.map { (text) throws(UsageError) in
      guard !text.hasPrefix("/") else { return text }
      return try VariantOptions.gatewayPath(of: Self.url(text), in: arguments)
    }
    let gateway = try arguments.value(of: Self.gateway, Self.address(parsing:)) ?? ""
    self.gateway = gateway
    isJSON = arguments.contains(.json)
    self.arguments = arguments
  }

  private static func url(_ text: String) throws(UsageError) -> ImageURL {
    do throws(Failure) {
      let url = try ImageURL(line: text)
      guard try FileURL.path(of: url.text) == nil else {
        throw Failure(
          stage: .queue, code: .unsupportedScheme, detail: "the gateway serves no files")
      }
      return url
    } catch {
      throw UsageError(
        "\(HumanText.source(text)): \(error.detail); a path begins with a slash")
    }
  }

  private static func address(parsing text: String) throws(InvalidValue) -> String {
    guard ListPlace.isURL(text), !text.contains(where: { "?#".contains($0) }) else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is no address of a gateway; write it as https://img.example.org")
    }
    return text.hasSuffix("/") ? String(text.dropLast()) : text
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let signatures = try rethrowing(try context.signatures(of: arguments)) {
      (error: UsageError) in UsageError("\(Self.description.name): \(error)")
    }
    for text in targets {
      let target: SignedTarget
      do {
        target = try SignedTarget(text, by: signatures)
      } catch {
        throw UsageError("\(Self.description.name): \(Spelling.quotedWhole(text))", error)
      }
      if isJSON {
        try context.output.write(
          json: JSONObject(["signature": target.signature, "url": gateway + target.text]))
      } else {
        try context.output.write("\(gateway)\(target.text)\n")
      }
    }
    return .success
  }
}

/// The result of `imgctl start`, with the settings that differ from the requested ones.
struct StartReport: Encodable {
  let processID: Int32
  /// Its settings, if it was started.
  let started: Settings?
  /// Whether a worker is ready.
  let isReady: Bool
  let logPath: String
  let differences: [Setting.Difference]
  /// Whether it is that of a service.
  let isOfService: Bool

  func encode(to encoder: any Encoder) throws {
    let others = differences.map {
      JSONObject(["setting": $0.flag, "asked": $0.asked, "running": $0.running])
    }
    try JSONObject([
      "pid": processID, "started": started != nil, "ready": isReady,
      "log": started == nil ? nil : logPath,
      "differences": others.isEmpty ? nil : others,
    ]).encode(to: encoder)
  }

  /// The text for people.
  var text: String {
    guard let started else {
      return "a coordinator already runs (process \(processID)) and keeps its settings"
    }
    let workers =
      isReady ? "" : "; its workers are still starting, see imgctl status"
    let kept = started.changes(from: .kept)
    let earlier =
      kept.isEmpty ? "" : " with the settings of earlier starts: \(kept.joined(separator: ", "))"
    return "started a coordinator (process \(processID))\(earlier)\(workers); its log is \(logPath)"
  }

  /// A table of the differences with a remedy; `nil` if nothing differs.
  var error: String? {
    guard !differences.isEmpty else { return nil }
    var table = Table([
      .text("setting").whole.ifNothingIsCut, .text("flag").whole, .text("requested").wrapped,
      .text("running").wrapped,
    ])
    for difference in differences {
      table.addRow([difference.name, difference.flag, difference.asked, difference.running])
    }
    return
      "a coordinator already runs (process \(processID)) with other settings and keeps them; "
      + "nothing was changed:\n"
      + table.rendered(within: Output.messageColumnCount) + remedy
  }

  private var remedy: String {
    guard !differences.allSatisfy(\.isChangeable) else {
      return "to change them now: imgctl limits, with the same flags"
    }
    guard isOfService else {
      return
        "to change them: imgctl stop && imgctl start, with the same flags; end gateways before, because "
        + "they start a coordinator again"
    }
    let settings = differences.compactMap { try? Setting(keptAs: $0.flag) }
    let variables = settings.map(\.environmentVariable).joined(separator: ", ")
    return "to change them: \(ServiceAdvice.change(variables))"
  }
}
