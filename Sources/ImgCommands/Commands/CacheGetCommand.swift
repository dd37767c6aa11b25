import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl cache get`: returns one thumbnail if it is stored.
package struct CacheGetCommand: Command {
  package let url: String
  package let fetch: FetchOptions
  private let choice: VariantChoice
  private let picture: PictureOutput

  package var variant: Variant { choice.variant }
  package var isLenient: Bool { choice.isLenient }

  private static let source = OperandDescription("URL", help: "The URL of the picture.")

  package static let description = CommandDescription(
    name: "imgctl cache get", summary: "write a stored thumbnail; fetch nothing",
    operands: [source],
    options: VariantOptions.options + FetchArguments.nameOptions + PictureOutput.options
      + OptionDescription.places,
    notes: [
      PictureOutput.note,
      "The exit code is 1 if the thumbnail is not stored or has expired. The command needs no "
        + "coordinator and starts none.",
    ],
    examples: [
      .init("imgctl cache get https://example.org/a.jpg -o a.jpg", "The thumbnail in a file."),
      .init(
        "imgctl cache get https://example.org/a.jpg --size 64 --json",
        "Describes the thumbnail of that size."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    url = arguments.text(of: Self.source)
    fetch = try FetchArguments.fetchOptions(in: arguments, for: [url])
    picture = try PictureOutput(arguments)
    choice = try VariantOptions.choice(in: arguments, for: picture)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    try picture.check(for: Self.description.name)
    let url = try ImageURL(argument: self.url)
    let name = fetch.name(of: url)
    switch try context.store.thumbnail(of: name, choice) {
    case .found(let found):
      try picture.deliver(
        found.bytes, found.record.thumbnail,
        StoredReport(found.record, of: RequestedURL(self.url)), in: context)
      return .success
    case .damaged:
      return absent(
        url, "is stored, but the picture is damaged; --lenient accepts that", in: context)
    case .absent(let otherFormats):
      let others = otherFormats.first.map {
        " as \(variant.format.rawValue), only as \($0.rawValue)"
      }
      return absent(
        url, "is not stored in this size\(others ?? ""); imgctl get fetches it", in: context)
    }
  }

  private func absent(
    _ url: ImageURL, _ reason: String, in context: CommandContext
  ) -> ExitCode {
    context.report(error: "\(HumanText.printable(url.text)) \(reason)")
    return .someFailed
  }
}
