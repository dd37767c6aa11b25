import Glibc
import ImgClient
@_spi(Coding) package import ImgModel
import ImgSettings
import ImgSystem

/// Where a list comes from.
enum ListPlace: CustomStringConvertible {
  /// The path of a file; `-` for standard input.
  case file(String)
  case url(ImageURL)
  /// Pictures, and directories of pictures.
  case pictures([String])

  /// - Parameters:
  ///   - takesURLs: whether a URL names a list, and not a picture.
  ///   - takesFiles: whether a path may name a picture or a directory.
  ///   - takesPictureURLs: whether a URL names a picture.
  init(
    _ text: String, of command: CommandDescription, takesURLs: Bool, takesFiles: Bool = false,
    takesPictureURLs: Bool = false
  ) throws {
    if takesPictureURLs, Self.isURL(text) {
      self = .pictures([try ImageURL(argument: text).text])
      return
    }
    guard Self.isURL(text) else {
      self = takesFiles && FileList.isNamed(by: text) ? .pictures([text]) : .file(text)
      return
    }
    guard takesURLs else {
      let advice =
        command.options.contains(ListFormat.option)
        ? "imgctl get loads one picture, and \(ListFormat.option.flag) reads a list there"
        : "a list is a file here, or - for standard input"
      throw UsageError("\(command.name): \(HumanText.source(text)) is a URL; \(advice)")
    }
    self = .url(try ImageURL(argument: text))
  }

  /// - Throws: a ``UsageError`` for a file that does not exist.
  fileprivate static func requireFile(_ path: String, of command: CommandDescription) throws {
    guard path != "-" else { return }
    do throws(SystemError) {
      _ = try FileStatus(following: path)
    } catch  where error.code == ENOENT {
      if ["yes", "no", "true", "false", "on", "off"].contains(path.lowercased()) {
        throw UsageError(
          "\(command.name): no such file: \(path); an option such as --respect-robots takes no value: "
            + "leave \(path) out")
      }
      throw UsageError(
        "\(command.name): no such file: \(Spelling.quotedWhole(path)); a list is a file with one URL a line, "
          + "and imgctl get URL loads one picture")
    } catch {
      // The error of opening it says why.
    }
  }

  /// Whether a text that names a list is a URL.
  static func isURL(_ text: String) -> Bool {
    ["http://", "https://"].contains { text.lowercased().hasPrefix($0) }
  }

  var isFetched: Bool {
    if case .url = self { true } else { false }
  }

  var description: String {
    switch self {
    case .file("-"): "standard input"
    case .file(let path): path
    case .url(let url): HumanText.source(url.text)
    case .pictures(let paths): paths.joined(separator: ", ")
    }
  }
}

/// Lists that are read one after the other and submitted as one job.
struct ListSubmission: ~Copyable {
  /// Fetches a list.
  typealias Fetch = @Sendable (ImageURL) throws -> FetchedList

  private var format: ListFormat
  /// The columns that stay with the lines: those of the first list, which all others have, too.
  private var columns: [String]?
  private let fetch: Fetch?
  /// Whether local files may be named, and those below the directories of a directory; `nil` for no files.
  private let files: FileOptions?
  private let command: CommandDescription
  private var places: ArraySlice<(place: ListPlace, position: Int?)> = []
  /// The list that is being read; `nil` between two.
  private var list: (any ListSource)?
  private var isFormatNoted = false
  /// What the lists so far are taken for that have not one URL a line.
  private var formats: [String] = []
  private var batches: [ListLines] = []
  private var selector: LineSelector
  /// Whether one of the lists so far names local files.
  private(set) var namesFiles = false
  private(set) var skipped = SkippedFiles()

  /// How local files are named.
  struct FileOptions {
    /// Whether the directories in a directory are read, too.
    let isRecursive: Bool
    /// Whether a URL names a picture, and not a list.
    var takesURLs = false
    /// What the store keeps of the pictures; of a local one no original.
    var keep = Keep.thumbnail
    /// The file that the command will write.
    var output: String?
  }

