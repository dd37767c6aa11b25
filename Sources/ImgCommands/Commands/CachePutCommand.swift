import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl cache put`: stores a local picture as if it had been fetched from a URL.
package struct CachePutCommand: Command {
  package let url: String
  /// `-` for standard input.
  package let path: String
  package let options: RequestOptions
  package let isJSON: Bool

  private static let target = OperandDescription(
    "URL", help: "The URL to store the picture under.")
  private static let source = OperandDescription(
    "FILE|-", help: "The picture; - reads standard input.")

  package static let description = CommandDescription(
    name: "imgctl cache put", summary: "store a file as the picture of a URL",
    operands: [target, source],
    options: StorageOptions.storeOptions + [.json] + OptionDescription.startingPlaces,
    notes: [
      "The thumbnail replaces a stored one of the same URL and size, and the stored original. "
        + "Other sizes stay. With --keep original or all, imgctl makes them from the file.",
      "A file that is not a picture is refused, and the store does not change.",
    ],
    examples: [
      .init(
        "imgctl cache put https://example.org/a.jpg a.jpg",
        "Requests for that URL get the thumbnail of the file."),
      .init(
        "imgctl cache put https://example.org/a.jpg - --keep all --expire-after never < a.jpg",
        "Keeps the picture for all sizes, without expiry."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    url = arguments.text(of: Self.target)
    path = arguments.text(of: Self.source)
    options = try StorageOptions.request(in: arguments)
    guard options.keep != .none else { throw UsageError("--keep none: put would store nothing") }
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    try StorageOptions.check(options.expiry, at: context.now, of: Self.description)
    do {
      let stored = try store(try ImageURL(line: url), in: context)
      if isJSON {
        try context.output.write(json: StoredReport(stored, of: RequestedURL(url)))
      } else {
        let made = stored.thumbnail
        context.note(
          "stored \(made.width)x\(made.height) \(made.format.rawValue), "
            + "\(HumanText.size(Int64(made.byteCount)))"
            + "\(made.isDamaged ? ", of a damaged picture" : "")\n")
      }
      return .success
    } catch let failure as Failure {
      if isJSON { try context.output.write(json: FailureReport(RequestedURL(url), failure)) }
      let sources = [path, url].map(HumanText.source).joined(separator: " for ")
      context.report(error: "\(sources): \(failure)")
      return .someFailed
    }
  }

  private func store(_ url: ImageURL, in context: CommandContext) throws -> StoredRecord {
    let file = try PictureFile(path: path)
    let client = try context.coordinatorOfStore()
    return try client.put(
      try file.contents(for: client), as: url, options: options, in: context.store)
  }
}
