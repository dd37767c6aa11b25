import Glibc
import ImgClient
import ImgCrypto
@_spi(Coding) import ImgModel
import ImgSystem
import Synchronization

/// What the manifest of an export says of a line of a job: its files, or the reason why there is none.
struct ManifestLine: Encodable {
  let index: Int
  private let place: LinePlace?
  private let url: RequestedURL
  private let written: Written
  private let reason: String?
  private let failure: Failure?

  /// - Parameter files: in the order of the job's variants.
  init(_ entry: LineResult, of job: ImageJob, _ files: [File]) {
    index = entry.index
    place = entry.place
    failure =
      if files.isEmpty, case .failed(let failure, _) = entry.outcome { failure } else { nil }
    url = RequestedURL(entry.url)
    written = Written(
      index: entry.index, job: job.job, submissionTime: job.submissionTime, files: files)
    reason =
      switch entry.outcome {
      case _ where !files.isEmpty: nil
      case .done: job.request.keep != .none ? "not_in_store" : "not_kept"
      case .failed(let failure, _): failure.code.rawValue
      case .cancelled: "cancelled"
      case nil: "not_finished"
      }
  }

  func encode(to encoder: any Encoder) throws {
    try JSONObject(
      [
        "line": place?.line, "list": place?.list, "reason": reason,
        "http_status": failure?.httpStatus, "detail": failure?.detail,
      ], beside: url, written
    ).encode(to: encoder)
  }
}

extension ManifestLine {
  /// A file, and what proves where it is from.
  struct File: Hashable, Sendable, Fielded {
    let name: String
    /// The thumbnail; of a file of facts, the picture and the length of the file.
    let content: Thumbnail
    let isFacts: Bool
    /// The position of the size among those of the job.
    let variant: Int
    private let hash: String
    private let storageTime: WallTime
    private let expiryTime: WallTime
    private let entityTag: String?
    private let lastModified: String?
    private let finalURL: String?
    /// Of the picture that it shows.
    private let thumbHash: ThumbHash?

    /// - Parameters:
    ///   - bytes: of the file.
    ///   - record: of what it was made from.
    init(name: String, _ bytes: [UInt8], of record: CacheRecord, variant: Int) {
      self.name = name
      self.variant = variant
      isFacts = record.kind == .facts
      content = record.thumbnail.with(byteCount: bytes.count)
      hash = Self.text(of: SHA256.hash(bytes))
      storageTime = record.storageTime
      expiryTime = record.expiryTime
      entityTag = Self.field("etag", of: record)
      lastModified = Self.field("last-modified", of: record)
      finalURL = Self.field(":issuer", of: record)?.withoutPasswords
      thumbHash = record.source.thumbHash
    }

    init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
      entityTag = try f.optional("etag", value?.entityTag)
      expiryTime = try f.field("expires_at", value?.expiryTime)
      let facts = try f.optional("facts", value.flatMap { $0.isFacts ? $0.content : nil })
      name = try f.field("file", value?.name)
      finalURL = try f.optional("final_url", value?.finalURL)
      lastModified = try f.optional("last_modified", value?.lastModified)
      hash = try f.field("sha256", value?.hash)
      storageTime = try f.field("stored_at", value?.storageTime)
      thumbHash = try f.optional("thumbhash", value?.thumbHash)
      let picture = try f.optional("thumbnail", value.flatMap { $0.isFacts ? nil : $0.content })
      variant = try f.field("variant", value?.variant, default: 0)
      guard let content = facts ?? picture else { throw f.missing("thumbnail") }
      self.content = content
      isFacts = facts != nil
    }

    /// Whether a directory has the file as it was written.
    func isIntact(in directory: String) -> Bool {
      let path = "\(directory)/\(name)"
      guard let status = try? FileStatus(at: path), status.isRegularFile,
        status.byteCount == content.byteCount
      else { return false }
      return (try? Self.hash(ofFile: path)) == hash
    }

    /// Reads the file in parts: it may be an original of any size.
    private static func hash(ofFile path: String) throws(SystemError) -> String {
      let file = try FileIO.open(readingFrom: path)
      var hash = SHA256()
      var part: [UInt8] = []
      while try FileIO.read(file.rawValue, into: &part, upTo: 64 << 10) > 0 {
        hash.update(part)
        part.removeAll(keepingCapacity: true)
      }
      return text(of: hash.finish())
    }

