import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl cache rm`: removes all records of some URLs from the store.
package struct CacheRmCommand: Command {
  /// At least one.
  package let urls: [String]
  package let fetch: FetchOptions
  package let isJSON: Bool

  private static let url = OperandDescription(
    "URL", .many,
    help: "The picture to remove: its thumbnails in every size and its original, whatever "
      + "headers requested it.")

  package static let description = CommandDescription(
    name: "imgctl cache rm", summary: "remove all thumbnails of some URLs from the store",
    operands: [url],
    options: FetchArguments.namingOptions + [.json] + OptionDescription.places,
    notes: [
      "A running coordinator also forgets a 404 or 410 of these pictures, so the next request "
        + "fetches them again."
    ],
    examples: [
      .init("imgctl cache rm https://example.org/a.jpg", "The next request fetches it again.")
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    urls = Array(arguments.texts(of: Self.url))
    fetch = try FetchArguments.fetchOptions(in: arguments, for: nil)
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let names = try urls.map { fetch.name(of: try ImageURL(argument: $0)) }
    let removedCount = try context.store.removeRecords(of: names)
    // Last, so that a request that follows finds neither a record nor a remembered failure.
    context.requestIfRunning { (client) throws(ClientError) in
      try client.forgetFailures(of: Set(names.map(\.text)).sorted())
    }
    if isJSON {
      try context.output.write(json: Report(removed: removedCount))
    } else {
      context.note("removed \(HumanText.count(removedCount, of: "thumbnail"))\n")
    }
    return .success
  }

  private struct Report: Encodable {
    let removed: Int
  }
}
