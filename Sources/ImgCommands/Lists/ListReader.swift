import Glibc
import ImgClient
package import ImgModel
import ImgSettings
import ImgSystem

/// Splits the bytes of a list into entries and collects them into batches that fit a frame. Pure: bytes in, batches
/// out.
///
/// It recognises the format of the list by its beginning, unless that is named. A path becomes the URL of a file that the
/// command reads, if files may be named. An entry that is too long for a URL is truncated, see
/// ``ImageURL/shortened(_:)``. So the coordinator refuses that entry alone, and memory stays bounded.
package struct ListReader: Sendable {
  /// The bytes by which a format is recognised. A list with a zero byte among them is not text. A batch is longer.
  package static let inspectedByteCount = 16 << 10

  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// The name of the list in errors.
  private let name: String
  private let format: ListFormat
  /// The first bytes of the list, until its format is known.
  private var head: [UInt8] = []
  /// `nil` until then.
  private var reader: (any EntryReader)?
  private var entries: ListEntries

  /// - Parameters:
  ///   - format: not of Lorem Picsum.
  ///   - list: see ``LinePlace/list``.
  ///   - paths: `nil` if the list names no files.
  package init(
    name: String, as format: ListFormat = ListFormat(), list: Int? = nil, paths: LocalPaths? = nil
  ) {
    self.name = name
    self.format = format
    entries = ListEntries(list: list, paths: paths)
  }

  /// Whether a line was a path.
  var namesFiles: Bool { entries.namesFiles }

  /// The number of the line that the next byte belongs to, from 1.
  package var line: Int { reader?.line ?? 1 + head.count { $0 == UInt8(ascii: "\n") } }

  /// What the list is taken for; `nil` for one URL a line, and before its beginning was read.
  var formatDescription: String? { reader?.description }

  /// The columns that stay with the lines; `nil` before the beginning was read.
  var columnNames: [String]? { reader?.columnNames }

  /// Reads the next bytes of the list.
  ///
  /// - Returns: the completed batches in order, see ``SubmissionBatcher``.
  /// - Throws: a ``ListError``; the reader must not be used afterwards.
  package mutating func feed(_ chunk: [UInt8]) throws(ListError) -> [ListLines] {
    if reader != nil {
      try read(chunk[...])
    } else {
      head += chunk
      try requireText()
      if isHeadLong { try open(isWhole: false) }
    }
    return entries.takeFull()
  }

  /// The last batch, after all bytes were fed; none if it is empty.
  ///
  /// - Throws: a ``ListError`` for a list that is not in its format.
  package mutating func finish() throws(ListError) -> [ListLines] {
    if reader == nil { try open(isWhole: true) }
    do throws(ListFormatError) {
      try reader?.finish(into: &entries)
    } catch {
      throw .format(name: name, error)
    }
    try requireDecoded()
    return entries.takeAll()
  }

  /// Whether the head has enough to decide: a header and a record, or as much as is kept of a record.
  private var isHeadLong: Bool {
    guard head.count >= Self.inspectedByteCount else { return false }
    let newline = UInt8(ascii: "\n")
    guard head.count < TableRecords.maximumByteCount, let first = head.firstIndex(of: newline)
    else { return head.count >= TableRecords.maximumByteCount }
    return head[(first + 1)...].contains(newline)
  }

  private mutating func read(_ bytes: ArraySlice<UInt8>) throws(ListError) {
    do throws(ListFormatError) {
      try reader?.feed(bytes, into: &entries)
    } catch {
      throw .format(name: name, error)
    }
    try requireDecoded()
  }

  private func requireDecoded() throws(ListError) {
    if let line = entries.undecodableLine { throw .notUTF8(name: name, line: line) }
  }

  /// Recognises the format, and reads what has come. Skips a byte order mark.
  private mutating func open(isWhole: Bool) throws(ListError) {
    let start =
      head.starts(with: Self.byteOrderMark) ? head.dropFirst(Self.byteOrderMark.count) : head[...]
    if start.contains(UInt8(ascii: "\r")), !start.contains(UInt8(ascii: "\n")),
      start.split(separator: UInt8(ascii: "\r")).count > 1
    {
      throw .carriageReturns(name: name)
    }
    do throws(ListFormatError) {
      reader = try format.reader(
        ofListNamed: name, head: ListHead(bytes: start, isWhole: isWhole))
      guard reader != nil else { return }
      head = []
    } catch {
      throw .format(name: name, error)
    }
    try read(start)
  }

  private func requireText() throws(ListError) {
    guard let end = head.prefix(Self.inspectedByteCount).firstIndex(of: 0) else { return }
    if isUTF16 { throw .utf16(name: name) }
    if head.starts(with: Array("PAR1".utf8)) { throw .parquet(name: name) }
    if let compression = ListCompression(head) {
      throw .compressed(name: name, program: compression.rawValue)
    }
    throw .notText(name: name, line: 1 + head[..<end].count { $0 == UInt8(ascii: "\n") })
  }

  /// Whether the list begins with a byte order mark of UTF-16, or with two characters of ASCII in UTF-16.
  private var isUTF16: Bool {
    let start = head.prefix(4)
    return [[0xFF, 0xFE], [0xFE, 0xFF]].contains(Array(start.prefix(2)))
      || start.count == 4 && (start[0] == 0) != (start[1] == 0)
        && (start[0] == 0) == (start[2] == 0) && (start[1] == 0) == (start[3] == 0)
  }
}