    private static func text(of hash: [UInt8]) -> String {
      hash.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    /// A field of the response, of those that the store keeps. That of the URL where redirects led has a
    /// name that no field has, see ``ReuseTerms/fields``.
    private static func field(_ name: String, of record: CacheRecord) -> String? {
      let lines = record.terms.fields.split(separator: "\n")
      let line = lines.first { $0.lowercased().hasPrefix(name + ":") }
      return line.map { String($0.dropFirst(name.count + 1).drop { $0 == " " }) }
    }
  }

  /// The part of a line that the next export of the job reads.
  struct Written: Fielded {
    let index: Int
    let job: JobID
    /// Tells the job from those with its number in other data directories.
    let submissionTime: WallTime
    /// Of what was read, at least one.
    let files: [File]

    init(index: Int, job: JobID, submissionTime: WallTime, files: [File]) {
      self.index = index
      self.job = job
      self.submissionTime = submissionTime
      self.files = files
    }

    /// The members of the first file are beside the others.
    init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
      let first = value?.files.isEmpty == true ? nil : try File(&f, value?.files.first)
      index = try f.field("index", value?.index)
      job = try f.field("job", value?.job)
      let others = try f.field(
        "other_files", value.map { Array($0.files.dropFirst()) }, default: [])
      submissionTime = try f.field("submitted_at", value?.submissionTime)
      files = [first].compactMap(\.self) + others
    }
  }
}

extension LineResult {
  var isDone: Bool { if case .done = outcome { true } else { false } }
}

extension Thumbnail {
  /// The same in a file of another length.
  fileprivate func with(byteCount: Int) -> Thumbnail {
    Thumbnail(
      format: format, width: width, height: height, byteCount: byteCount, isDamaged: isDamaged)
  }
}

/// The manifest that an export writes, and what earlier exports of the job have written to the directory.
///
/// A file in the directory belongs to a line only if an earlier manifest of the same job says so. An export that ends
/// early leaves what it has of its manifest.
final class ExportManifest {
  static let name = "manifest.jsonl"
  /// Of an export that ended early.
  static let partialName = "manifest.partial.jsonl"

  /// The most lines that a signal can lose.
  private static let unwrittenMaximum = 64

  private let partialPath: String
  private let job: ImageJob
  private let file: ReplacementFile
  private let output: Output
  private let earlier: [EarlierManifest]
  private let progress = Progress()
  private var lastIndex = -1
  private var unwrittenCount = 0
  private var isComplete = false

  private final class Progress: Sendable {
    /// The index of the last line in the file; -1 before there is one.
    let last = Atomic(-1)
  }

  init(in directory: String, of job: ImageJob) throws {
    self.job = job
    partialPath = "\(directory)/\(Self.partialName)"
    let path = "\(directory)/\(Self.name)"
    file = try ReplacementFile(path: path)
    output = Output(descriptor: file.descriptor)
    earlier = [partialPath, path].compactMap { EarlierManifest(path: $0, of: job) }
  }

  deinit {
    guard !isComplete else { return }
    try? flush()
    interruption()
  }

  /// For a process that ends before the manifest is complete. What an earlier export of the job has written for
  /// further lines stays in the partial manifest; that of another job is replaced.
  var interruption: @Sendable () -> Void {
    let preserve = file.preservation(at: partialPath)
    return { [partialPath, job, progress, descriptor = file.descriptor, discard = file.removal] in
      let last = progress.last.load(ordering: .acquiring)
      guard last >= 0 else { return discard() }
      do {
        let output = Output(descriptor: descriptor)
        try EarlierManifest(path: partialPath, of: job)?.copyLines(after: last, to: output)
        try output.flush()
        preserve()
      } catch {
        // A disk without room for these lines. The earlier manifest has all of them.
        discard()
      }
    }
  }

  /// What earlier exports have written for a line. Call it with ascending lines.
  func earlierFiles(ofLine index: Int) -> [ManifestLine.File] {
    earlier.flatMap { $0.files(ofLine: index) }
  }

  func write(_ line: ManifestLine) throws {
    try output.write(json: line)
    lastIndex = line.index
    unwrittenCount += 1
    if unwrittenCount == Self.unwrittenMaximum { try flush() }
  }

  /// From here on, a signal that ends the process loses nothing of what was written.
  func flush() throws {
    try output.flush()
    unwrittenCount = 0
    progress.last.store(lastIndex, ordering: .releasing)
  }

  /// Gives the manifest its name.
  func commit() throws {
    try output.flush()
    try file.commit()
    isComplete = true
    unsafe unlink(partialPath)
  }
}

