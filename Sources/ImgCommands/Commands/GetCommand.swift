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
  package let isJSON: Bool

  private static let source = OperandDescription("URL", help: "The picture, http or https.")
  private static let output = OptionDescription(
    "--output", short: "-o", "FILE",
    help: "Write the thumbnail there; - is standard output, and the default.")

  package static let description = CommandDescription(
    name: "imgctl get", summary: "fetch one URL before all jobs and write its thumbnail",
    operands: [source],
    options: [output] + VariantOptions.options + [.json] + OptionDescription.places,
    notes: ["With --json the thumbnail is written only where --output says so."],
    examples: [
      .init("imgctl get https://example.org/a.jpg -o a.jpg", "The thumbnail in a file."),
      .init("imgctl get https://example.org/a.jpg --json", "Only what is known of it."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    url = arguments.text(of: Self.source)
    let outputPath = arguments.texts(of: Self.output)?.last
    guard outputPath != "" else { throw UsageError("--output: a path is not empty") }
    options = try VariantOptions.request(in: arguments)
    isJSON = arguments.contains(.json)
    self.outputPath = outputPath == "-" ? nil : outputPath
    guard !isJSON || outputPath != "-" else {
      throw UsageError("--json and --output - would both write to standard output")
    }
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

  /// From the map when it is there, which takes no coordinator; else made by one.
  private func thumbnail(in context: CommandContext) throws -> Found {
    let url = try ImageURL(parsing: url)
    if let hit = try context.storeReader()?.thumbnail(for: url, variant: options.variant) {
      return (hit.facts, hit.bytes, true)
    }
    let asked = context.now
    let client = try context.coordinator()
    switch try client.get(url.text, options: options) {
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
      throw Failure(stage: .queue, code: .cancelled, detail: "the request was cancelled")
    }
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
