import Glibc
import ImgClient
package import ImgModel
package import ImgSettings
import ImgStore
import ImgSystem
import ImgWire

/// `imgctl get`: one thumbnail, now.
package struct GetCommand: Command {
  /// A URL, a file, or `-` for standard input.
  package let picture: String
  /// What is tried in its place, one after the other.
  package let fallbacks: [String]
  package let options: RequestOptions
  /// Names the place where the picture is to be shown; `nil` for a request by itself.
  package let viewer: String?
  /// Whether it is fetched whatever the store has, and not stored.
  package let bypassesStore: Bool
  private let destination: PictureOutput
  private let choice: VariantChoice

  /// Where the thumbnail goes; `nil` for standard output.
  package var outputPath: String? { destination.path }
  package var isJSON: Bool { destination.isJSON }

  private static let source = OperandDescription(
    "URL|FILE|-",
    help:
      "The picture: http, https or data; or a file, or - for standard input, which imgctl reads "
      + "itself, so that nothing of it is stored.")
  private static let viewer = OptionDescription(
    "--viewer", "NAME",
    help: "The picture is for this viewer, which shows one at a time: a later get of the same "
      + "name takes the place of one that still waits.")

  private static let noCache = OptionDescription(
    "--no-cache", help: "Fetch it whatever the store has, and do not store it.")

  private static let fallback = OptionDescription(
    "--fallback", "URL",
    help: "What to take when the one before cannot be had. Repeatable; tried in their order.",
    isRepeatable: true)

  package static let description = CommandDescription(
    name: "imgctl get", summary: "fetch one URL before all jobs and write its thumbnail",
    operands: [source],
    options: VariantOptions.options + FetchArguments.options + [viewer, noCache, fallback]
      + PictureOutput.options + OptionDescription.startingPlaces,
    notes: [
      PictureOutput.note,
      "A get whose place another takes ends with 1 and says so.",
      "With --fallback, the url that --json prints is the one that was had; each failure before it "
        + "is told on standard error.",
      "Where the store has no room the thumbnail is written all the same, and a note says so.",
    ],
    examples: [
      .init("imgctl get https://example.org/a.jpg -o a.jpg", "The thumbnail in a file."),
      .init("imgctl get https://example.org/a.jpg --json", "Only what is known of it."),
      .init("imgctl get - < a.heic > a.jpg", "Of a picture that is here already."),
      .init(
        "imgctl get https://example.org/a.jpg --viewer left --delay 250ms -o left.jpg",
        "Costs nothing when the viewer moves on within a quarter of a second."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    picture = arguments.text(of: Self.source)
    fallbacks = arguments.texts(of: Self.fallback) ?? []
    destination = try PictureOutput(arguments)
    choice = try VariantOptions.choice(in: arguments, for: destination)
    var options = try VariantOptions.request(
      in: arguments, fetch: try FetchArguments.fetchOptions(in: arguments))
    options.variant = choice.variant
    self.options = options
    guard options.keep != .original else {
      throw UsageError(
        "--keep original: get hands a thumbnail out; with --keep all the original is kept, too")
    }
    viewer = try arguments.value(of: Self.viewer, Self.viewerName)
    bypassesStore = arguments.contains(Self.noCache)
    guard !bypassesStore || options.fetch.cachePolicy == .cacheElseLoad else {
      throw UsageError("--no-cache and --cache-policy contradict each other; give one of the two")
    }
  }

  private static func viewerName(_ text: String) throws(InvalidValue) -> String {
    let limit = GetRequest.maximumViewerByteCount
    guard (1...limit).contains(text.utf8.count) else {
      throw InvalidValue("a viewer's name has from 1 to \(limit) bytes")
    }
    return text
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    try destination.check(for: Self.description.name)
    try VariantOptions.check(options.expiry, at: context.now, of: Self.description)
    var source = picture
    var rest = fallbacks[...]
    var found = try find(source, options, in: context)
    while case .nothing(let failure, _) = found, failure.code != .cancelled,
      let next = rest.popFirst()
    {
      context.note("imgctl: \(HumanText.source(source)): \(failure); next is \(next)\n")
      source = next
      found = try find(source, options.withoutDelay(fetch: fetchOptions(of: next)), in: context)
    }
    return try deliver(found, of: source, in: context)
  }

  /// A fallback is another picture: it is not known by the first one's key. What is sent is meant
  /// for the first one's origin.
  private func fetchOptions(of fallback: String) -> FetchOptions {
    var fetch = options.fetch
    fetch.cacheKey = nil
    let origins = [picture, fallback].map { try? ImageURL(line: $0).origin }
    if origins[0] != origins[1] { fetch.headers = .none }
    return fetch
  }

  private func deliver(
    _ found: Found, of source: String, in context: CommandContext
  ) throws -> ExitCode {
    switch found {
    case .stored(let facts, let bytes, let isFromCache, let timings):
      let report = StoredReport(
        facts, of: RequestedURL(source), isFromCache: isFromCache, timings: timings)
      try destination.deliver(bytes, facts.thumbnail.format, report, in: context)
    case .uncached(let made):
      try destination.deliver(
        made.bytes, made.facts.thumbnail.format, UncachedReport(requested(source), made.facts),
        in: context)
    case .nothing(let failure, let timings):
      if isJSON {
        try context.output.write(json: FailureReport(requested(source), failure, timings: timings))
      }
      context.report(error: "\(HumanText.source(source)): \(failure)")
      return .someFailed
    }
    return .success
  }

  private func requested(_ source: String) -> RequestedURL {
    if case .file = try? PictureSource(source, isFile: FileIO.isFile) {
      return RequestedURL(verbatim: source)
    }
    return RequestedURL(source)
  }

  /// A thumbnail, and where it was found; or why there is none.
  private enum Found {
    case stored(StoredThumbnail, bytes: [UInt8], isFromCache: Bool, Timings?)
    case uncached(UncachedPicture)
    case nothing(Failure, Timings?)
  }

  private func find(
    _ source: String, _ options: RequestOptions, in context: CommandContext
  ) throws -> Found {
    do {
      switch try PictureSource(source, isFile: FileIO.isFile) {
      case .url(let text): return try find(ImageURL(line: text), options, in: context)
      case .file(let path) where source == picture:
        try checkOptionsOfFile()
        return try find(file: path, in: context)
      case .file(let path): return try find(file: path, in: context)
      }
    } catch let failure as Failure {
      return .nothing(failure, nil)
    }
  }

  private func checkOptionsOfFile() throws(UsageError) {
    guard viewer == nil, options.delayMilliseconds == 0, options.fetch == .standard else {
      throw UsageError(
        "\(Self.description.name): --viewer, --delay, --cache-policy and what origins are told are for "
          + "URLs; a file is decoded at once")
    }
  }

  /// Made of the person's own picture; nothing is looked up and nothing is stored.
  private func find(file path: String, in context: CommandContext) throws -> Found {
    let file = try open(path)
    let client = try context.coordinator()
    let result = try file.upload(over: client, as: nil, options: options)
    guard let made = result.uncached else {
      return .nothing(result.outcome.failure() ?? .isGone, result.timings)
    }
    return .uncached(made)
  }

  /// - Throws: a ``Failure`` where there is something to fall back on, or was.
  private func open(_ path: String) throws -> PictureFile {
    do throws(SystemError) {
      return try PictureFile(path: path)
    } catch {
      guard fallbacks.isEmpty else {
        throw Failure(stage: .fetch, code: .unreadableFile, detail: error.description)
      }
      guard error.code == ENOENT else { throw error }
      throw UsageError(
        "\(Self.description.name): there is no file \(Spelling.quoted(path)); a URL begins with "
          + "https:// or http://")
    }
  }

  /// From the map when it is there, which takes no coordinator; else made by one. What has to wait,
  /// to be fetched anyway, to take another's place, or to be kept for longer, is the coordinator's
  /// matter even where the map has it.
  private func find(
    _ url: ImageURL, _ given: RequestOptions, in context: CommandContext
  ) throws -> Found {
    let options = try resolved(given, for: url, in: context)
    if viewer == nil, !bypassesStore, options.delayMilliseconds == 0, !StoreCrash.hasHappened,
      let hit = try stored(url, options, in: context)
    {
      return .stored(hit.facts, bytes: hit.bytes, isFromCache: true, nil)
    }
    let asked = context.now
    let client = try context.coordinatorOfStore()
    let result = try client.get(
      url.text, viewer: viewer, options: options, bypassesStore: bypassesStore
    ) { wait in
      context.note("waiting: \(WaitText(wait, at: context.now).text)\n")
    }
    if let picture = result.uncached {
      if let failure = picture.facts.failure { context.note("not stored: \(failure.detail)\n") }
      return .uncached(picture)
    }
    guard case .done(_, let isFromCache, _) = result.outcome else {
      let failure = result.outcome.failure(cancelledBecause: reasonOfCancel)
      return .nothing(failure ?? .isGone, result.timings)
    }
    let reader = try context.storeReader()
    // However short its life was to be, it is what was asked for.
    guard
      let made = try reader?.thumbnail(
        for: options.fetch.name(of: url), variant: options.variant, at: asked, noting: .nothing)
    else {
      throw Failure.isGone
    }
    return .stored(made.facts, bytes: made.bytes, isFromCache: isFromCache, result.timings)
  }

  /// The same for the variant that the store has.
  private func resolved(
    _ options: RequestOptions, for url: ImageURL, in context: CommandContext
  ) throws(StoreError) -> RequestOptions {
    guard !bypassesStore, !StoreCrash.hasHappened else { return options }
    var resolved = options
    do throws(StoreError) {
      resolved.variant = try choice.resolved(
        for: options.fetch.name(of: url), options.fetch.cachePolicy, at: context.now,
        in: try context.storeReader())
    } catch  where error.reason == .damaged {
      return options
    }
    return resolved
  }

  /// Of a picture from no origin there is none.
  private func keepsOriginal(of url: ImageURL) -> Bool {
    options.keep.includesOriginal && !url.isLocal
  }

  /// What the store has and need not be kept for longer. One that is damaged has nothing: a worker
  /// will begin it anew.
  private func stored(
    _ url: ImageURL, _ options: RequestOptions, in context: CommandContext
  ) throws(StoreError) -> (facts: StoredThumbnail, bytes: [UInt8])? {
    do throws(StoreError) {
      guard let reader = try context.storeReader() else { return nil }
      let name = options.fetch.name(of: url)
      let policy = options.fetch.cachePolicy
      if keepsOriginal(of: url) {
        guard let original = try reader.originalFacts(of: name),
          policy.accepts(original.terms, at: context.now)
        else { return nil }
      }
      guard
        let found = try reader.thumbnail(
          for: name, variant: options.variant, noting: .hitOnly),
        policy.accepts(found.facts.terms, at: context.now),
        found.facts.extended(by: leastWish, at: context.now) == nil
      else { return nil }
      return found
    } catch  where error.reason == .damaged {
      return nil
    }
  }

  /// What is asked for of a thumbnail that is there, as far as that can be known without asking the
  /// coordinator for its default.
  private var leastWish: Retention {
    options.expiry.retentionOfStored(
      defaultMilliseconds: RequestOptions.expiryRangeMilliseconds.lowerBound)
  }

  private var reasonOfCancel: String {
    viewer.map { "a later get of the viewer \(Spelling.quoted($0)) took the place of this one" }
      ?? "the request was cancelled"
  }
}
