import Glibc
import ImgClient
package import ImgModel
package import ImgSettings
import ImgSystem

/// `imgctl submit`: submits lists of URLs, and local pictures, as one job.
package struct SubmitCommand: Command {
  /// In the order of their lines; `-` for standard input.
  package let listPaths: [String]
  /// Whether directories in directories are read.
  package let isRecursive: Bool
  /// If none is named, no list is at a server.
  package let format: ListFormat
  package let selection: LineSelection
  package let options: RequestOptions
  package let order: LineOrder
  package let pinPolicy: PinPolicy
  /// An option of thumbnails, if the job makes none.
  private let unusedOption: String?
  /// The name that lists show.
  package let name: String?
  /// Whether it tells of the lists, and submits nothing.
  package let isDryRun: Bool
  package let isWaiting: Bool
  package let isVerbose: Bool
  package let isJSON: Bool

  private static let list = OperandDescription(
    "FILE|DIR|-", .many,
    help:
      "The lists: one URL a line, or a table or JSON with a column of URLs; - reads standard input. With --input-format a list may be a URL. Several "
      + "lists are one job, in their order. Empty lines and lines that begin with # are ignored. A URL without a scheme, such as "
      + "example.org/a.jpg, is https. A line that begins with /, ./ or ../ is the path of a picture, as it is, relative to the "
      + "directory of the list. A picture by its extension, or a directory of pictures, may be in place of a list."
  )
  private static let name = OptionDescription(
    "--name", "TEXT", help: "The name of the job in lists.")
  private static let pin = OptionDescription(
    "--pin",
    help:
      "Keep what the job stores, thumbnails and originals, until it is exported, or imgctl unpin JOB. Default: "
      + "until the job ends. It expires nevertheless, see --expire-after. While pins use up the store, jobs "
      + "wait for room.")
  private static let noPin = OptionDescription(
    "--no-pin",
    help:
      "Do not wait for room in the store: what the job stores later may replace what it stored before."
  )
  private static let infoOnly = OptionDescription(
    "--info-only",
    help: "Store the facts of each picture, as imgctl info prints them, in place of a thumbnail. A "
      + "few KiB of each picture are fetched. No option of thumbnails goes with it.")
  private static let dryRun = OptionDescription(
    "--dry-run",
    help:
      "Submit nothing: read the lists to their end, and tell how many URLs, hosts and duplicates they have, and how many "
      + "the store has.")
  private static let priority = OptionDescription(
    "--priority", "P", help: "\(RequestOptions.priorityHelp) Default: 0.")
  private static let order = OptionDescription(
    "--order", "ORDER",
    help: "fifo: the first line first; lifo: the last line first. Transfers start in this order, "
      + "but a line whose host must wait does not delay later lines. Default: fifo.")

  package static let description = CommandDescription(
    name: "imgctl submit",
    summary: "fetch a list of URLs and store their thumbnails",
    operands: [list],
    options: StorageOptions.jobOptions + FetchArguments.listOptions
      + [
        FileList.recursive, ListFormat.option, ListFormat.urlColumn, ListFormat.columns,
        ListFormat.pages,
      ] + LineSelection.options
      + [
        dryRun, infoOnly,
        RequestOptions.timeoutOption, priority, order, pin, noPin, name, .wait, .verbose, .json,
      ]
      + RequestOptions.jobLimitOptions + OptionDescription.startingPlaces,
    notes: [
      "Prints the number of the job, which other commands take as JOB.",
      "The command reads local pictures with the rights of its user, as decoders take them, and returns when all are "
        + "read. If it ends before, the others wait until imgctl wait JOB reads them. A file that has not changed since "
        + "its thumbnail was stored is not read again. No copy of its original is stored: --keep auto and all store the "
        + "thumbnail.",
    ],
    examples: [
      .init("imgctl submit urls.txt", "Thumbnails that fit into 256x256."),
      .init(
        "imgctl submit - --size 640x480 --crop --wait < urls.txt",
        "Thumbnails of exactly 640x480, cropped; returns when the job has ended."),
      .init("imgctl submit monday.txt tuesday.txt", "Two lists as one job."),
      .init(
        "imgctl submit items.csv --url-column photo", "The URLs in a column of a table."),
      .init(
        "imgctl submit items.csv --unique --sample 1000 --wait",
        "A trial: a thousand URLs of the table by chance."),
      .init(
        "imgctl submit photos --recursive --wait", "All pictures of a directory and those in it."),
      .init(
        "imgctl submit --input-format picsum https://picsum.photos --pages 3",
        "The first 90 pictures of Lorem Picsum."),
      .init(
        "imgctl submit urls.txt --decode lazy",
        "Originals only; imgctl get makes thumbnails of them when they are wanted."),
      .init("imgctl submit urls.txt --info-only", "Facts only; imgctl export writes them."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    listPaths = Array(arguments.texts(of: Self.list))
    isRecursive = arguments.contains(FileList.recursive)
    format = try ListFormat(in: arguments)
    selection = try LineSelection(in: arguments)
    isDryRun = arguments.contains(Self.dryRun)
    if listPaths.contains(where: ListPlace.isURL),
      let option = FetchArguments.headerForEveryHost(in: arguments)
    {
      throw UsageError(
        "\(option.flag): every host that the list names would get the header; save the list, and submit the file"
      )
    }
    let isInfoOnly = arguments.contains(Self.infoOnly)
    if isInfoOnly {
      try StorageOptions.refuseThumbnailOptions(in: arguments, with: Self.infoOnly)
    }
    options = try StorageOptions.request(
      in: arguments,
      priority: try arguments.value(of: Self.priority, RequestOptions.priority(parsing:)) ?? 0,
      facts: isInfoOnly ? .facts : nil,
      fetch: try FetchArguments.fetchOptions(in: arguments, for: nil, respectsOptOut: true))
    unusedOption =
      options.keep == .original
      ? VariantOptions.given(in: arguments).flatMap { $0 == VariantOptions.lenient ? nil : $0.flag }
      : nil
    order = try arguments.value(of: Self.order, LineOrder.init(parsing:)) ?? .firstInFirstOut
    let (isPinned, isUnpinned) = (arguments.contains(Self.pin), arguments.contains(Self.noPin))
    guard !isPinned || !isUnpinned else {
      throw UsageError("--pin and --no-pin exclude each other")
    }
    pinPolicy = isPinned ? .untilExported : isUnpinned ? .none : .whileActive
    name = arguments.texts(of: Self.name)?.last
    isWaiting = arguments.contains(.wait)
    isVerbose = arguments.contains(.verbose)
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    try StorageOptions.check(options.expiry, at: context.now, of: Self.description)
    let notice = try SubmissionNotice(noteAtSignal("interrupted: no job was made", in: context))
    context.noteTypedInput(listPaths.first { $0 == "-" })
    let isFetched = format.isNamed && listPaths.contains(where: ListPlace.isURL)
    var list = try ListSubmission(
      paths: listPaths, of: Self.description, as: format, taking: selection,
      files: ListSubmission.FileOptions(isRecursive: isRecursive, keep: options.keep),
      fetchingBy: isFetched ? try context.listFetch() : nil)
    if !isJSON { context.note(list.takeFormats()) }
    if isDryRun { return try ListTally(of: list, for: options, in: context).report(isJSON: isJSON) }
    guard !list.isEmpty else { return try reportNothing(of: list, in: context) }
    if let unusedOption {
      context.note(
        "\(unusedOption) has no effect: --keep original stores no thumbnails; --keep all stores both\n"
      )
    }
    let client = try context.fetchingCoordinator()
    let sent = noteAtSignal(
      "interrupted when the whole list was sent: imgctl list shows the job if it was accepted",
      in: context)
    let submitted = try list.submit(
      to: client, name: name, options: options, order: order, pinPolicy: pinPolicy
    ) {
      try notice.change(to: sent)
    }
    try notice.change(to: noteAtSignal(JobFollower.courseText(of: submitted.job), in: context))
    if !isJSON {
      context.note(list.notes)
    }
    guard isWaiting else {
      try isJSON
        ? context.output.write(json: JSONObject(["job": submitted.job, "total": submitted.total]))
        : context.output.write("\(submitted.job)\n")
      try context.output.flush()
      if list.namesFiles { notice.stop() }
      let code =
        list.namesFiles
        ? try FileReading(in: context, isJSON: isJSON).run(submitted.job, over: client) : .success
      if !isJSON, code == .success { noteNextSteps(of: submitted.job, in: context) }
      return code
    }
    if !isJSON {
      try context.output.write("\(submitted.job)\n")
      try context.output.flush()
    }
    notice.stop()
    return try JobFollower(in: context, isJSON: isJSON, isVerbose: isVerbose).follow(
      submitted.job, continuing: client, readsFiles: true)
  }

  /// - Returns: `nil` if the command prints no notes.
  private func noteAtSignal(_ text: String, in context: CommandContext) -> String? {
    isJSON ? nil : context.completedNote(text + "\n")
  }

  /// The selection leaves no URL, which is no error: one of several shares may have none.
  private func reportNothing(
    of list: borrowing ListSubmission, in context: CommandContext
  ) throws -> ExitCode {
    if isJSON {
      try context.output.write(json: JSONObject(["total": 0]))
    } else {
      context.note("no job: \(list.selectionText ?? "")\n")
    }
    return .success
  }

  /// The job is accepted, whether or not the coordinator goes on.
  private func noteNextSteps(of job: JobID, in context: CommandContext) {
    if let status = try? context.runningCoordinator().answer(.job(job)),
      let shortage = ShortageText(status)
    {
      context.note(shortage.warning)
    }
    let export = options.keep == .none ? "" : "; to write its files: imgctl export \(job) DIR"
    context.note("to follow it: imgctl wait \(job)\(export)\n")
  }
}

/// What a job of lists would have, for `imgctl submit --dry-run`.
private struct ListTally: Encodable {
  private var lineCount = 0
  private var invalidCount = 0
  private var localCount = 0
  private var duplicateCount = 0
  private var storedCount = 0
  /// How much is to be fetched from each host.
  private var hosts: [String: Int] = [:]
  private var notes = ""
  private let context: CommandContext

  /// The hosts that are told, of those with the most URLs.
  private static let shownHostCount = 5

  /// Reads the lists to their end.
  init(
    of list: consuming ListSubmission, for options: RequestOptions, in context: CommandContext
  ) throws {
    self.context = context
    let results = LineResults(of: options.request, in: context.store)
    var known: Set<LineHash> = []
    while let lines = try list.next() {
      for text in lines.texts { try add(text, results, &known) }
    }
    notes = list.notes
  }

  private mutating func add(
    _ text: String, _ results: LineResults, _ known: inout Set<LineHash>
  ) throws {
    lineCount += 1
    guard let url = try? ImageURL(listed: text) else { return invalidCount += 1 }
    guard known.insert(LineHash(url.text)).inserted else { return duplicateCount += 1 }
    // Whether a file has changed since shows when it is read.
    guard !url.isReadByCommand else { return localCount += 1 }
    let isStored = try results.isStored(LineResult(index: lineCount - 1, ListLine(text), nil))
    if isStored { storedCount += 1 }
    if !url.isLocal { hosts[url.host, default: 0] += isStored ? 0 : 1 }
  }

  private var fetchCount: Int {
    lineCount - invalidCount - localCount - duplicateCount - storedCount
  }

  func encode(to encoder: any Encoder) throws {
    try JSONObject([
      "duplicates": duplicateCount, "hosts": hosts.count, "invalid": invalidCount,
      "local": localCount, "stored": storedCount, "to_fetch": fetchCount, "total": lineCount,
    ]).encode(to: encoder)
  }

  func report(isJSON: Bool) throws -> ExitCode {
    if isJSON {
      try context.output.write(json: self)
    } else {
      context.note(notes)
      try context.output.write(text)
    }
    return .success
  }

  private var text: String {
    var parts = ["\(HumanText.count(lineCount, of: "line")) for a job, which was not submitted"]
    func add(_ count: Int, _ text: String) { if count > 0 { parts.append("\(count) \(text)") } }
    add(invalidCount, "of them no URL, which would fail")
    add(duplicateCount, "with the URL of an earlier one, which is fetched once")
    add(localCount, "local pictures")
    add(storedCount, "stored already")
    let asked = hosts.filter { $0.value > 0 }
    parts.append(
      "\(fetchCount) to fetch"
        + (asked.isEmpty ? "" : " from \(HumanText.count(asked.count, of: "host"))"))
    let most = asked.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(Self.shownHostCount)
    let names = most.map { "  \($0.value) of \(HumanText.printable($0.key))" }
    let more = asked.count - most.count
    return (parts + names + (more > 0 ? ["  and \(HumanText.count(more, of: "other host"))"] : []))
      .map { $0 + "\n" }.joined()
  }
}
