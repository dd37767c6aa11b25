import Glibc
import ImgClient
@_spi(Coding) import ImgModel
import ImgSettings
import ImgSystem
import Synchronization

/// The manifest that an export writes, and what earlier exports of the job have written to the directory.
///
/// A file in the directory belongs to a line only if an earlier manifest of the same job says so. The manifest has the
/// order of the list, and gets its name when it is complete. Until then, another file has the lines in the order in
/// which their files were written, so that the next export finds them however this one ends.
final class ExportManifest {
  static let name = "manifest.jsonl"
  /// Of an export that has not ended, or ended early.
  static let partialName = "manifest.partial.jsonl"
  /// What lines have in columns beside the names of their files, for those who read a directory of pictures as a set, such
  /// as the package `datasets`; only of a job with columns.
  static let metadataName = "metadata.jsonl"
  /// What `datasets` wants the name of a file to be called.
  static let metadataFileColumn = "file_name"

  /// What is written of a line, as JSON.
  struct Entry {
    fileprivate let line: String
    fileprivate let metadata: String
  }

  /// Removes what has no name yet, for a process that a signal ends.
  let removal: @Sendable () -> Void
  private let path: String
  private let file: ReplacementFile
  private let output: Output
  /// `nil` for a job without columns.
  private let metadata: (file: ReplacementFile, output: Output)?
  private let partialPath: String
  /// Opened with the first line.
  private var partial: PartialOutput?
  private let earlierPartial: PartialManifest?
  private let earlier: ManifestReader?
  /// How many lines the manifest of an earlier export has lost: those that are damaged, and those that are cut off.
  private(set) var lostLineCount = 0
  /// The name of the manifest that has lost lines, beside the new one. `nil` before that has its name.
  private(set) var damagedName: String?

  /// - Throws: ``UsageError`` if the directory has the manifest of another job, or one of no export: it would lose its
  ///   files or their proof.
  init(in directory: String, of job: ImageJob) throws {
    path = "\(directory)/\(Self.name)"
    partialPath = "\(directory)/\(Self.partialName)"
    earlierPartial = ManifestReader(path: partialPath, of: job).map(PartialManifest.init)
    earlier = ManifestReader(path: path, of: job)
    for (path, reader) in [(partialPath, earlierPartial?.reader), (path, earlier)] {
      guard let origin = reader?.otherOrigin else { continue }
      throw UsageError(
        "imgctl: \(path) is \(origin); a directory has the files of one job: "
          + ExportCommand.text(of: job.job, besides: directory))
    }
    let metadataPath = "\(directory)/\(Self.metadataName)"
    guard
      earlier != nil || earlierPartial != nil || job.columns.isEmpty || !FileIO.isFile(metadataPath)
    else {
      throw Self.refusal(of: Self.metadataName, in: directory, job.job)
    }
    let file = try ReplacementFile(path: path)
    file.lockIfPossible()
    self.file = file
    output = Output(descriptor: file.descriptor, of: path)
    guard !job.columns.isEmpty else {
      metadata = nil
      removal = file.removal
      return
    }
    let metadataFile = try ReplacementFile(path: metadataPath)
    metadataFile.lockIfPossible()
    metadata = (metadataFile, Output(descriptor: metadataFile.descriptor, of: metadataPath))
    removal = { [removals = [file.removal, metadataFile.removal]] in
      for remove in removals { remove() }
    }
  }

  /// What an export would replace, and without a manifest may be of anything.
  static func refusal(of name: String, in directory: String, _ job: JobID) -> UsageError {
    UsageError(
      "imgctl: \(directory) has \(name), and no \(Self.name) that says of which job it is; if it is of job \(job): "
        + "move \(name) away, and export again; else: \(ExportCommand.text(of: job, besides: directory))"
    )
  }

  /// Whether the directory has the manifest of an earlier export.
  var hasEarlier: Bool { earlierPartial != nil || earlier != nil }

  /// Call it with ascending lines.
  ///
  /// - Returns: what earlier exports have written of a line, where that of the last one comes first, and whether a
  ///   manifest has lost the line.
  func earlierLines(ofLine index: Int) -> (written: [ManifestLine.Written], isLost: Bool) {
    let line = earlier?.line(index)
    let isLost = earlier != nil && line == nil
    if isLost { lostLineCount += 1 }
    let written = [earlierPartial?.line(index), line].compactMap(\.self)
    return (written.filter { !$0.isEmpty }, isLost || written.contains(where: \.isLost))
  }

  /// Takes a line once its files are written.
  ///
  /// - Returns: what ``write(_:)`` takes.
  func record(_ line: ManifestLine) throws -> Entry {
    let json = try Output.json(of: line)
    let partial = try partial ?? PartialOutput(path: partialPath, follows: earlierPartial != nil)
    self.partial = partial
    try partial.write(json)
    return Entry(line: json, metadata: metadata == nil ? "" : try line.metadata())
  }

  /// Takes the lines in the order of the list.
  func write(_ entry: Entry) throws {
    try output.write(entry.line)
    try metadata?.output.write(entry.metadata)
  }

