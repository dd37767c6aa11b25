import ImgClient
package import ImgSettings
import ImgStore
import ImgSystem
package import ImgWire

/// `imgctl get`: one thumbnail, now.
package struct GetCommand: Command {
  package let url: String
  /// Where the thumbnail goes; `nil` for standard output.
  package let outputPath: String?
  package let options: RequestOptions
  /// Names the place where the picture is to be shown; `nil` for a request by itself.
  package let viewer: String?
  package let isJSON: Bool

  private static let source = OperandDescription("URL", help: "The picture, http or https.")
  private static let output = OptionDescription(
    "--output", short: "-o", "FILE",
    help: "Write the thumbnail there; - is standard output, and the default.")
  private static let viewer = OptionDescription(
    "--viewer", "NAME",
    help: "The picture is for this viewer, which shows one at a time: a later get of the same "
      + "name takes the place of one that still waits.")

  package static let description = CommandDescription(
    name: "imgctl get", summary: "fetch one URL before all jobs and write its thumbnail",
    operands: [source],
    options: [output] + VariantOptions.options + [viewer, .json] + OptionDescription.places,
    notes: [
      "With --json the thumbnail is written only where --output says so.",
      "A get whose place another takes ends with 1 and says so.",
    ],
    examples: [
      .init("imgctl get https://example.org/a.jpg -o a.jpg", "The thumbnail in a file."),
      .init("imgctl get https://example.org/a.jpg --json", "Only what is known of it."),
      .init(
        "imgctl get https://example.org/a.jpg --viewer left --delay 250ms -o left.jpg",
        "Costs nothing when the viewer moves on within a quarter of a second."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    url = arguments.text(of: Self.source)
    let outputPath = arguments.texts(of: Self.output)?.last
    guard outputPath != "" else { throw UsageError("--output: a path is not empty") }
    options = try VariantOptions.request(in: arguments)
    viewer = try arguments.value(of: Self.viewer, Self.viewerName)
    isJSON = arguments.contains(.json)
    self.outputPath = outputPath == "-" ? nil : outputPath
    guard !isJSON || outputPath != "-" else {
      throw UsageError("--json and --output - would both write to standard output")
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
    if outputPath == nil, !isJSON, Terminal.isTerminal(1) {
      throw UsageError(
        "imgctl get: a picture is not for a terminal; name a file with -o FILE, or ask for --json")
    }
    do {
      try deliver(try thumbnail(in: context), in: context)
      return .success
    } catch let failure as Failure {
      if isJSON { try context.output.write(json: FailureReport(url: url, failure)) }
      context.note("imgctl: \(failure)\n")
      return .someFailed
    }
  }

  private typealias Found = (facts: StoredThumbnail, bytes: [UInt8], isFromCache: Bool)

  /// From the map when it is there, which takes no coordinator; else made by one. What has to wait,
  /// or to take another's place, is the coordinator's matter even where the map has it.
  private func thumbnail(in context: CommandContext) throws -> Found {
    let url = try ImageURL(parsing: url)
    if viewer == nil, options.delayMilliseconds == 0,
      let hit = try context.storeReader()?.thumbnail(for: url, variant: options.variant)
    {
      return (hit.facts, hit.bytes, true)
    }
    let asked = context.now
    let client = try context.coordinator()
    switch try client.get(url.text, viewer: viewer, options: options) {
    case .done(_, let isFromCache, _):
      let reader = try StoreReader(directory: client.storeDirectory)
      // However short its life was to be, it is what was asked for.
      guard let made = try reader?.thumbnail(for: url, variant: options.variant, at: asked) else {
        throw Failure(
          stage: .store, code: .internal, detail: "the thumbnail was removed before it was read")
      }
      return (made.facts, made.bytes, isFromCache)
    case .failed(let failure):
      throw failure
    case .cancelled:
      throw Failure(stage: .queue, code: .cancelled, detail: reasonOfCancel)
    }
  }

  private var reasonOfCancel: String {
    viewer.map { "a later get of the viewer \(Spelling.quoted($0)) took the place of this one" }
      ?? "the request was cancelled"
  }

  private func deliver(_ found: Found, in context: CommandContext) throws {
    if let outputPath {
      try FileIO.replace(path: outputPath, with: found.bytes)
    } else if !isJSON {
      try context.output.write(bytes: found.bytes)
    }
    if isJSON {
      try context.output.write(
        json: StoredReport(found.facts, isFromCache: found.isFromCache))
    }
  }
}
