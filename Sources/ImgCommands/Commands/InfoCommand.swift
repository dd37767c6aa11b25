import Glibc
import ImgClient
import ImgFacts
package import ImgModel
package import ImgSettings
import ImgSystem

/// `imgctl info`: tells facts of pictures without fetching them whole.
package struct InfoCommand: Command {
  /// What the command reads.
  package enum Subject: Hashable, Sendable {
    /// A URL, a file, or `-` for standard input.
    case picture(String)
    /// The path of a list of URLs; `-` for standard input.
    case list(String)
  }

  package let subject: Subject
  package let options: RequestOptions
  package let isJSON: Bool
  /// Of the list, if there is one.
  private let format: ListFormat
  private let showsPlace: Bool

  private static let source = OperandDescription(
    "URL|FILE|-", .optional,
    help: "The picture: an http, https or data URL, a file, or - for standard input. imgctl reads "
      + "files itself.")
  private static let list = OptionDescription(
    "--list", "FILE|-",
    help:
      "Read a list of URLs, as imgctl submit does, in place of one picture; - reads standard input. A line that begins with /, ./ or "
      + "../ is the path of a picture, as it is, relative to the directory of the list. Prints one JSON object a "
      + "line as the results come, in any order.")
  private static let place = OptionDescription(
    "--gps", help: "Tell where the picture was taken, and print the whole XMP packet.")
  static let full = OptionDescription(
    "--full",
    help:
      "Also read what only a walk through the whole file finds: the number of frames, their delays, "
      + "metadata behind the pixels, and whether all pixels are there. A decoder process is asked where "
      + "that shows only to it. The frames of a local GIF, WebP or PNG are counted without it."
  )
  static let pixels = OptionDescription(
    "--pixels",
    help:
      "Also fetch the whole picture and decode it, for its ThumbHash, its BlurHash and its colours. "
      + "Includes --full. A decoder process does it, also for a file."
  )

  package static let storeCrashHandling = StoreCrashHandling.restart

  package static let description = CommandDescription(
    name: "imgctl info", summary: "tell the type, size and metadata of pictures",
    operands: [source],
    options: [list, ListFormat.urlColumn, full, pixels, place] + FetchArguments.options
      + [RequestOptions.timeoutOption, .json]
      + OptionDescription.startingPlaces,
    notes: [
      "A URL is fetched by ranges of 4 KiB and more until the facts are known. They are stored like "
        + "a thumbnail, for --default-expiry.",
      "status: complete, truncated (the file ends before its metadata, its pixels or its last frame), "
        + "damaged, or limited (the rest would take too many bytes). Pixels count with --full and "
        + "--pixels.",
      "An animation is truncated when frames are missing; get makes a thumbnail of its first frame as "
        + "long as that one is whole.",
      "declared_type: what the origin or the file name claims, if the bytes say otherwise.",
    ],
    examples: [
      .init("imgctl info https://example.org/a.jpg", "Type, size, colours, camera."),
      .init("imgctl info holiday.heic --gps --json", "All facts of a file, with its place."),
      .init("imgctl info --list urls.txt", "One line for each URL."),
    ],
    surplusAdvice: "info tells of one picture; imgctl info --list - reads several, one a line")

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    let picture = arguments.texts(of: Self.source).first
    let list = arguments.texts(of: Self.list)?.last
    switch (picture, list) {
    case (let picture?, nil): subject = .picture(picture)
    case (nil, let list?): subject = .list(list)
    case (nil, nil): throw UsageError("name a picture, or a list with \(Self.list.flag)")
    case (_?, _?): throw UsageError("give a picture or \(Self.list.flag), not both")
    }
    options = RequestOptions(
      variant: .standard, timeout: try RequestOptions.timeout(in: arguments),
      keep: Self.keep(in: arguments),
      fetch: try FetchArguments.fetchOptions(
        in: arguments, for: picture.map { [$0] }, respectsOptOut: list != nil))
    guard list == nil || options.fetch.cacheKey == nil else {
      throw UsageError("--cache-key: the lines of a list cannot share a name")
    }
    format = ListFormat(.recognized, urlColumn: arguments.texts(of: ListFormat.urlColumn)?.last)
    guard list != nil || format.urlColumn == nil else {
      throw UsageError("\(ListFormat.urlColumn.flag) needs \(Self.list.flag)")
    }
    showsPlace = arguments.contains(Self.place)
    isJSON = arguments.contains(.json)
  }

  private static func keep(in arguments: ArgumentReader) -> Keep {
    if arguments.contains(pixels) { return .pixelFacts }
    return arguments.contains(full) ? .allFacts : .facts
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    switch subject {
    case .list(let path):
      context.noteTypedInput(path)
      let list = FactsList(
        path: path, format: format, options: options, showsPlace: showsPlace, context: context)
      return try list.run()
    case .picture(let source):
      do {
        try write(try report(of: source, in: context), to: context)
        return .success
      } catch let failure as Failure {
        if isJSON {
          try context.output.write(json: JSONObject.picture(RequestedURL(source), failure))
          return .someFailed
        }
        let advice = CertificateAdvice.text(on: failure).map { "; \($0)" } ?? ""
        let text = context.text(of: failure)
        context.report(error: "\(HumanText.source(source)): \(text)\(advice)")
        return .someFailed
      }
    }
  }

  private func write(_ report: FactsReport, to context: CommandContext) throws {
    if isJSON {
      try context.output.write(json: report)
    } else {
      try context.output.write(FactsText(report).text)
    }
  }

  private func report(of source: String, in context: CommandContext) throws -> FactsReport {
    switch try PictureSource(source) {
    case .file(let path):
      guard options.fetch == .standard else {
        throw UsageError(
          "\(Self.description.name): --cache-policy and request options are for URLs, not for files"
        )
      }
      return FactsReport(
        try record(ofFile: path, in: context), of: RequestedURL(verbatim: source), named: path,
        showsPlace: showsPlace)
    case .url(let text): return try report(ofURL: ImageURL(line: text), source, in: context)
    }
  }

  /// Reads the facts of a file in place; to decode it, imgctl uploads it.
  private func record(ofFile path: String, in context: CommandContext) throws -> FactsRecord {
    guard options.keep != .pixelFacts else {
      let file = try PictureFile(path: path, of: Self.description)
      return try Self.record(
        in: file.upload(over: context.coordinator(), as: nil, options: options))
    }
    let file = try FactsFile(path: path)
    guard options.keep == .allFacts else { return try file.record() }
    let record = try file.record(.all)
    guard record.awaitsDecoder else { return record }
    do {
      return try Self.record(in: file.upload(over: context.coordinator(), options: options))
    } catch let failure as Failure where failure.code == .tooLarge && failure.stage == .fetch {
      return record
    }
  }

  private static func record(in result: GetResult) throws -> FactsRecord {
    guard let made = result.uncached else {
      throw result.outcome.failure() ?? Failure.isGone
    }
    return try FactsRecord(json: made.bytes)
  }

  private func report(
    ofURL url: ImageURL, _ source: String, in context: CommandContext
  ) throws -> FactsReport {
    let choice = VariantChoice(variant: options.variant, isLenient: false, formatSource: .option)
    let search = ThumbnailSearch(choice: choice, viewer: nil)
    let requested = RequestedURL(source)
    switch try search.thumbnail(of: url, options, in: context) {
    case .stored(let found, let isFromCache, _):
      return try FactsReport(
        json: found.bytes, of: requested, url,
        fetch: .stored(found.record, isFromCache: isFromCache),
        showsPlace: showsPlace)
    case .uncached(let made):
      return try FactsReport(
        json: made.bytes, of: requested, url, fetch: .uncached(made.facts), showsPlace: showsPlace)
    case .nothing(let failure, _): throw failure
    }
  }
}

