import ImgClient
package import ImgModel
package import ImgSettings
import ImgStore

/// `imgctl cache rm`: removes what the store has of some URLs.
package struct CacheRmCommand: Command {
  /// At least one.
  package let urls: [String]
  package let fetch: FetchOptions
  package let isJSON: Bool

  private static let url = OperandDescription(
    "URL", .many,
    help: "The picture whose thumbnails go, in every size, and its original, whatever "
      + "headers it was asked for with.")

  package static let description = CommandDescription(
    name: "imgctl cache rm", summary: "remove every thumbnail of some URLs from the store",
    operands: [url],
    options: FetchArguments.namingOptions + [.json] + OptionDescription.places,
    notes: [
      "A coordinator that runs forgets as well which of the pictures were missing (404 or 410), "
        + "so that it asks for them anew."
    ],
    examples: [.init("imgctl cache rm https://example.org/a.jpg", "It is fetched anew next time.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    urls = Array(arguments.texts(of: Self.url))
    fetch = try FetchArguments.fetchOptions(in: arguments)
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let names = try urls.map { fetch.name(of: try ImageURL(line: $0)) }
    let wanted = Set(names.map(\.text))
    var keys: [ContentKey] = []
    try context.storeReader()?.forEach { stored in
      if wanted.contains(PictureName.text(ofRecord: stored.url)) { keys.append(stored.key) }
      return true
    }
    let found = keys
    let removedCount = try context.storeWriter()?.change { store throws(StoreError) in
      try store.removePartials(of: names)
      return try store.remove(found)
    }
    // Afterwards, so that who asks from then on finds neither.
    context.askKeeper { (client) throws(ClientError) in
      try client.forgetFailures(of: wanted.sorted())
    }
    if isJSON {
      try context.output.write(json: Report(removed: removedCount ?? 0))
    } else {
      context.note("removed \(HumanText.count(removedCount ?? 0, of: "thumbnail"))\n")
    }
    return .success
  }

  private struct Report: Encodable {
    let removed: Int
  }
}