/// Reads the lines of a manifest in their order. What it cannot read it leaves out, because a manifest is a file that
/// anything may have changed.
private final class EarlierManifest {
  private let job: ImageJob
  private let file: OwnedDescriptor
  private var buffer: [UInt8] = []
  /// Where the next line begins in the buffer.
  private var start = 0
  /// Whether no further line counts: at the end, at a line of another job, and at one that is too long.
  private var hasEnded = false
  /// The last line that was read.
  private var last: ManifestLine.Written?

  /// A longer line ends the reading.
  private static let maximumLineByteCount = 1 << 20

  /// - Returns: `nil` if there is no file that can be read.
  init?(path: String, of job: ImageJob) {
    // A pipe would wait for its writer.
    guard let status = try? FileStatus(at: path), status.isRegularFile,
      let file = try? FileIO.open(readingFrom: path)
    else { return nil }
    self.job = job
    self.file = file
  }

  func files(ofLine index: Int) -> [ManifestLine.File] {
    while last.map({ $0.index < index }) ?? true, let next = next() { last = next.line }
    guard let last, last.index == index else { return [] }
    return last.files
  }

  /// Writes the lines after one as they are.
  func copyLines(after index: Int, to output: Output) throws {
    while let next = next() {
      if next.line.index > index {
        try output.write(bytes: Array(next.json) + [UInt8(ascii: "\n")])
      }
    }
  }

  /// - Returns: the next line of the job that can be read; `nil` at the end.
  private func next() -> (line: ManifestLine.Written, json: ArraySlice<UInt8>)? {
    while let json = nextLine() {
      guard let line = try? Fields.value(ManifestLine.Written.self, of: json) else { continue }
      guard line.job == job.job, line.submissionTime == job.submissionTime else {
        hasEnded = true
        return nil
      }
      return (line, json)
    }
    return nil
  }

  /// - Returns: `nil` at the end.
  private func nextLine() -> ArraySlice<UInt8>? {
    while !hasEnded {
      if let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n")) {
        defer { start = end + 1 }
        return buffer[start..<end]
      }
      buffer.removeFirst(start)
      start = 0
      guard buffer.count < Self.maximumLineByteCount,
        let count = try? FileIO.read(file.rawValue, into: &buffer, upTo: 64 << 10), count > 0
      else {
        hasEnded = true
        buffer = []
        return nil
      }
    }
    return nil
  }
}

/// The names of the files of an export.
///
/// A line's number is a unique name that sorts like the list and needs no escaping. Local files keep their own names,
/// below the directory that all of them have in common.
struct ExportNames {
  /// The names in the path of the common directory; `nil` without local files.
  private var common: ArraySlice<Substring>?
  /// The first line of each path without its extension, by the hash of this path.
  private var owners: [Int: Int] = [:]

  /// A file system takes no longer name. What is added to a file's own is short.
  private static let maximumByteCount = 255 - 40

  /// Takes one line of the list into account. All of them come before the first name, in their order.
  mutating func add(_ line: String, at index: Int) {
    guard let path = path(of: line) else { return }
    let stem = stem(of: path, at: index)
    if owners[stem.hashValue] == nil { owners[stem.hashValue] = index }
    let directory = path.split(separator: "/").dropLast()
    guard let former = common else { return common = directory }
    let count = zip(former, directory).prefix { $0 == $1 }.count
    if count < former.count { common = former.prefix(count) }
  }

  /// The name of a file, which depends on the list and the line alone: an export finds the files of an earlier one.
  ///
  /// - Parameter ending: of the name, with the extension.
  func name(of line: String, at index: Int, ending: String) -> String {
    let number = Self.number(index)
    guard let common else { return number + ending }
    let directory = common.map { $0 + "/" }.joined()
    var stem = path(of: line).map { self.stem(of: $0, at: index) } ?? directory + number
    while let owner = owners[stem.hashValue], owner != index { stem += "-\(index)" }
    return Substring(stem.utf8.dropFirst(directory.utf8.count)) + ending
  }

  /// The path of a file without its extension.
  private func stem(of path: String, at index: Int) -> String {
    var names = path.split(separator: "/").map(String.init)
    let file = names.popLast() ?? ""
    let stem = String(file[..<(file.lastIndex(of: ".") ?? file.endIndex)])
    names.append(
      stem.isEmpty || stem.utf8.count > Self.maximumByteCount ? Self.number(index) : stem)
    return names.joined(separator: "/")
  }

  private static func number(_ index: Int) -> String {
    let digits = String(index)
    return String(repeating: "0", count: max(0, 7 - digits.count)) + digits
  }

  private func path(of line: String) -> String? {
    let path = HumanText.listed(line)
    return path == line ? nil : path
  }
}