/// Reads the facts of a local picture in place. Of a file it reads some parts, and a stream as far as
/// necessary.
final class FactsFile {
  private static let chunkByteCount = 64 << 10

  private let file: InputFile
  /// `nil` for a stream.
  private let byteCount: Int?
  /// What has come of a stream.
  private var stream: [UInt8] = []

  /// - Parameter path: `-` for standard input.
  /// - Throws: as ``InputFile/picture(at:for:)`` does.
  init(path: String) throws {
    let file = try InputFile.picture(at: path, for: InfoCommand.description)
    let status = try path == "-" ? nil : FileStatus(of: file.descriptor)
    byteCount = status?.isRegularFile == true ? status?.byteCount : nil
    self.file = file
  }

  /// The metadata, and the frames of a GIF, WebP or PNG: counting them takes a walk through the file,
  /// which costs no fetch. A stream is read to its end for it, at most to ``FactsQuery``'s limit.
  ///
  /// - Throws: as ``record(_:)`` does.
  func record() throws(Failure) -> FactsRecord {
    let record = try record(.metadata)
    let facts = record.facts
    guard [.gif, .webp, .png].contains(facts.format), facts.isAnimated != false
    else { return record }
    return try self.record(.all)
  }

  /// - Throws: a ``Failure`` if the file cannot be read, or has no facts.
  func record(_ extent: FactsExtent) throws(Failure) -> FactsRecord {
    try FactsQuery.record(extent, byteCount: byteCount) { (range) throws(Failure) in
      return try rethrowing(
        try byteCount == nil
          ? streamed(range) : FileIO.contents(of: file.descriptor, in: range)
      ) { (error: SystemError) in
        Failure(
          stage: .fetch, code: .unreadableFile, detail: "\(file.name) cannot be read: \(error)")
      }
    }
  }

