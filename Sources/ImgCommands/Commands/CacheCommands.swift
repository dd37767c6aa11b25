import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl cache get`: returns thumbnails that are stored.
package struct CacheGetCommand: Command {
  /// Several are for a directory, or for descriptions.
  package let urls: [String]
  package let fetch: FetchOptions
  private let choice: VariantChoice
  private let picture: PictureOutput

  package var variant: Variant { choice.variant }
  package var isLenient: Bool { choice.isLenient }

  private static let source = OperandDescription(
    "URL", .many, help: "The URL of the picture. Several are for -o DIR/, or for --json alone.")

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
      .init(
        "imgctl cache get example.org/a.jpg example.org/b.jpg -o thumbs/",
        "Files named as the pictures, such as thumbs/a.jpg."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    urls = Array(arguments.texts(of: Self.source))
    fetch = try FetchArguments.fetchOptions(in: arguments, for: urls)
    picture = try PictureOutput(arguments)
    choice = try VariantOptions.choice(in: arguments, for: picture)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    guard let files = try picture.files(of: urls, for: Self.description.name) else {
      return try deliver(urls[0], to: picture, in: context)
    }
    var code = ExitCode.success
    for (url, file) in zip(urls, files) where try deliver(url, to: file, in: context) != .success {
      code = .someFailed
    }
    return code
  }

  private func deliver(
    _ text: String, to picture: PictureOutput, in context: CommandContext
  ) throws -> ExitCode {
    try picture.check(for: Self.description.name)
    let url = try ImageURL(argument: text)
    let store = try context.namedStore(for: Self.description.name)
    switch try store.thumbnail(of: fetch.name(of: url), choice) {
    case .found(let found):
      try picture.deliver(
        found.bytes, found.record.thumbnail,
        JSONObject.picture(RequestedURL(text), found.record), of: [text], in: context)
      return .success
    case .damaged:
      return absent(
        url, "is stored, but the picture is damaged; --lenient accepts that", in: context)
    case .absent(let otherFormats):
      let others = otherFormats.first.map {
        " as \(variant.format.rawValue), only as \($0.rawValue)"
      }
      let original = try store.original(of: fetch.name(of: url), isLenient: true)
      let remedy =
        original == nil
        ? "imgctl get fetches it"
        : "the original is: imgctl get makes this size of it, and imgctl get --original gives it"
      return absent(url, "is not stored in this size\(others ?? ""); \(remedy)", in: context)
    }
  }

  private func absent(
    _ url: ImageURL, _ reason: String, in context: CommandContext
  ) -> ExitCode {
    context.report(error: "\(HumanText.printable(url.text)) \(reason)")
    return .someFailed
  }
}

/// `imgctl cache ls`: lists the thumbnails in the store.
package struct CacheLsCommand: Command {
  package let isJSON: Bool
  package let filter: CacheLsFilter

  package static let description = CommandDescription(
    name: "imgctl cache ls", summary: "list the thumbnails in the store",
    options: [.json] + CacheLsFilter.options + OptionDescription.places,
    examples: [
      .init("imgctl cache ls --json", "One object a line."),
      .init(
        "imgctl cache ls --host example.org --older-than 2d --larger-than 64K",
        "Old and large thumbnails of one host."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isJSON = arguments.contains(.json)
    filter = try CacheLsFilter(arguments)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let now = context.now
    try context.namedStore(for: Self.description.name).forEachRecord { record in
      guard filter.admits(record, at: now) else { return true }
      if isJSON {
        try context.output.write(json: record)
      } else {
        try context.output.write(line(of: record))
      }
      return true
    }
    return .success
  }

  /// Kind (with `,damaged`), format, size in pixels, bytes, expiry and URL, separated by tabs. Columns are not
  /// aligned, so a list of any length streams.
  private func line(of record: CacheRecord) -> String {
    let thumbnail = record.thumbnail
    let damage = thumbnail.isDamaged ? ",damaged" : ""
    return "\(record.kind.rawValue)\(damage)\t\(thumbnail.format.rawValue)\t"
      + "\(thumbnail.width)x\(thumbnail.height)\t"
      + "\(thumbnail.byteCount)\t\(record.expiryTime)\t\(HumanText.printable(record.name))\n"
  }
}

/// Selects the thumbnails that `imgctl cache ls` lists: those that match every given option.
package struct CacheLsFilter: Hashable, Sendable {
  /// The host in lower case, without a port; `nil` for any host.
  private let host: String?
  /// In milliseconds.
  private let ages: Range<Int64>
  private let byteCounts: Range<Int64>
  /// `nil` for both.
  private let isExpired: Bool?

  private static let host = OptionDescription(
    "--host", "HOST", help: "Only from this host, on any port. Subdomains are other hosts.")
  private static let olderThan = OptionDescription(
    "--older-than", "DURATION", help: "Only if stored longer ago than this, such as 2d.")
  private static let newerThan = OptionDescription(
    "--newer-than", "DURATION", help: "Only if stored more recently than this.")
  private static let largerThan = OptionDescription(
    "--larger-than", "SIZE", help: "Only thumbnails with more bytes, such as 64K.")
  private static let smallerThan = OptionDescription(
    "--smaller-than", "SIZE", help: "Only thumbnails with fewer bytes.")
  private static let expired = OptionDescription(
    "--expired", help: "Only expired thumbnails that are not removed yet.")
  private static let fresh = OptionDescription(
    "--fresh", help: "Only thumbnails that have not expired.")

  static let options = [
    host, olderThan, newerThan, largerThan, smallerThan, expired, fresh,
  ]

  init(_ arguments: ArgumentReader) throws(UsageError) {
    host = try arguments.value(of: Self.host, HostText.host(parsing:))
    ages = try Self.range(arguments, over: Self.olderThan, under: Self.newerThan, in: .duration)
    byteCounts = try Self.range(
      arguments, over: Self.largerThan, under: Self.smallerThan, in: .size)
    let wantsExpired = arguments.contains(Self.expired)
    let wantsFresh = arguments.contains(Self.fresh)
    guard !(wantsExpired && wantsFresh) else {
      throw UsageError("--expired and --fresh exclude each other")
    }
    isExpired = wantsExpired ? true : wantsFresh ? false : nil
  }

  func admits(_ record: CacheRecord, at now: WallTime) -> Bool {
    admits(
      url: record.url, byteCount: Int64(record.thumbnail.byteCount), storedAt: record.storageTime,
      expiresAt: record.expiryTime, at: now)
  }

  package func admits(
    url: String, byteCount: Int64, storedAt: WallTime, expiresAt: WallTime, at now: WallTime
  ) -> Bool {
    guard ages.contains(storedAt.duration(to: now).milliseconds),
      byteCounts.contains(byteCount), isExpired == nil || isExpired == (expiresAt <= now)
    else { return false }
    guard let host else { return true }
    // A text that is not a URL has no host: a `--cache-key`, or that of a damaged record.
    return (try? ImageURL(parsing: url))?.host == host
  }

  /// The values between two limits, without the limits.
  private static func range(
    _ arguments: ArgumentReader, over: OptionDescription, under: OptionDescription,
    in scale: UnitScale
  ) throws(UsageError) -> Range<Int64> {
    let read = { (text: String) throws(InvalidValue) in
      try scale.value(parsing: text, in: 0...(.max - 1))
    }
    let lower = try arguments.value(of: over, read)
    let upper = try arguments.value(of: under, read)
    guard let upper else { return (lower.map { $0 + 1 } ?? .min)..<(.max) }
    guard let lower else { return .min..<upper }
    guard lower + 1 < upper else {
      throw UsageError("no value lies between \(over.flag) and \(under.flag)")
    }
    return lower + 1..<upper
  }
}

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
    options: StorageOptions.putOptions + [.json] + OptionDescription.startingPlaces,
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
    context.noteTypedInput(path, of: "a picture")
    do {
      let stored = try store(try ImageURL(line: url), in: context)
      if isJSON {
        try context.output.write(json: JSONObject.picture(RequestedURL(url), stored))
      } else {
        let made = stored.thumbnail
        context.note(
          "stored \(made.width)x\(made.height) \(made.format.rawValue), "
            + "\(HumanText.size(Int64(made.byteCount)))"
            + "\(made.isDamaged ? ", of a damaged picture" : "")\n")
      }
      return .success
    } catch let failure as Failure {
      if isJSON { try context.output.write(json: JSONObject.picture(RequestedURL(url), failure)) }
      let sources = [path, url].map(HumanText.source).joined(separator: " for ")
      context.report(error: "\(sources): \(failure)")
      return .someFailed
    }
  }

  private func store(_ url: ImageURL, in context: CommandContext) throws -> CacheRecord {
    let file = try PictureFile(path: path)
    let client = try context.coordinatorOfStore()
    return try client.put(
      try file.contents(for: client), as: url, options: options, in: context.store)
  }
}

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
        + "fetches them again.",
      "What jobs pin is removed, too. The command says how much that was, and imgctl export JOB DIR --fetch fetches it "
        + "again.",
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
    let removal = try context.namedStore(for: Self.description.name, isNeeded: true)
      .removeRecords(of: names)
    let pinned = context.pinnedRecords(removal.pinned)
    // Last, so that a request that follows finds neither a record nor a remembered failure.
    context.requestIfRunning { (client) throws(ClientError) in
      try client.forgetFailures(of: Set(names.map(\.text)).sorted())
    }
    try context.answer(
      JSONObject(["removed": removal.count, "pinned": pinned]), isJSON: isJSON,
      orSay: "removed \(HumanText.count(removal.count, of: "record"))" + pinned.clause())
    return .success
  }
}

/// `imgctl cache clean`: removes expired thumbnails.
package struct CacheCleanCommand: Command {
  /// Whether the command removes them itself and returns when none is left.
  package let isWaiting: Bool
  package let isJSON: Bool

  private static let wait = OptionDescription(
    "--wait", help: "Remove them in this process, and return when none is left.")

  package static let description = CommandDescription(
    name: "imgctl cache clean", summary: "remove expired thumbnails from the store",
    options: [wait, .json] + OptionDescription.places,
    notes: [
      "If a coordinator runs, the command returns at once, and a worker removes the thumbnails in "
        + "small steps. Without a coordinator, the command removes them itself and starts none. "
        + "Every coordinator also does this once a minute, for thumbnails that expired more than a "
        + "minute ago."
    ],
    examples: [
      .init("imgctl cache clean", "Frees the space in the background."),
      .init("imgctl cache clean --wait", "The space is free when the command ends."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isWaiting = arguments.contains(Self.wait)
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let now = context.now
    let store = try context.namedStore(for: Self.description.name)
    let expiredCount = try store.expiredCount(at: now)
    let isInBackground = expiredCount > 0 && !isWaiting && context.sweepsInBackground()
    let removedCount = isInBackground ? 0 : try store.removeExpired(at: now)
    try context.answer(
      JSONObject([
        "expired": expiredCount, "removed": removedCount, "in_background": isInBackground,
      ]), isJSON: isJSON,
      orSay: isInBackground
        ? "removing \(HumanText.count(expiredCount, of: "expired thumbnail")) in the background"
        : "removed \(HumanText.count(removedCount, of: "expired thumbnail"))")
    return .success
  }
}