  /// Gives the manifest its name.
  func commit() throws {
    try output.flush()
    try metadata?.output.flush()
    if lostLineCount > 0 { try keepDamaged() }
    try metadata?.file.commit()
    try file.commit()
    unsafe unlink(partialPath)
  }

  /// Where a line may be that a manifest has lost: in the first manifest that has lost lines, if there is one.
  static func sources(ofLostLinesIn directory: String) -> String {
    let path = "\(directory)/\(damagedName(0))"
    return (FileIO.isFile(path) ? "\(path) or " : "") + "a copy of \(name)"
  }

  private static func damagedName(_ number: Int) -> String {
    "manifest.damaged\(number == 0 ? "" : "-\(number)").jsonl"
  }

  /// Leaves the earlier manifest under another name: it may have more of the lines that it has lost. Should the export
  /// end here, the next one finds all lines in the other file.
  private func keepDamaged() throws {
    let names = (0...).lazy.map(Self.damagedName)
    let directory = String(path.dropLast(Self.name.count))
    let isFree = { (name: String) in (try? FileStatus(at: directory + name)) == nil }
    guard let name = names.first(where: isFree) else { return }
    try Directory.move(path, to: directory + name)
    damagedName = name
  }

  /// Removes the temporary files that exports have left which were killed.
  func removeStale(in directories: Set<String>) {
    for directory in directories { file.removeStale(in: directory) }
  }
}

/// Appends the lines of what an export has written.
private final class PartialOutput {
  private let path: String
  private let file: OwnedDescriptor

  /// - Parameter follows: whether an earlier export has left lines. The last of them may be cut off.
  init(path: String, follows: Bool) throws {
    self.path = path
    file = try FileIO.open(appendingTo: path, mode: 0o666)
    if follows { try write("\n") }
  }

  func write(_ text: String) throws {
    do throws(SystemError) {
      try FileIO.writeAll(file.rawValue, Array(text.utf8).span)
    } catch {
      throw SystemError(operation: "write \(path)", code: error.code)
    }
  }
}

/// What an export has written that ended early, in any order.
private final class PartialManifest {
  let reader: ManifestReader
  /// The place of each line in the file; of two for one line of the list, the last one.
  private var places: [Int: Range<Int>] = [:]

  init(_ reader: ManifestReader) {
    self.reader = reader
    while let line = reader.next() {
      if !line.isEmpty { places[line.index] = reader.place }
    }
  }

  func line(_ index: Int) -> ManifestLine.Written? {
    places[index].flatMap(reader.line(at:))
  }
}

/// Reads the lines of a manifest. It leaves out what it cannot read, because a manifest is a file that anything may have
/// changed.
private final class ManifestReader {
  private let job: ImageJob
  private let file: OwnedDescriptor
  private var buffer: [UInt8] = []
  /// Where the buffer begins in the file.
  private var offset = 0
  /// Where the next line begins in the buffer.
  private var start = 0
  /// Where the last line is in the file that was read.
  private(set) var place = 0..<0
  /// Whether no further line counts: at the end, in the manifest of another job, and at a line that is too long.
  private var hasEnded = false
  /// The first line, until it is asked for.
  private var first: ManifestLine.Written?
  /// The last line that was asked for by its index.
  private var last: ManifestLine.Written?
  /// What the file is instead of the manifest of an earlier export of the job, such as `of job 2`.
  private(set) var otherOrigin: String?
  /// Whether a line is of the job.
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

  /// A line of a manifest in the order of its list. Call it with ascending lines.
  func line(_ index: Int) -> ManifestLine.Written? {
    while last.map({ $0.index < index }) ?? true, let next = next() { last = next }
    return last.flatMap { $0.index == index ? $0 : nil }
  }

  /// - Returns: the next line of the job; `nil` at the end.
  func next() -> ManifestLine.Written? {
    defer { first = nil }
    return first ?? read()
  }

  /// - Parameter place: that of a line that was read before.
  func line(at place: Range<Int>) -> ManifestLine.Written? {
    guard let json = try? FileIO.contents(of: file.rawValue, in: place) else { return nil }
    return try? Fields.value(ManifestLine.Written.self, of: json[...])
  }

  private func read() -> ManifestLine.Written? {
    while let json = nextLine() {
      guard let origin = try? Fields.value(ManifestLine.Origin.self, of: json) else { continue }
      guard origin == ManifestLine.Origin(of: job) else {
        // Behind lines of the job, it is a damaged one.
        if isOfJob { continue }
        otherOrigin = "of \(origin.text(besides: ManifestLine.Origin(of: job)))"
        hasEnded = true
        return nil
      }
      isOfJob = true
      guard let line = try? Fields.value(ManifestLine.Written.self, of: json) else { continue }
      return line
    }
    return nil
  }

  /// - Returns: `nil` at the end.
  private func nextLine() -> ArraySlice<UInt8>? {
    while !hasEnded {
      if let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n")) {
        defer { start = end + 1 }
        place = offset + start..<offset + end
        return buffer[start..<end]
      }
      buffer.removeFirst(start)
      offset += start
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
