import Glibc
import ImgClient
package import ImgModel
package import ImgSettings
import ImgSystem

/// `imgctl submit`: submits lists of URLs as one job.
package struct SubmitCommand: Command {
  /// In the order of their lines; `-` for standard input.
  package let listPaths: [String]
  package let options: RequestOptions
  package let order: LineOrder
  package let pinPolicy: PinPolicy
  /// The name that lists show.
  package let name: String?
  package let isWaiting: Bool
  package let isJSON: Bool

  private static let list = OperandDescription(
    "FILE|-", .many,
    help: "The lists, one URL a line; - reads standard input. Several lists are one job, in their "
      + "order. Empty lines and lines that begin with # are ignored. A URL without a scheme, such as "
      + "example.org/a.jpg, is https.")
  private static let name = OptionDescription(
    "--name", "TEXT", help: "The name of the job in lists.")
  private static let pin = OptionDescription(
    "--pin",
    help:
      "Keep the thumbnails in the store until they are exported, or imgctl unpin JOB. Default: until "
      + "the job ends. While pinned thumbnails use up the store, jobs wait for room.")
  private static let noPin = OptionDescription(
    "--no-pin",
    help: "Do not wait for room in the store: the job's later thumbnails may replace earlier ones.")
  private static let infoOnly = OptionDescription(
    "--info-only",
    help: "Store the facts of each picture, as imgctl info prints them, in place of a thumbnail. A "
      + "few KiB of each picture are fetched. No option of thumbnails goes with it.")
  private static let priority = OptionDescription(
    "--priority", "P", help: "\(RequestOptions.priorityHelp) Default: 0.")
  private static let order = OptionDescription(
    "--order", "ORDER",
    help: "fifo: the first line first; lifo: the last line first. Transfers start in this order, "
      + "but a line whose host must wait does not delay later lines. Default: fifo.")

  package static let description = CommandDescription(
    name: "imgctl submit",
    summary: "fetch a list of URLs and store their thumbnails",
    operands: [list],
    options: StorageOptions.jobOptions + FetchArguments.listOptions
      + [infoOnly, RequestOptions.timeoutOption, priority, order, pin, noPin, name, .wait, .json]
      + OptionDescription.startingPlaces,
    notes: ["Prints the number of the job, which other commands take as JOB."],
    examples: [
      .init("imgctl submit urls.txt", "Thumbnails that fit into 256x256."),
      .init(
        "imgctl submit - --size 640x480 --crop --wait < urls.txt",
        "Thumbnails of exactly 640x480, cropped; returns when the job has ended."),
      .init("imgctl submit monday.txt tuesday.txt", "Two lists as one job."),
      .init("imgctl submit urls.txt --info-only", "Facts only; imgctl export writes them."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    listPaths = Array(arguments.texts(of: Self.list))
    let isInfoOnly = arguments.contains(Self.infoOnly)
    if isInfoOnly {
      try StorageOptions.refuseThumbnailOptions(in: arguments, with: Self.infoOnly)
    }
    options = try StorageOptions.request(
      in: arguments,
      priority: try arguments.value(of: Self.priority, RequestOptions.priority(parsing:)) ?? 0,
      facts: isInfoOnly ? .facts : nil,
      fetch: try FetchArguments.fetchOptions(in: arguments, for: nil, respectsOptOut: true))
    order = try arguments.value(of: Self.order, LineOrder.init(parsing:)) ?? .firstInFirstOut
    let (isPinned, isUnpinned) = (arguments.contains(Self.pin), arguments.contains(Self.noPin))
    guard !isPinned || !isUnpinned else {
      throw UsageError("--pin and --no-pin exclude each other")
    }
    pinPolicy = isPinned ? .untilExported : isUnpinned ? .none : .whileActive
    name = arguments.texts(of: Self.name)?.last
    isWaiting = arguments.contains(.wait)
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    try StorageOptions.check(options.expiry, at: context.now, of: Self.description)
    var list = try ListSubmission(paths: listPaths, of: Self.description)
    let client = try context.coordinator()
    let submitted = try list.submit(
      to: client, name: name, options: options, order: order, pinPolicy: pinPolicy)
    guard isWaiting else {
      try isJSON
        ? context.output.write(json: JSONObject(["job": submitted.job, "total": submitted.total]))
        : context.output.write("\(submitted.job)\n")
      // The job is accepted, whether or not the coordinator goes on.
      if !isJSON, let status = try? client.answer(.job(submitted.job)),
        let shortage = ShortageText(status)
      {
        context.note(shortage.warning)
      }
      return .success
    }
    if !isJSON {
      try context.output.write("\(submitted.job)\n")
      try context.output.flush()
    }
    return try JobFollower(in: context, isJSON: isJSON).follow(submitted.job, continuing: client)
  }
}

/// Lists that are read one after the other and submitted as one job.
struct ListSubmission: ~Copyable {
  private var paths: ArraySlice<String>
  /// The list that is being read; `nil` between two.
  private var list: ListFile?
  private var batches: [[String]] = []

  /// Reads the beginning of the lists, because unreadable or empty ones make no job and need no
  /// coordinator.
  ///
  /// - Parameters:
  ///   - paths: at least one; `-` for standard input.
  ///   - command: the command that reads them.
  init(paths: [String], of command: CommandDescription) throws {
    self.paths = paths[...]
    guard paths.count(where: { $0 == "-" }) < 2 else {
      throw UsageError("\(command.name): standard input can be read once")
    }
    for path in paths.dropFirst() { try ListFile.check(path: path) }
    guard try fill() else {
      let names = paths.map { $0 == "-" ? "standard input" : $0 }.joined(separator: ", ")
      let verb = paths.count == 1 ? "contains" : "contain"
      throw UsageError("\(command.name): \(names) \(verb) no URL; a list has one URL a line")
    }
  }

  mutating func submit(
    to client: Client, name: String? = nil, options: RequestOptions,
    order: LineOrder = .firstInFirstOut, pinPolicy: PinPolicy = .none
  ) throws -> (job: JobID, total: Int) {
    try client.submit(name: name, options: options, order: order, pinPolicy: pinPolicy) {
      try fill() ? batches.removeFirst() : nil
    }
  }

  /// Reads on until there is a batch.
  ///
  /// - Returns: `false` at the end of the last list.
  private mutating func fill() throws -> Bool {
    while batches.isEmpty {
      if list == nil {
        guard let path = paths.popFirst() else { return false }
        list = try ListFile(path: path)
      }
      if let more = try list?.next() { batches = more } else { list = nil }
    }
    return true
  }
}

/// Reads a list from a file or standard input.
package struct ListFile: ~Copyable {
  private static let chunkByteCount = 64 << 10

  private let file: InputFile
  private var reader: ListReader
  private var chunk: [UInt8] = []
  private var hasEnded = false

  /// Opens the list.
  /// - Parameter path: `-` for standard input.
  package init(path: String) throws(ListError) {
    do {
      file = try InputFile(path: path)
    } catch {
      throw .unreadable(reason: "\(error)")
    }
    reader = ListReader(name: file.name)
  }

  /// Finds out whether the list can be opened, before its turn.
  package static func check(path: String) throws(ListError) {
    do {
      try InputFile.check(path: path)
    } catch {
      throw .unreadable(reason: "\(error)")
    }
  }

  /// Waits for more of the list.
  ///
  /// - Returns: the complete batches, possibly none; `nil` at the end.
  package mutating func next() throws(ListError) -> [[String]]? {
    guard !hasEnded else { return nil }
    chunk.removeAll(keepingCapacity: true)
    do {
      hasEnded = try file.read(into: &chunk, upTo: Self.chunkByteCount) == 0
    } catch {
      throw .unreadable(reason: "\(file.name), line \(reader.line): \(error)")
    }
    return hasEnded ? reader.finish() : try reader.feed(chunk)
  }
}

/// Splits the bytes of a list into entries, one a line, and collects them into batches that fit a
/// frame. Pure: bytes in, batches out.
///
/// White space around an entry, empty lines and lines that begin with `#` are ignored. Bytes that
/// are not UTF-8 become U+FFFD. A line that is too long for a URL is truncated, see
/// ``ImageURL/shortened(_:)``. So the coordinator refuses that entry alone, and memory stays bounded.
package struct ListReader: Sendable {
  /// The bytes of a line that are read.
  private static let maximumEntryByteCount = ImageURL.maximumLineByteCount + 1

  /// A file with a zero byte among its first bytes is not text. This includes all UTF-16 files.
  package static let inspectedByteCount = 4_096

  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
  private static let newline = UInt8(ascii: "\n")

  /// The name of the list in errors.
  private let name: String
  private var inspected = 0
  /// The first bytes of the list, while they may still be a byte order mark.
  private var opening: [UInt8] = []
  private var isOpened = false
  /// The start of an unfinished line, without leading white space, truncated to the length of an
  /// entry.
  private var pending: [UInt8] = []
  /// Whether the truncated part contains more than white space.
  private var isPendingOverlong = false
  private var batcher = SubmissionBatcher()
  /// The number of the line that the next byte belongs to, from 1.
  package private(set) var line = 1

  package init(name: String) {
    self.name = name
  }

  /// Reads the next bytes of the list.
  ///
  /// - Returns: the completed batches in order, see ``SubmissionBatcher``.
  /// - Throws: ``ListError/notText(name:line:)``; the reader must not be used afterwards.
  package mutating func feed(_ chunk: [UInt8]) throws(ListError) -> [[String]] {
    try inspect(chunk)
    var batches: [[String]] = []
    cut(isOpened ? chunk[...] : open(with: chunk), &batches)
    return batches
  }

  /// The last batch, after all bytes were fed; none if it is empty.
  package mutating func finish() -> [[String]] {
    var batches: [[String]] = []
    if !isOpened { cut(opening[...], &batches) }
    endLine(with: [], &batches)
    if let last = batcher.finish() { batches.append(last) }
    return batches
  }

  /// Skips a byte order mark.
  /// - Returns: the bytes to read; none while too few have arrived to decide.
  private mutating func open(with chunk: [UInt8]) -> ArraySlice<UInt8> {
    opening += chunk
    guard opening.count >= Self.byteOrderMark.count else { return [] }
    isOpened = true
    defer { opening = [] }
    return opening.starts(with: Self.byteOrderMark)
      ? opening.dropFirst(Self.byteOrderMark.count) : opening[...]
  }

  private mutating func cut(_ bytes: ArraySlice<UInt8>, _ batches: inout [[String]]) {
    var rest = bytes
    while let end = rest.firstIndex(of: Self.newline) {
      endLine(with: rest[..<end], &batches)
      line += 1
      rest = rest[(end + 1)...]
    }
    keep(rest)
  }

  private mutating func inspect(_ chunk: [UInt8]) throws(ListError) {
    guard inspected < Self.inspectedByteCount else { return }
    let head = chunk.prefix(Self.inspectedByteCount - inspected)
    if let end = head.firstIndex(of: 0) {
      let lineCount =
        opening.count { $0 == Self.newline } + head[..<end].count { $0 == Self.newline }
      throw .notText(name: name, line: line + lineCount)
    }
    inspected += head.count
  }

  private mutating func endLine(with bytes: ArraySlice<UInt8>, _ batches: inout [[String]]) {
    if pending.isEmpty {
      addEntry(bytes, isOverlong: false, &batches)
    } else {
      keep(bytes)
      addEntry(pending[...], isOverlong: isPendingOverlong, &batches)
      pending.removeAll(keepingCapacity: true)
      isPendingOverlong = false
    }
  }

  /// Appends to the unfinished line, up to the length of an entry.
  private mutating func keep(_ bytes: ArraySlice<UInt8>) {
    let bytes = pending.isEmpty ? bytes.drop(while: Self.isBlank) : bytes
    let room = Self.maximumEntryByteCount - pending.count
    pending += bytes.prefix(room)
    if !isPendingOverlong {
      isPendingOverlong = !bytes.dropFirst(room).allSatisfy(Self.isBlank)
    }
  }

  private mutating func addEntry(
    _ line: ArraySlice<UInt8>, isOverlong: Bool, _ batches: inout [[String]]
  ) {
    var text = line.drop(while: Self.isBlank)
    if !isOverlong {
      // Not for a truncated line, whose end is not here.
      while let last = text.last, Self.isBlank(last) { text.removeLast() }
    }
    guard let first = text.first, first != UInt8(ascii: "#") else { return }
    let entry = String(decoding: text.prefix(Self.maximumEntryByteCount), as: UTF8.self)
    if let full = batcher.add(ImageURL.shortened(entry)) { batches.append(full) }
  }

  /// The white space of ASCII. It includes CR, which ends lines on some systems.
  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }
}

/// Why a list cannot be read.
package enum ListError: Error, Hashable, Sendable, CustomStringConvertible {
  /// It contains a zero byte in a line, counted from 1.
  case notText(name: String, line: Int)
  case unreadable(reason: String)

  package var description: String {
    switch self {
    case .notText(let name, let line):
      "\(name) is not a text file (line \(line)); a list has one URL a line"
    case .unreadable(let reason): reason
    }
  }
}

/// A file or standard input that a command reads.
struct InputFile: ~Copyable {
  /// Closes a file at the end; `nil` for standard input, which stays open.
  private let file: OwnedDescriptor?
  let descriptor: CInt
  /// The name in messages.
  let name: String

  /// Opens the file with the rights of this process.
  ///
  /// - Parameter path: `-` for standard input.
  init(path: String) throws(SystemError) {
    guard path != "-" else {
      file = nil
      descriptor = STDIN_FILENO
      name = "standard input"
      return
    }
    let opened = try FileIO.open(readingFrom: path)
    descriptor = opened.rawValue
    file = consume opened
    name = path
  }

  /// Finds out whether a file can be opened. Opens no pipe, because its writer goes on once it has a reader.
  static func check(path: String) throws(SystemError) {
    guard path != "-" else { return }
    let status = try FileStatus(following: path)
    guard status.isRegularFile || status.isDirectory else { return }
    _ = try InputFile(path: path)
  }

  /// Waits for bytes and appends them to `buffer`.
  ///
  /// - Returns: the number of bytes; 0 at the end.
  func read(
    into buffer: inout [UInt8], upTo maximumByteCount: Int
  ) throws(SystemError) -> Int {
    try FileIO.read(descriptor, into: &buffer, upTo: maximumByteCount)
  }
}