  /// Reads the beginning of the lists, because unreadable or empty ones make no job and need no
  /// coordinator. Reads all of them for a sample.
  ///
  /// - Parameters:
  ///   - paths: at least one; `-` for standard input.
  ///   - command: the command that reads them.
  ///   - selection: which of their lines are taken. If it leaves none, ``isEmpty`` says so.
  ///   - files: `nil` if the lists name no local files.
  ///   - fetch: `nil` if no list is at a server.
  init(
    paths: [String], of command: CommandDescription, as format: ListFormat = ListFormat(),
    taking selection: LineSelection = LineSelection(), files: FileOptions? = nil,
    fetchingBy fetch: Fetch? = nil
  ) throws {
    self.format = format
    selector = LineSelector(selection)
    self.fetch = fetch
    self.files = files
    self.command = command
    let paths = files == nil ? paths : FileList.expanded(paths)
    guard paths.count(where: { $0 == "-" }) < 2 else {
      throw UsageError("\(command.name): standard input can be read once")
    }
    var places: [(place: ListPlace, position: Int?)] = []
    for (position, path) in paths.enumerated() {
      let place = try ListPlace(
        path, of: command, takesURLs: fetch != nil, takesFiles: files != nil && !format.isOfPicsum,
        takesPictureURLs: files?.takesURLs == true)
      if case .pictures(let more) = place {
        if case .pictures(let earlier)? = places.last?.place {
          places[places.count - 1].place = .pictures(earlier + more)
          continue
        }
      } else if position >= LinePlace.maximumListCount {
        throw UsageError(
          "\(command.name): lists must be among the first \(LinePlace.maximumListCount) operands; submit "
            + "\(path) as a job of its own")
      }
      places.append((place, paths.count == 1 ? nil : position))
    }
    if case .picsum(_?) = format.kind, !places.allSatisfy(\.place.isFetched) {
      throw UsageError("\(command.name): \(ListFormat.pages.flag) is for lists at URLs alone")
    }
    for case (.file(let path), _) in places { try ListPlace.requireFile(path, of: command) }
    for case (.file(let path), _) in places.dropFirst() { try ListFile.check(path: path) }
    self.places = places[...]
    guard try fill() || selector.readCount > 0 else {
      let names = places.map(\.place.description).joined(separator: ", ")
      if namesFiles {
        let reason = skipped.text.map { "; \($0)" } ?? ""
        throw UsageError("\(command.name): no picture is in \(names)\(reason)")
      }
      let verb = paths.count == 1 ? "contains" : "contain"
      let rule = format.isOfPicsum || !formats.isEmpty ? "" : "; a list has one URL a line"
      throw UsageError("\(command.name): \(names) \(verb) no URL\(rule)")
    }
  }

  /// - Parameter atEnd: is called when the lists are read, before the coordinator may accept the job.
  mutating func submit(
    to client: Client, name: String? = nil, options: RequestOptions,
    order: LineOrder = .firstInFirstOut, pinPolicy: PinPolicy = .none,
    atEnd: () throws -> Void = {}
  ) throws -> (job: JobID, total: Int) {
    let isOfOwnUser = client.isOfOwnUser
    return try client.submit(
      name: name, options: options, order: order, pinPolicy: pinPolicy,
      namesFiles: files != nil && isOfOwnUser, columns: columns ?? []
    ) {
      guard let lines = try next() else {
        try atEnd()
        return nil
      }
      if namesFiles { try client.requireOwnUser() }
      return lines
    }
  }

  /// Whether the selection leaves no line.
  var isEmpty: Bool { batches.isEmpty }

  /// What the selection has taken and left out so far, for people; `nil` if it takes all.
  var selectionText: String? { selector.text }

  /// What was not yet said of the lists, a line each, after their end.
  var notes: String {
    (formats + [selectionText, skipped.text].compactMap(\.self)).map { "\($0)\n" }.joined()
  }

  /// - Returns: the next lines; `nil` at the end of the last list.
  mutating func next() throws -> ListLines? {
    try fill() ? batches.removeFirst() : nil
  }

  /// Reads on until there is a batch.
  ///
  /// - Returns: `false` at the end of the last list.
  private mutating func fill() throws -> Bool {
    while batches.isEmpty {
      if selector.isComplete {
        endList()
        places = []
      }
      if list == nil {
        guard let place = places.popFirst() else {
          batches = selector.finish()
          return !batches.isEmpty
        }
        list = try open(place.place, place.position)
      }
      if let more = try list?.next() {
        batches = more.flatMap { selector.take($0) }
      } else {
        endList()
      }
      if !isFormatNoted, let text = list?.formatDescription {
        formats.append(text)
        isFormatNoted = true
      }
      if columns == nil, let found = list?.columnNames {
        columns = found
        format = format.following(found)
      }
      if list?.namesFiles == true { namesFiles = true }
      if namesFiles { try checkKeep() }
    }
    return true
  }

  /// Takes what was not yet said of the formats of lists, a line each.
  mutating func takeFormats() -> String {
    defer { formats = [] }
    return formats.map { "\($0)\n" }.joined()
  }

  private func checkKeep() throws(UsageError) {
    guard let keep = files?.keep, keep.withoutOriginal == .none, keep != .none else { return }
    throw UsageError(
      "\(command.name): the store keeps no original of a local picture, because the file has it; submit local pictures "
        + "without --keep original and --decode lazy, which leave nothing else of them")
  }