/// Reads the entries of a list in one format.
protocol EntryReader: Sendable {
  mutating func feed(
    _ bytes: ArraySlice<UInt8>, into entries: inout ListEntries
  ) throws(ListFormatError)
  /// Reads the last entry, after all bytes were fed.
  mutating func finish(into entries: inout ListEntries) throws(ListFormatError)
  /// The number of the line that the next byte belongs to, from 1.
  var line: Int { get }
  /// The format, for people; `nil` for one URL a line.
  var description: String? { get }
  /// The names of the columns that stay with the entries.
  var columnNames: [String] { get }
}

/// The entries of a list as they are submitted.
struct ListEntries: Sendable {
  /// The bytes of an entry that are read.
  static let maximumByteCount = ImageURL.maximumLineByteCount + 1
  /// The bytes of a row without a URL that failures show.
  private static let shownByteCount = 100

  /// See ``LinePlace/list``.
  private let list: Int?
  /// Makes URLs of the entries that are paths; `nil` for a list that names no files.
  private let paths: LocalPaths?
  private(set) var namesFiles = false
  private var batcher = SubmissionBatcher()
  private var full: [ListLines] = []
  /// The first line of a row whose columns are not UTF-8, which would not be what the list has.
  private(set) var undecodableLine: Int?

  init(list: Int?, paths: LocalPaths?) {
    self.list = list
    self.paths = paths
  }

  /// - Parameter line: where the entry begins, from 1.
  mutating func add(_ entry: String, at line: Int) {
    submit(url(of: entry), at: line)
  }

  /// Adds the URL of a row. A row without one, or with columns that are too long, is an entry, too, which fails.
  ///
  /// - Parameter columns: `nil` if they are too long.
  mutating func add(
    _ url: String?, _ columns: LineColumns?, ofRow row: ArraySlice<UInt8>, at line: Int
  ) {
    if columns != LineColumns.none, undecodableLine == nil,
      (try? UTF8Span(validating: row.span)) == nil
    {
      undecodableLine = line
    }
    let text = (url ?? "").drop(while: \.isWhitespace)
    if !text.isEmpty, let columns {
      let entry = String(text.prefix(Self.maximumByteCount))
      return submit(self.url(of: entry), at: line, columns)
    }
    let beginning = String(decoding: row.prefix(Self.shownByteCount), as: UTF8.self)
    let refused = text.isEmpty ? UnusableRow.missingURL : .longColumns
    let shown = beginning.filter { $0 != "\u{FFFD}" }
    submit(refused.line(of: shown), at: line, columns ?? .none)
  }

  private mutating func submit(_ text: String, at line: Int, _ columns: LineColumns = .none) {
    let line = ListLine(text, at: LinePlace(line: line, list: list), columns: columns)
    if let batch = batcher.add(line) { full.append(batch) }
  }

  private mutating func url(of entry: String) -> String {
    guard let paths, paths.isPath(entry) else {
      return ImageURL.shortened(FileURL.withoutVersion(entry))
    }
    namesFiles = true
    return paths.url(of: entry)
  }

  /// Takes the batches that are full.
  mutating func takeFull() -> [ListLines] {
    defer { full = [] }
    return full
  }

  /// Takes the last batch, too.
  mutating func takeAll() -> [ListLines] { takeFull() + [batcher.finish()].compactMap(\.self) }
}

/// The entries of a list of text, one a line. White space around an entry, empty lines and lines that begin with `#` are
/// ignored. Bytes that are not UTF-8 become U+FFFD.
struct TextEntries: EntryReader {
  private static let newline = UInt8(ascii: "\n")

  /// The start of an unfinished line, without leading white space, truncated to the length of an
  /// entry.
  private var pending: [UInt8] = []
  /// Whether the truncated part contains more than white space.
  private var isPendingOverlong = false
  private(set) var line = 1

  var description: String? { nil }
  var columnNames: [String] { [] }

  mutating func feed(_ bytes: ArraySlice<UInt8>, into entries: inout ListEntries) {
    var rest = bytes
    while let end = rest.firstIndex(of: Self.newline) {
      endLine(with: rest[..<end], &entries)
      line += 1
      rest = rest[(end + 1)...]
    }
    keep(rest)
  }

  mutating func finish(into entries: inout ListEntries) { endLine(with: [], &entries) }

  private mutating func endLine(with bytes: ArraySlice<UInt8>, _ entries: inout ListEntries) {
    if pending.isEmpty {
      add(bytes, isOverlong: false, &entries)
    } else {
      keep(bytes)
      add(pending[...], isOverlong: isPendingOverlong, &entries)
      pending.removeAll(keepingCapacity: true)
      isPendingOverlong = false
    }
  }