  /// Reads the whole picture and uploads it for its facts.
  ///
  /// - Throws: as ``PictureFile/contents(for:)`` does.
  func upload(over client: Client, options: RequestOptions) throws -> GetResult {
    let bytes = try PictureFile.contents(of: file, after: stream, for: client)
    return try client.answer(.upload(bytes, as: nil, options: options))
  }

  private func streamed(_ range: Range<Int>) throws(SystemError) -> [UInt8] {
    while stream.count < range.upperBound,
      try file.read(into: &stream, upTo: Self.chunkByteCount) > 0
    {}
    return Array(stream[range.clamped(to: 0..<stream.count)])
  }
}

/// `imgctl info --list`: submits the list as a job, and prints the facts of its lines as they come, one
/// JSON object a line. Ctrl-C and other signals end the output, not the job.
struct FactsList {
  private let path: String
  private let format: ListFormat
  private let options: RequestOptions
  private let showsPlace: Bool
  private let context: CommandContext
  private let facts: LineResults

  /// How often the results are looked at, at least.
  private static let interval = Duration.milliseconds(200)

  init(
    path: String, format: ListFormat, options: RequestOptions, showsPlace: Bool,
    context: CommandContext
  ) {
    self.path = path
    self.format = format
    self.options = options
    self.showsPlace = showsPlace
    self.context = context
    facts = LineResults(of: options.request, in: context.store)
  }

  func run() throws -> ExitCode {
    var list = try ListSubmission(
      paths: [path], of: InfoCommand.description, as: format,
      files: ListSubmission.FileOptions(isRecursive: false))
    let client = try context.coordinatorOfStore()
    let submitted = try list.submit(to: client, name: "info list", options: options)
    context.note("\(list.takeFormats())job \(submitted.job)\n")
    let course =
      "job \(submitted.job) continues; to print its facts: imgctl export \(submitted.job) DIR\n"
    try Termination.prepare(for: [SIGHUP, SIGQUIT, SIGTERM]) {
      [text = context.completedNote(course)] in
      if let text { try? Output(descriptor: 2, capacity: 0).write(text) }
    }
    // Replies to other requests would be lost on the connection that follows the job.
    let results = FinishedLines(of: submitted.job, from: try context.runningCoordinator())
    let signals = try SignalSource([SIGINT])
    // Its threads inherit that Ctrl-C is an event.
    let reader = list.namesFiles ? try context.fileReader(of: submitted.job) : nil
    defer { withExtendedLifetime(reader) {} }
    var notes = WaitNotes()
    let status = try follow(submitted.job, over: client, course) { status in
      if let wait = status.wait, let note = notes.note(on: wait, at: context.now) {
        context.note(note)
      }
      try results.forEachNew(hasEnded: status.hasEnded) { try print($0) }
      try context.output.flush()
      return signals.take().isEmpty
    }
    guard status.hasEnded else {
      context.note(course)
      return .interrupted
    }
    return results.hasFailures ? .someFailed : status.exitCode
  }

  /// - Parameter course: is said if the reader of the output leaves before the job has ended.
  private func follow(
    _ job: JobID, over client: Client, _ course: String, _ body: (ImageJob) throws -> Bool
  ) throws -> ImageJob {
    var hasEnded = false
    do {
      return try client.watch(job, every: Self.interval) { status in
        hasEnded = status.hasEnded
        return try body(status)
      }
    } catch OutputError.readerLeft {
      if !hasEnded { context.note(course) }
      throw OutputError.readerLeft
    }
  }

  private func print(_ entry: LineResult) throws -> Bool {
    let requested = RequestedURL(entry.url)
    guard let outcome = entry.outcome else { return false }
    if let failure = outcome.failure() {
      try context.output.write(
        json: JSONObject.picture(
          requested, index: entry.index, place: entry.place, failure))
      return false
    }
    guard let report = try report(of: entry, outcome, requested) else {
      try context.output.write(
        json: JSONObject.picture(
          requested, index: entry.index, place: entry.place, Failure.isGone))
      return false
    }
    try context.output.write(json: report)
    return true
  }

  /// - Returns: `nil` if the facts are no longer in the store, or never came there.
  private func report(
    of entry: LineResult, _ outcome: Outcome, _ requested: RequestedURL
  ) throws -> FactsReport? {
    let url = try ImageURL(line: entry.url)
    guard case .done(_, let isFromCache, _) = outcome,
      let found = try facts.results(of: entry).first
    else { return nil }
    var report = try FactsReport(
      json: found.bytes, of: requested, url,
      fetch: .stored(found.record, isFromCache: isFromCache), showsPlace: showsPlace)
    report.index = entry.index
    report.place = entry.place
    return report
  }
}