  private mutating func endList() {
    if let files = list as? FileList { skipped = skipped + files.skipped }
    list = nil
    isFormatNoted = false
  }

  private func open(_ place: ListPlace, _ position: Int?) throws -> any ListSource {
    switch (format.kind, place, fetch) {
    case (.picsum, .file(let path), _): PicsumList(path: path)
    case (.picsum(let pageCount), .url(let url), let fetch?):
      PicsumList(at: url, pageCount: pageCount ?? 1, fetchingBy: fetch)
    case (_, .file(let path), _):
      try ListFile(
        path: path, as: format, list: position, paths: files.map { _ in LocalPaths(inList: path) })
    case (_, .pictures(let paths), _) where format.columns != .none:
      throw UsageError(
        "\(command.name): \(paths.joined(separator: ", ")): a picture has no columns; \(ListFormat.columns.flag) is for "
          + "tables and JSON")
    case (_, .pictures(let paths), _):
      FileList(paths, isRecursive: files?.isRecursive ?? false, output: files?.output)
    case (_, .url(let url), let fetch?):
      ListFile(try ListInput(at: url, fetchedBy: fetch), as: format, list: position)
    case (_, .url, nil): preconditionFailure("a list at a URL is refused before")
    }
  }
}

/// The bytes of a list: of a file, of standard input, or from a server.
struct ListInput {
  /// The name in messages.
  let name: String
  /// Waits for bytes and appends them to the buffer, at most the second argument.
  ///
  /// - Returns: their number; 0 at the end.
  let read: (inout [UInt8], Int) throws -> Int
  /// How long the next request to the server waits.
  let pause: Duration

  /// - Parameter path: `-` for standard input.
  /// - Throws: a ``SystemError``, or a ``ListError`` if it is compressed and cannot be decompressed here.
  init(path: String) throws {
    let file = try InputFile(path: path)
    name = file.name
    pause = .zero
    let beginning = try FileIO.peek(file.descriptor, upTo: ListCompression.signatureByteCount)
    if let compression = ListCompression(beginning) {
      read = try compression.reader(of: file.descriptor, named: file.name)
    } else {
      read = { (bytes, maximumByteCount) in try file.read(into: &bytes, upTo: maximumByteCount) }
    }
  }

  /// - Throws: ``InvalidArgumentURL`` if the server does not send the list.
  init(at url: ImageURL, fetchedBy fetch: ListSubmission.Fetch) throws {
    name = HumanText.source(url.text)
    do {
      let list = try fetch(url)
      pause = list.pause
      read = { (bytes, maximumByteCount) in try list.read(into: &bytes, upTo: maximumByteCount) }
    } catch let failure as Failure {
      throw InvalidArgumentURL(url: url.text, failure: failure)
    }
  }
}

/// A list that is being read.
protocol ListSource: AnyObject {
  /// Waits for more of the list.
  ///
  /// - Returns: the complete batches, possibly none; `nil` at the end.
  func next() throws -> [ListLines]?
  /// Whether the list so far names files that this command reads.
  var namesFiles: Bool { get }
  /// What the list is taken for, with its name; `nil` for one URL a line, and before its beginning was read.
  var formatDescription: String? { get }
  /// The columns that stay with its lines; `nil` before its beginning was read.
  var columnNames: [String]? { get }
}

extension ListSource {
  var formatDescription: String? { nil }
  var columnNames: [String]? { [] }
}

/// Reads a list of any format but that of Lorem Picsum.
package final class ListFile: ListSource {
  private static let chunkByteCount = 64 << 10

  private let input: ListInput
  private var reader: ListReader
  private var chunk: [UInt8] = []
  private var hasEnded = false

  /// - Parameters:
  ///   - list: see ``LinePlace/list``.
  ///   - paths: see ``ListReader``.
  init(
    _ input: ListInput, as format: ListFormat = ListFormat(), list: Int? = nil,
    paths: LocalPaths? = nil
  ) {
    reader = ListReader(name: input.name, as: format, list: list, paths: paths)
    self.input = input
  }

  var namesFiles: Bool { reader.namesFiles }

  var formatDescription: String? { reader.formatDescription.map { "\(input.name): \($0)" } }

  var columnNames: [String]? { reader.columnNames }

  /// Opens the list.
  ///
  /// - Parameters:
  ///   - path: `-` for standard input.
  ///   - list: see ``LinePlace/list``.
  ///   - paths: see ``ListReader``.
  package convenience init(
    path: String, as format: ListFormat = ListFormat(), list: Int? = nil, paths: LocalPaths? = nil
  ) throws(ListError) {
    do {
      self.init(try ListInput(path: path), as: format, list: list, paths: paths)
    } catch {
      throw .unreadable(reason: "\(error)")
    }
  }

  /// Finds out whether the list can be opened, before its turn.
  package static func check(path: String) throws(ListError) {
    do {
      try InputFile.check(path: path)
    } catch {
      throw .unreadable(reason: "\(error)")
    }
  }

  package func next() throws(ListError) -> [ListLines]? {
    guard !hasEnded else { return nil }
    chunk.removeAll(keepingCapacity: true)
    do {
      hasEnded = try input.read(&chunk, Self.chunkByteCount) == 0
    } catch {
      throw .unreadable(reason: "\(input.name), line \(reader.line): \(error)")
    }
    return hasEnded ? try reader.finish() : try reader.feed(chunk)
  }
}

