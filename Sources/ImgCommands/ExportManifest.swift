import Glibc
import ImgClient
@_spi(Coding) import ImgModel
import ImgSettings
import ImgSystem
import Synchronization

/// The manifest that an export writes, and what earlier exports of the job have written to the directory.
///
/// A file in the directory belongs to a line only if an earlier manifest of the same job says so. An export that ends
/// early leaves what it has of its manifest.
final class ExportManifest {
  static let name = "manifest.jsonl"
  /// Of an export that ended early.
  static let partialName = "manifest.partial.jsonl"

  /// Keeps what there is for an export that ends early.
  let partial: PartialManifest
  private let file: ReplacementFile
  private let output: Output
  private let earlier: [EarlierManifest]

  /// - Throws: ``UsageError`` if the directory has the manifest of another job, or one of no export: it would lose its
  ///   files or their proof.
  init(in directory: String, of job: ImageJob) throws {
    let path = "\(directory)/\(Self.name)"
    let partialPath = "\(directory)/\(Self.partialName)"
    earlier = try [partialPath, path].compactMap { path in
      let manifest = EarlierManifest(path: path, of: job)
      if let origin = manifest?.otherOrigin {
        throw UsageError(
          "\(path) is \(origin); a directory has the files of one job: "
            + ExportCommand.text(of: job.job, besides: directory))
      }
      return manifest
    }
    file = try ReplacementFile(path: path)
    file.lockIfPossible()
    output = Output(descriptor: file.descriptor, capacity: 0)
    partial = PartialManifest(of: job, in: file, at: partialPath)
  }

  deinit {
    partial.keep()
  }

  /// Whether the directory has the manifest of an earlier export.
  var hasEarlier: Bool { !earlier.isEmpty }

  /// What earlier exports have written for a line. Call it with ascending lines.
  func earlierFiles(ofLine index: Int) -> [ManifestLine.File] {
    earlier.flatMap { $0.files(ofLine: index) }
  }

  func write(_ line: ManifestLine) throws {
    try output.write(json: line)
    partial.didWrite(line)
  }

  /// Gives the manifest its name.
  func commit() throws {
    try file.commit()
    partial.discard()
  }

  /// Removes the temporary files that exports have left which were killed.
  func removeStale(in directories: Set<String>) {
    for directory in directories { file.removeStale(in: directory) }
  }
}

/// The manifest of an export that ends early: the lines that are written, those that wait, and for further lines what
/// earlier exports have written.
final class PartialManifest: Sendable {
  private let job: ImageJob
  private let path: String
  private let descriptor: CInt
  private let preserve: @Sendable () -> Void
  private let remove: @Sendable () -> Void
  private let progress = Mutex(Progress())

  private struct Progress {
    /// The index of the last line in the file; -1 before there is one.
    var lastIndex = -1
    /// As JSON by index.
    var waiting: [Int: String] = [:]
    var hasEnded = false
  }

  /// - Parameter path: of the file that it will be.
  fileprivate init(of job: ImageJob, in file: ReplacementFile, at path: String) {
    self.job = job
    self.path = path
    descriptor = file.descriptor
    preserve = file.preservation(at: path)
    remove = file.removal
  }

  /// Takes a line whose files are written, but that follows others in the list which are not.
  func hold(_ line: ManifestLine) throws {
    let json = try Output.json(of: line)
    progress.withLock { $0.waiting[line.index] = json }
  }

  fileprivate func didWrite(_ line: ManifestLine) {
    progress.withLock { progress in
      progress.lastIndex = line.index
      progress.waiting[line.index] = nil
    }
  }

  /// The manifest is complete.
  fileprivate func discard() {
    progress.withLock { $0.hasEnded = true }
    unsafe unlink(path)
  }

  /// Keeps what there is, once.
  func keep() {
    progress.withLock { progress in
      guard !progress.hasEnded else { return }
      progress.hasEnded = true
      guard progress.lastIndex >= 0 || !progress.waiting.isEmpty else { return remove() }
      do {
        try writeRest(after: progress)
        preserve()
      } catch {
        // A disk without room for these lines. The earlier manifest has all of them.
        remove()
      }
    }
  }

  private func writeRest(after progress: Progress) throws {
    let output = Output(descriptor: descriptor)
    var waiting = progress.waiting.sorted { $0.key < $1.key }[...]
    func writeWaiting(before index: Int) throws {
      while let line = waiting.first, line.key < index {
        try output.write(line.value)
        waiting.removeFirst()
      }
    }
    try EarlierManifest(path: path, of: job)?.forEachLine(after: progress.lastIndex) {
      index, json in
      try writeWaiting(before: index)
      if waiting.first?.key != index {
        try output.write(bytes: Array(json) + [UInt8(ascii: "\n")])
      }
    }
    try writeWaiting(before: .max)
    try output.flush()
  }
}

/// Reads the lines of a manifest in their order. What it cannot read it leaves out, because a manifest is a file that
/// anything may have changed.
private final class EarlierManifest {
  private typealias Line = (line: ManifestLine.Written, json: ArraySlice<UInt8>)

  private let job: ImageJob
  private let file: OwnedDescriptor
  private var buffer: [UInt8] = []
  /// Where the next line begins in the buffer.
  private var start = 0
  /// Whether no further line counts: at the end, at a line of another job, and at one that is too long.
  private var hasEnded = false
  /// The first line, until it is asked for.
  private var first: Line?
  /// The last line that was asked for.
  private var last: ManifestLine.Written?
  /// What the file is instead of the manifest of an earlier export of the job, such as `of job 2`.
  private(set) var otherOrigin: String?
  /// Whether a line is of the job, with files or without.
  private var isOfJob = false

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
    guard status.byteCount > 0 else { return }
    first = read()
    if !isOfJob, otherOrigin == nil { otherOrigin = "not the manifest of an export" }
  }

  func files(ofLine index: Int) -> [ManifestLine.File] {
    while last.map({ $0.index < index }) ?? true, let next = next() { last = next.line }
    guard let last, last.index == index else { return [] }
    return last.files
  }

  /// Calls `body` with the lines after one as they are, before any is asked for.
  func forEachLine(after index: Int, _ body: (Int, ArraySlice<UInt8>) throws -> Void) rethrows {
    while let next = next() {
      if next.line.index > index { try body(next.line.index, next.json) }
    }
  }

  private func next() -> Line? {
    defer { first = nil }
    return first ?? read()
  }

  /// - Returns: the next line of the job with files; `nil` at the end.
  private func read() -> Line? {
    while let json = nextLine() {
      guard let origin = try? Fields.value(ManifestLine.Origin.self, of: json) else { continue }
      guard origin == ManifestLine.Origin(of: job) else {
        otherOrigin =
          origin.job == job.job
          ? "of another job \(job.job), submitted at \(origin.submissionTime)"
          : "of job \(origin.job)"
        hasEnded = true
        return nil
      }
      isOfJob = true
      guard let line = try? Fields.value(ManifestLine.Written.self, of: json) else { continue }
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
