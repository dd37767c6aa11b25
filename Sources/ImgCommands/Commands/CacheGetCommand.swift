import ImgClient
package import ImgModel
package import ImgSettings
import ImgStore

/// `imgctl cache get`: one thumbnail, if the store has it.
package struct CacheGetCommand: Command {
  package let url: String
  package let fetch: FetchOptions
  private let choice: VariantChoice
  private let picture: PictureOutput

  package var variant: Variant { choice.variant }

  private static let source = OperandDescription("URL", help: "The picture, as it was fetched.")

  package static let description = CommandDescription(
    name: "imgctl cache get", summary: "write a thumbnail that is in the store; fetch nothing",
    operands: [source],
    options: VariantOptions.variantOptions + FetchArguments.nameOptions + PictureOutput.options
      + OptionDescription.places,
    notes: [
      PictureOutput.note,
      "Ends with 1 when the store has no such thumbnail, or has it no more. No coordinator is asked "
        + "or started.",
    ],
    examples: [
      .init("imgctl cache get https://example.org/a.jpg -o a.jpg", "The thumbnail in a file."),
      .init(
        "imgctl cache get https://example.org/a.jpg --size 64 --json",
        "What is known of that size."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    url = arguments.text(of: Self.source)
    fetch = try FetchArguments.fetchOptions(in: arguments)
    picture = try PictureOutput(arguments)
    choice = try VariantOptions.choice(in: arguments, for: picture)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    try picture.check(for: Self.description.name)
    let url = try ImageURL(line: self.url)
    let name = fetch.name(of: url)
    let reader = try context.storeReader()
    let stored = try reader.map { (reader) throws(StoreError) in
      try choice.stored(of: name, in: reader)
    }
    guard let found = try reader?.thumbnail(for: name, variant: stored?.variant ?? variant) else {
      let picture = HumanText.printable(url.text)
      let others = stored?.formats.first.map {
        " as \(variant.format.rawValue), only as \($0.rawValue)"
      }
      context.report(
        error: "the store has no such thumbnail of \(picture)\(others ?? ""); imgctl get fetches it"
      )
      return .someFailed
    }
    try picture.deliver(
      found.bytes, found.facts.thumbnail.format,
      StoredReport(found.facts, of: RequestedURL(self.url)), in: context)
    return .success
  }
}