/// Reads a list of Lorem Picsum: a file, or pages of a server.
final class PicsumList: ListSource {
  /// One picture of the list. Its other members are not used.
  private struct Picture: Hashable, Fielded {
    let downloadURL: String

    init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
      downloadURL = try f.field("download_url", value?.downloadURL)
    }
  }

  /// The longest JSON of a page. 100 pictures of Lorem Picsum take 25 KB.
  private static let maximumByteCount = 64 << 20

  private let openPage: (Int) throws -> ListInput
  private let pageCount: Int
  private var readCount = 0
  private var previous: [Picture] = []
  private var pause = Duration.zero
  let namesFiles = false

  /// - Parameter path: `-` for standard input.
  init(path: String) {
    openPage = { _ in try ListInput(path: path) }
    pageCount = 1
  }

  /// - Parameter pageCount: the pages that are read, from the one that the URL names.
  init(at url: ImageURL, pageCount: Int, fetchingBy fetch: @escaping ListSubmission.Fetch) {
    openPage = { try ListInput(at: try Self.url(of: $0, after: url), fetchedBy: fetch) }
    self.pageCount = pageCount
  }

  /// The URLs of the next page. The list ends before a page without pictures, and before one that is the same as the
  /// page before: some servers repeat their last page.
  func next() throws -> [ListLines]? {
    guard readCount < pageCount else { return nil }
    if pause > .zero { ThisProcess.pause(for: pause) }
    let page = try openPage(readCount)
    pause = page.pause
    let pictures = try Self.pictures(in: page)
    guard !pictures.isEmpty, pictures != previous else {
      readCount = pageCount
      return nil
    }
    readCount += 1
    previous = pictures
    var batcher = SubmissionBatcher()
    let full = pictures.compactMap {
      batcher.add(ListLine(ImageURL.shortened(FileURL.withoutVersion($0.downloadURL))))
    }
    return full + [batcher.finish()].compactMap(\.self)
  }

  private static func pictures(in page: ListInput) throws -> [Picture] {
    var json: [UInt8] = []
    while try rethrowing(
      try page.read(&json, 64 << 10),
      as: { (error: any Error) in ListError.unreadable(reason: "\(page.name): \(error)") }) > 0
    {
      guard json.count <= maximumByteCount else {
        throw ListError.unreadable(
          reason: "\(page.name): a page has more than \(maximumByteCount >> 20) MiB")
      }
    }
    do throws(FieldError) {
      return try Fields.value([Picture].self, of: json[...])
    } catch {
      throw ListError.unreadable(
        reason: "\(page.name): no list of Lorem Picsum, which is a JSON array of objects with a "
          + "download_url: \(error)")
    }
  }

  /// The URL of a page: `page` in the query is its number, and 1 if it is missing. The list of a server that
  /// is named without a path is at `/v2/list`.
  private static func url(of index: Int, after url: ImageURL) throws(Failure) -> ImageURL {
    let parts = url.text.split(separator: "?", maxSplits: 1).map(String.init)
    // "https:", "", "HOST", and what the path has.
    let hasPath = parts[0].split(separator: "/", omittingEmptySubsequences: false).dropFirst(3)
      .contains { !$0.isEmpty }
    let path = hasPath ? parts[0] : "\(parts[0])\(parts[0].hasSuffix("/") ? "" : "/")v2/list"
    var query = parts.dropFirst().flatMap { $0.split(separator: "&").map(String.init) }
    let name = "page="
    if index > 0 {
      let first = query.first { $0.hasPrefix(name) }.flatMap { Int($0.dropFirst(name.count)) } ?? 1
      let (number, isOverflow) = first.addingReportingOverflow(index)
      guard !isOverflow else {
        throw Failure(
          stage: .queue, code: .invalidURL, detail: "the number of the page is too large")
      }
      query.removeAll { $0.hasPrefix(name) }
      query.append("\(name)\(number)")
    }
    return try ImageURL(parsing: query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))")
  }
}