  /// Appends to the unfinished line, up to the length of an entry.
  private mutating func keep(_ bytes: ArraySlice<UInt8>) {
    let bytes = pending.isEmpty ? bytes.drop(while: Self.isBlank) : bytes
    let room = ListEntries.maximumByteCount - pending.count
    pending += bytes.prefix(room)
    if !isPendingOverlong {
      isPendingOverlong = !bytes.dropFirst(room).allSatisfy(Self.isBlank)
    }
  }

  private func add(
    _ bytes: ArraySlice<UInt8>, isOverlong: Bool, _ entries: inout ListEntries
  ) {
    var text = bytes.drop(while: Self.isBlank)
    if !isOverlong {
      // Not for a truncated line, whose end is not here.
      while let last = text.last, Self.isBlank(last) { text.removeLast() }
    }
    guard let first = text.first, first != UInt8(ascii: "#") else { return }
    entries.add(
      String(decoding: text.prefix(ListEntries.maximumByteCount), as: UTF8.self), at: line)
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
  /// It is text in UTF-16.
  case utf16(name: String)
  /// A row that stays with its URL has other bytes.
  case notUTF8(name: String, line: Int)
  /// Its lines end with CR alone.
  case carriageReturns(name: String)
  case parquet(name: String)
  /// It comes from where no program can decompress it, such as a server.
  case compressed(name: String, program: String)
  case format(name: String, ListFormatError)
  case unreadable(reason: String)

  package var description: String {
    switch self {
    case .notText(let name, let line):
      "\(name) is not a text file (line \(line)); a list has one URL a line"
    case .utf16(let name): "\(name) is UTF-16; save it as UTF-8, and read that file"
    case .notUTF8(let name, let line):
      "\(name) is not UTF-8 (line \(line)), so its columns cannot be kept; iconv -f LATIN1 -t UTF-8 FILE makes UTF-8 of "
        + "Latin-1"
    case .carriageReturns(let name):
      "\(name): its lines end with CR alone, as on old Macintoshes; tr '\\r' '\\n' < FILE | imgctl submit - reads it"
    case .parquet(let name): "\(name) is Parquet; \(ListFormat.parquetAdvice(for: name))"
    case .compressed(let name, let program):
      "\(name) is compressed with \(program); save it, and submit the file"
    case .format(let name, let error): "\(name)\(error)"
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

/// How a list is compressed. The program of the format decompresses it, in a process of its own.
enum ListCompression: String, CaseIterable {
  case gzip, bzip2, xz, zstd

  static let signatureByteCount = 6

  private var signature: [UInt8] {
    switch self {
    case .gzip: [0x1F, 0x8B]
    case .bzip2: Array("BZh".utf8)
    case .xz: [0xFD] + Array("7zXZ".utf8) + [0]
    case .zstd: [0x28, 0xB5, 0x2F, 0xFD]
    }
  }

  /// The end of a file's name, after that of the list.
  private var suffix: String {
    switch self {
    case .gzip: ".gz"
    case .bzip2: ".bz2"
    case .xz: ".xz"
    case .zstd: ".zst"
    }
  }

  /// - Parameter beginning: of a file.
  /// - Returns: `nil` for one that is not compressed.
  init?(_ beginning: some Collection<UInt8>) {
    guard let found = Self.allCases.first(where: { beginning.starts(with: $0.signature) })
    else { return nil }
    self = found
  }

  /// The name of the list in a compressed file.
  static func uncompressedName(_ name: String) -> String {
    allCases.first { name.hasSuffix($0.suffix) }.map { String(name.dropLast($0.suffix.count)) }
      ?? name
  }

  /// Decompresses a file.
  ///
  /// - Parameter name: of the list, for errors.
  func reader(of file: CInt, named name: String) throws -> (inout [UInt8], Int) throws -> Int {
    let path = ThisProcess.environment["PATH"] ?? "/usr/bin:/bin"
    let places = path.split(separator: ":").map { "\($0)/\(rawValue)" }
    guard let executable = places.first(where: FileIO.isFile) else {
      let package = self == .xz ? "xz-utils" : rawValue
      throw ListError.unreadable(
        reason:
          "\(name) is compressed with \(rawValue), which is not installed: apt install \(package)")
    }
    // xz takes as much memory as a file asks for unless it is told a limit; zstd has one.
    let limits = self == .xz ? ["--memlimit-decompress=256MiB"] : []
    let filter = try FilterProcess(
      executable: executable, arguments: ["-d", "-c"] + limits, input: file)
    return { [rawValue] bytes, maximumByteCount in
      let count = try filter.read(into: &bytes, upTo: maximumByteCount)
      if count == 0, let status = filter.waitForExit(), status != .exited(0) {
        throw DecompressionError(program: rawValue, status: status)
      }
      return count
    }
  }
}

private struct DecompressionError: Error, CustomStringConvertible {
  let program: String
  let status: ExitStatus

  var description: String { "\(program) cannot decompress it (\(status)); is the file whole?" }
}
