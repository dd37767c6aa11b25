import ImgClient
import ImgFacts
package import ImgModel
package import ImgSettings
import ImgSystem
import Synchronization

/// The pictures that have previews.
private enum IncrementalKind: String, CaseIterable {
  /// Those that show the whole of themselves coarsely.
  case auto
  /// Also those that show their first rows alone.
  case force
}

/// `imgctl get`: returns one thumbnail at once.
package struct GetCommand: Command {
  /// URLs, files, or `-` for standard input. Several are for a directory, or for descriptions.
  package private(set) var pictures: [String]
  /// The replacements, tried in order if the picture fails.
  package let fallbacks: [String]
  package let options: RequestOptions
  /// Names the place that shows the picture; `nil` for a request by itself.
  package let viewer: String?
  /// Whether previews are written while the picture arrives.
  package let isIncremental: Bool
  /// Whether previews may show the first rows alone.
  package let previewsRows: Bool
  /// Whether the user learns how much of the picture has arrived.
  package let showsProgress: Bool
  package let isVerbose: Bool
  /// Whether the picture is written as its origin sent it.
  package let isOriginal: Bool
  private var destination: PictureOutput
  private let choice: VariantChoice
  /// Whether the command goes on with other pictures if this one cannot be read.
  private var isOneOfSeveral = false

  /// The first picture.
  package var picture: String { pictures[0] }
  /// The file for the thumbnail; `nil` for standard output.
  package var outputPath: String? { destination.path }
  package var isJSON: Bool { destination.isJSON }

  private static let source = OperandDescription(
    "URL|FILE|-", .many,
    help:
      "The picture: an http, https or data URL, a file, or - for standard input. imgctl reads "
      + "files itself and does not store them. Several are for -o DIR/, or for --json alone.")
  private static let viewer = OptionDescription(
    "--viewer", "NAME",
    help: "The place that shows the picture, one at a time. A later get with the same name "
      + "replaces one that still waits.")

  private static let noCache = OptionDescription(
    "--no-cache", help: "Fetch the picture even if it is stored, and do not store it.")

  private static let original = OptionDescription(
    "--original",
    help: "Write the picture as its origin sent it, from the store or fetched, and keep it there.")

  private static let incremental = OptionDescription(
    "--incremental", "KIND",
    help: "While the picture arrives, replace the file of --output by previews, each nearer to the "
      + "thumbnail; with --json, print a line for each. auto is for progressive JPEG, interlaced PNG "
      + "and GIF; force also for other JPEGs, whose first rows it shows above grey ones. "
      + "--incremental alone is auto.",
    impliedValue: IncrementalKind.auto.rawValue,
    attachedWords: IncrementalKind.allCases.map(\.rawValue))

  private static let progress = OptionDescription(
    "--progress",
    help: "Show how much of the picture has arrived: a line on standard error, which a terminal "
      + "redraws; with --json, a line of JSON for each change.")

  private static let fallback = OptionDescription(
    "--fallback", "URL",
    help: "Try this URL if the previous one fails. Repeatable; tried in order.",
    isRepeatable: true)

  package static let storeCrashHandling = StoreCrashHandling.restart

  package static let description = CommandDescription(
    name: "imgctl get", summary: "fetch one URL before all jobs and write its thumbnail",
    operands: [source],
    options: StorageOptions.options + FetchArguments.options + [
      original, viewer, noCache, incremental, progress, fallback, RequestOptions.timeoutOption,
      .verbose,
    ]
      + PictureOutput.options + OptionDescription.startingPlaces,
    notes: [
      PictureOutput.note,
      "If a later get of the same viewer replaces this one, it ends with exit code 1.",
      "With --fallback, --json prints the URL that succeeded. Failures before it go to standard "
        + "error.",
      "With --incremental, a file is as before if the picture fails. Previews are not stored, and other "
        + "formats have none.",
      "If the store is full, the thumbnail is written but not stored, and a note says so.",
    ],
    examples: [
      .init("imgctl get https://example.org/a.jpg -o a.jpg", "The thumbnail in a file."),
      .init("imgctl get https://example.org/a.jpg --json", "Only a description."),
      .init("imgctl get - < a.heic > a.jpg", "The thumbnail of a local picture."),
      .init("imgctl get --original https://example.org/a.jpg -o a.jpg", "The file itself."),
      .init("imgctl get *.heic -o thumbs/", "Files named as the pictures, such as thumbs/a.jpg."),
      .init(
        "imgctl get https://example.org/a.jpg --viewer left --delay 250ms -o left.jpg",
        "Fetches nothing if the viewer moves on within 250 ms."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    pictures = Array(arguments.texts(of: Self.source))
    fallbacks = arguments.texts(of: Self.fallback) ?? []
    isOriginal = arguments.contains(Self.original)
    destination = try PictureOutput(arguments, isOriginal: isOriginal)
    choice = try VariantOptions.choice(in: arguments, for: destination)
    var options = try StorageOptions.request(
      in: arguments, keeping: .auto,
      fetch: try FetchArguments.fetchOptions(in: arguments, for: pictures + fallbacks))
    options.variant = choice.variant
    options.bypassesStore = arguments.contains(Self.noCache)
    self.options = options
    guard options.keep != .original else {
      throw UsageError(
        "--keep original: get returns a thumbnail; use --keep all to store the original, too")
    }
    viewer = try arguments.value(of: Self.viewer, Self.viewerName)
    let kind = try arguments.value(of: Self.incremental, IncrementalKind.init(parsing:))
    isIncremental = kind != nil
    previewsRows = kind == .force
    showsProgress = arguments.contains(Self.progress)
    isVerbose = arguments.contains(.verbose)
    guard !isIncremental || destination.path != nil || destination.isJSON else {
      throw UsageError(
        "--incremental: standard output takes one picture; use -o FILE for previews, or --json")
    }
    let forThumbnails =
      [Self.viewer, Self.noCache, Self.incremental].first(where: arguments.contains)
      ?? VariantOptions.given(in: arguments)
    if isOriginal, let option = forThumbnails {
      throw UsageError(
        "\(option.flag) is for thumbnails, and --original for the picture as it came")
    }
    let forOne = [Self.viewer, Self.fallback, Self.incremental].filter(arguments.contains)
    if pictures.count > 1, let option = forOne.first {
      throw UsageError("\(option.flag) is for one picture")
    }
    guard !options.bypassesStore || options.fetch.cachePolicy == .cacheElseLoad else {
      throw UsageError("--no-cache and --cache-policy exclude each other")
    }
  }

  private static func viewerName(_ text: String) throws(InvalidValue) -> String {
    let limit = Client.maximumViewerByteCount
    guard (1...limit).contains(text.utf8.count) else {
      throw InvalidValue("a viewer's name has 1 to \(limit) bytes")
    }
    return text
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    guard let destinations = try destination.files(of: pictures, for: Self.description.name) else {
      return try runOne(in: context)
    }
    var code = ExitCode.success
    for (picture, destination) in zip(pictures, destinations) {
      var one = self
      (one.pictures, one.destination, one.isOneOfSeveral) = ([picture], destination, true)
      if try one.runOne(in: context) != .success { code = .someFailed }
    }
    return code
  }

  private func runOne(in context: CommandContext) throws -> ExitCode {
    try destination.check(for: Self.description.name)
    context.noteTypedInput(picture, of: "a picture")
    try StorageOptions.check(options.expiry, at: context.now, of: Self.description)
    guard isIncremental else { return try run(in: context, previews: nil) }
    let previews = PreviewOutput(destination, in: context)
    do {
      let code = try run(in: context, previews: previews)
      if code == .success { previews.finish() } else { try previews.undo() }
      return code
    } catch {
      try previews.undo()
      throw error
    }
  }

  private func run(
    in context: CommandContext, previews: PreviewOutput?
  ) throws -> ExitCode {
    var source = picture
    var rest = fallbacks[...]
    var found = try find(source, options, in: context, previews)
    while case .nothing(let failure, _) = found, failure.code != .cancelled,
      let next = rest.popFirst()
    {
      let text = context.text(of: failure)
      context.note(
        "imgctl: \(HumanText.source(source)): \(text); trying \(HumanText.source(next))\n")
      source = next
      found = try find(
        source, options.withoutDelay(fetch: fetchOptions(of: next)), in: context, previews)
    }
    return try deliver(found, of: source, in: context)
  }

  /// A fallback is another picture, so the `--cache-key` does not name it. The headers are meant
  /// for the first picture's origin, see ``FetchOptions/forOtherOrigin``.
  private func fetchOptions(of fallback: String) -> FetchOptions {
    var fetch = options.fetch
    fetch.cacheKey = nil
    let origins = [picture, fallback].map { try? ImageURL(line: $0).origin }
    return origins[0] == origins[1] ? fetch : fetch.forOtherOrigin
  }

  private func deliver(
    _ found: FoundThumbnail, of source: String, in context: CommandContext
  ) throws -> ExitCode {
    if isVerbose { note(found, of: source, in: context) }
    let report = JSONObject(
      ["frame_count": frameCount(of: found)], beside: found, requested(source))
    switch found {
    case .stored(let found, _, _):
      try destination.deliver(
        found.bytes, found.record.thumbnail, report, of: [source], isVerbose: isVerbose,
        in: context)
    case .uncached(let made):
      try destination.deliver(
        made.bytes, made.facts.thumbnail, report, of: [source], isVerbose: isVerbose, in: context)
    case .nothing(let failure, let timings):
      if isJSON {
        try context.output.write(json: report)
        return .someFailed
      }
      let advice = Self.advice(on: failure, timings).map { "; \($0)" } ?? ""
      let text = context.text(of: failure)
      context.report(error: "\(HumanText.source(source)): \(text)\(advice)")
      return .someFailed
    }
    return .success
  }

  /// Failures are told in any case.
  private func note(_ found: FoundThumbnail, of source: String, in context: CommandContext) {
    let thumbnail: Thumbnail
    let origin: String
    switch found {
    case .stored(let found, _, _):
      thumbnail = found.record.thumbnail
      origin = "stored \(HumanText.age(of: found.record.storageTime, at: context.now))"
    case .uncached(let made):
      thumbnail = made.facts.thumbnail
      origin = "not stored"
    case .nothing: return
    }
    context.note(
      "done: \(HumanText.source(source)): \(thumbnail.width)x\(thumbnail.height) "
        + "\(thumbnail.format.rawValue), \(HumanText.size(Int64(thumbnail.byteCount))), \(origin)\n"
    )
  }

  /// The frames of an animation that was asked for; `nil` for any other thumbnail. A WebP may have fewer
  /// than its source, because neighbours that look alike are one.
  private func frameCount(of found: FoundThumbnail) -> Int? {
    guard options.variant.frames == .all else { return nil }
    let bytes: [UInt8]? =
      switch found {
      case .stored(let found, _, _): found.bytes
      case .uncached(let made): made.bytes
      case .nothing: nil
      }
    return bytes.flatMap { try? PictureFacts.reading(WholeBytes($0), .all).frameCount }
  }

  /// What can be done where the failure itself does not say so.
  private static func advice(on failure: Failure, _ timings: Timings?) -> String? {
    if isRemembered(failure, timings) { return "--cache-policy reload asks now" }
    return CertificateAdvice.text(on: failure)
  }

  /// Whether the origin said earlier that there is no such picture, and was not asked for this request.
  private static func isRemembered(_ failure: Failure, _ timings: Timings?) -> Bool {
    failure.stage == .fetch && [404, 410].contains(failure.httpStatus) && timings?.ttfb == nil
  }

  private func requested(_ source: String) -> RequestedURL {
    if case .file = try? PictureSource(source) {
      return RequestedURL(verbatim: source)
    }
    return RequestedURL(source)
  }

  private func find(
    _ source: String, _ options: RequestOptions, in context: CommandContext,
    _ previews: PreviewOutput?
  ) throws -> FoundThumbnail {
    do {
      switch try PictureSource(source) {
      case .url(let text):
        let search = ThumbnailSearch(
          choice: choice, viewer: viewer,
          onPreview: previews.map { previews in { previews.show($0, of: requested(source)) } },
          previewsRows: previewsRows,
          progress: showsProgress
            ? ProgressOutput(of: requested(source), isJSON: isJSON, in: context) : nil,
          isOriginal: isOriginal)
        return try search.thumbnail(of: ImageURL(line: text), options, in: context)
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
    guard viewer == nil, options.delay == .zero, options.fetch == .standard, !isOriginal else {
      throw UsageError(
        "\(Self.description.name): --original, --viewer, --delay, --cache-policy and request "
          + "options are for URLs, not for files")
    }
  }

  /// Uploads a local picture. The store is neither read nor written.
  private func find(file path: String, in context: CommandContext) throws -> FoundThumbnail {
    let file = try open(path)
    let client = try context.coordinator()
    let result = try file.upload(over: client, as: nil, options: options)
    guard let made = result.uncached else {
      return .nothing(result.outcome.failure() ?? .isGone, result.timings)
    }
    return .uncached(made)
  }

  /// - Throws: a ``Failure`` if the command has fallbacks or other pictures.
  private func open(_ path: String) throws -> PictureFile {
    guard fallbacks.isEmpty, !isOneOfSeveral else { return try PictureFile(attempting: path) }
    return try PictureFile(path: path, of: Self.description)
  }
}

/// The destination of previews: they replace each other in the file of the command's thumbnail, and each has
/// a line of JSON.
final class PreviewOutput {
  private let path: String?
  private let isJSON: Bool
  private let context: CommandContext
  /// `nil` before the first preview.
  private var file: PreviewFile?
  /// Whether the file takes no previews: it is a device or a pipe, or it cannot be written.
  private var isFileLeftAlone: Bool

  init(_ destination: PictureOutput, in context: CommandContext) {
    path = destination.file
    isJSON = destination.isJSON
    self.context = context
    let status = path.flatMap { try? FileStatus(following: $0) }
    isFileLeftAlone = status?.isRegularFile == false
  }

  /// A preview that cannot be written is dropped: the thumbnail will say why it cannot be written, too.
  ///
  /// - Parameter source: what the preview is one of.
  func show(_ preview: ImagePreview, of source: RequestedURL) {
    if let path, !isFileLeftAlone {
      do throws(SystemError) {
        if file == nil { file = try PreviewFile(path) }
        try file?.replace(with: preview.bytes)
      } catch {
        isFileLeftAlone = true
        context.note("imgctl: no previews in \(path): \(error)\n")
      }
    }
    if isJSON {
      try? context.output.write(json: JSONObject.picture(source, preview))
      try? context.output.flush()
    }
  }

  /// The thumbnail has replaced the previews.
  func finish() {
    file?.finish()
  }

  /// There is no thumbnail: the file becomes what it was before.
  func undo() throws(SystemError) {
    try file?.undo()
  }
}

/// The file of a thumbnail, in which previews replace each other until the thumbnail is there. Without a
/// thumbnail the file becomes what it was before, also if a signal ends the program.
final class PreviewFile: Sendable {
  private struct State: ~Copyable {
    /// `nil` before the first preview.
    var file: ProvisionalFile?
    /// `false` once the file is as it was, or has the thumbnail.
    var takesPreviews = true
  }

  private let path: String
  private let state = Mutex(State())

  /// From now on, a signal that ends the program puts the file back.
  init(_ path: String) throws(SystemError) {
    self.path = path
    try Termination.prepare { [self] in try? undo() }
  }

  func replace(with preview: [UInt8]) throws(SystemError) {
    try state.withLock { state throws(SystemError) in
      guard state.takesPreviews else { return }
      if state.file == nil { state.file = try ProvisionalFile(path: path) }
      try state.file?.replace(with: preview)
    }
  }

  /// The thumbnail has replaced the previews.
  func finish() {
    state.withLock { state in
      state.takesPreviews = false
      state.file.take()?.discard()
    }
  }

  /// There is no thumbnail.
  func undo() throws(SystemError) {
    try state.withLock { state throws(SystemError) in
      state.takesPreviews = false
      try state.file.take()?.restore()
    }
  }
}
