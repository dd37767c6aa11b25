import ImgClient
package import ImgSettings
import ImgStore
package import ImgWire

/// `imgctl cache get`: one thumbnail, if the store has it.
package struct CacheGetCommand: Command {
  package let url: String
  package let variant: Variant
  package let fetch: FetchOptions
  private let picture: PictureOutput

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
    variant = try VariantOptions.variant(in: arguments)
    fetch = try FetchArguments.fetchOptions(in: arguments)
    picture = try PictureOutput(arguments)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    try picture.check(for: Self.description.name)
    let url = try ImageURL(parsing: url)
    guard
      let found = try context.storeReader()?.thumbnail(
        for: fetch.name(of: url), variant: variant)
    else {
      context.note(
        "imgctl: the store has no such thumbnail of \(HumanText.printable(url.text)); imgctl get "
          + "fetches it\n")
      return .someFailed
    }
    try picture.deliver(found.bytes, StoredReport(found.facts), in: context)
    return .success
  }
}
