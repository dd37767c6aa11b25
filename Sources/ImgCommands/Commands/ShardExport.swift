import Glibc
import ImgClient
import ImgCrypto
import ImgModel
import ImgSettings
import ImgSystem
import Synchronization

/// Writes what a job made as a set for training: archives with a picture, its JSON and its caption for each line, in the
/// order of the list, as the package `webdataset` reads them.
///
/// A shard gets its name when it is whole. The next export keeps its samples, and adds those that it has not: then it writes
/// the shard again.
final class ShardExport: JobOutput {
  private let directory: String
  private let results: LineResults
  private let layout: ShardLayout
  private let columns: SetColumns
  private let terms: ShardStatistics.Terms
  /// The command for a directory of its own.
  private let otherDirectory: String
  private let missing: MissingResults?
  private let failures: FailuresFile
  /// Those of the shard at hand.
  private var lines: [LineResult] = []
  /// Those of them that could not be made again, with their failures.
  private var unmade: [Int: LineResult] = [:]
  private let job: ImageJob
  private(set) var tally = ExportTally()
  private let gate = SignalGate()
  /// Removes the shard at hand.
  private let removal = Removal()

  /// What a signal does before it ends the process.
  private final class Removal: Sendable {
    private let action = Mutex<(@Sendable () -> Void)?>(nil)

    func set(_ action: (@Sendable () -> Void)?) { self.action.withLock { $0 = action } }

    func run() { action.withLock(\.self)?() }
  }

  /// A line with a picture.
  private struct Found {
    let picture: Sample.Picture
    /// The files of the sample that show it.
    let files: () throws -> [(name: String, content: [UInt8])]
    /// Their extensions.
    let extensions: [String]
    /// Whether the shard had none of the line.
    let isNew: Bool
  }

  /// - Parameters: as of ``JobExport`` and ``ExportForm``.
  /// - Throws: ``UsageError`` if the job has no pictures or no such column, or the directory has other files of these names.
  init(
    of job: ImageJob, to directory: String, from store: LocalStore, linesPerShard: Int,
    captionColumn: String?, making missing: MissingResults?, sayingAtSignal message: String?
  ) throws {
    self.directory = directory
    self.missing = missing
    self.job = job
    layout = ShardLayout(linesPerShard: linesPerShard, lineCount: job.total)
    columns = try SetColumns(job.columns, captionColumn: captionColumn)
    terms = ShardStatistics.Terms(of: job, layout, columns)
    otherDirectory = ExportCommand.text(
      of: job.job, besides: directory,
      in: .webdataset(linesPerShard: linesPerShard, captionColumn: captionColumn))
    results = LineResults(of: job, in: store)
    if columns.caption == nil { tally.captionColumns = job.columns }
    guard !job.request.keep.isFacts, job.request.keep != .none else {
      throw UsageError("imgctl: job \(job.job) has no pictures for a set")
    }
    try Directory.create(directory)
    for name in [ExportManifest.name, ExportManifest.partialName]
    where FileIO.isFile("\(directory)/\(name)") {
      throw UsageError(
        "imgctl: \(directory)/\(name) is of an export without shards: \(otherDirectory)")
    }
    let first = "\(directory)/\(layout.name(ofShard: 0))"
    failures = try FailuresFile(
      in: directory, of: job,
      follows: [ShardFiles.statisticsEnding, ShardFiles.archiveEnding].contains {
        FileIO.isFile(first + $0)
      },
      otherwise: UsageError(
        "imgctl: \(directory)/\(FailuresFile.name) is of no export of these shards: \(otherDirectory)"
      ))
    let removals = [failures.removal, missing?.removal].compactMap(\.self)
    try Termination.prepare { [gate, removal] in
      gate.close {
        removal.run()
        for remove in removals { remove() }
      }
      if let message { try? Output(descriptor: 2, capacity: 0).write(message) }
    }
  }

  /// - Throws: ``UsageError`` if a directory for files has shards.
  static func requireNoShards(in directory: String, _ job: ImageJob) throws(UsageError) {
    let first = ShardLayout(linesPerShard: 1, lineCount: 1).name(ofShard: 0)
    let statistics = "\(directory)/\(first)\(ShardFiles.statisticsEnding)"
    guard let former = ShardStatistics.Former.read(from: statistics) else { return }
    throw former.terms.refusal(
      in: directory, of: job, otherwise: ExportCommand.text(of: job.job, besides: directory))
  }

  func add(_ line: LineResult) throws {
    if let first = lines.first, layout.shard(of: first.index) != layout.shard(of: line.index) {
      try writeShard()
    }
    lines.append(line)
    if case .failed(let failure, _) = line.outcome { try failures.add(failure, of: line) }
  }

  func finish() throws {
    if !lines.isEmpty { try writeShard() }
    try gate.pass { try failures.commit() }
  }

  func removePins() throws {
    try results.removePins(of: job.job)
  }

  private func writeShard() throws {
    defer { (lines, unmade) = ([], [:]) }
    let path = "\(directory)/\(layout.name(ofShard: layout.shard(of: lines[0].index)))"
    let former = try formerArchive(path)
    let made = try makeMissing(besides: former)
    let isRewritten =
      try former?.isIntact == false || noteChanged(in: former)
      || lines.contains { try isNew($0, former, made) }
    let shard = try ShardFiles(path, writesArchive: isRewritten, terms)
    removal.set(shard.removal)
    defer { removal.set(nil) }
    for line in lines {
      let key = layout.key(of: line.index)
      let found = try found(key, line, former, made, isRewritten: isRewritten)
      let sample = Sample(key, of: unmade[line.index] ?? line, columns, found?.picture)
      try shard.add(sample, found?.picture) { try found?.files() ?? [] }
      count(sample, found, isUnmade: unmade[line.index] != nil)
    }
    try gate.pass {
      try shard.commit()
      tally.shardCount += 1
      if job.pinPolicy != .none { try endPins(of: shard) }
    }
    failures.removeStale(in: directory)
  }

  /// Whether the shard gets a sample of a line that it has not.
  private func isNew(
    _ line: LineResult, _ former: SampleArchive?, _ made: SampleArchive?
  ) throws -> Bool {
    let key = layout.key(of: line.index)
    guard former?.samples[key] == nil else { return false }
    return try made?.samples[key] != nil || line.isDone && results.isStored(line)
  }

  /// Counts the samples whose JSON or caption is not that of their line. Their pictures are right.
  ///
  /// - Returns: whether there are any.
  private func noteChanged(in former: SampleArchive?) throws -> Bool {
    guard let former else { return false }
    let changed = try lines.map { layout.key(of: $0.index) }.enumerated().filter { position, key in
      try former.samples[key].map { try !isCurrent($0, key, lines[position]) } ?? false
    }
    for (_, key) in changed { tally.changedSamples.add(key) }
    return !changed.isEmpty
  }

  /// Whether a sample has the JSON and the caption of a line.
  private func isCurrent(
    _ archived: SampleArchive.Archived, _ key: String, _ line: LineResult
  ) throws -> Bool {
    let sample = Sample(key, of: line, columns, archived.picture)
    return try Output.json(ofObject: sample).utf8.elementsEqual(archived.json)
      && sample.caption.map { Array($0.utf8) } == archived.caption
  }

  private func found(
    _ key: String, _ line: LineResult, _ former: SampleArchive?, _ made: SampleArchive?,
    isRewritten: Bool
  ) throws -> Found? {
    for archive in [former, made].compactMap(\.self) {
      guard let sample = archive.samples[key] else { continue }
      return Found(
        picture: sample.picture, files: { try archive.pictures(of: sample) },
        extensions: sample.extensions, isNew: archive === made)
    }
    guard isRewritten, let stored = try stored(key, line) else { return nil }
    return Found(
      picture: stored.picture, files: { stored.files },
      extensions: stored.files.map { SampleArchive.extension(of: $0.name) }, isNew: true)
  }

  private func count(_ sample: Sample, _ found: Found?, isUnmade: Bool) {
    guard let found else {
      tally.missingCount += 1
      if sample.status == .notInStore, !isUnmade { tally.goneCount += 1 }
      return
    }
    tally.exportedCount += 1
    tally.extensions.formUnion(found.extensions)
    if found.picture.isStoredAfterJob { tally.storedLater.add(sample.key) }
    guard found.isNew else { return }
    tally.newCount += 1
    tally.writtenCount += 1
  }

  private func endPins(of shard: ShardFiles) throws {
    for line in lines where shard.keys.contains(layout.key(of: line.index)) {
      try results.endPins(of: line)
    }
  }

  /// The shard that an earlier export has written; `nil` if there is none.
  ///
  /// - Throws: ``UsageError`` if it is of another job, or of no export.
  private func formerArchive(_ path: String) throws -> SampleArchive? {
    let name = path + ShardFiles.archiveEnding
    let statistics = ShardStatistics.Former.read(from: path + ShardFiles.statisticsEnding)
    if let terms = statistics?.terms, terms != self.terms {
      throw terms.refusal(in: directory, of: job, otherwise: otherDirectory)
    }
    guard FileIO.isFile(name) else {
      if statistics?.hasSamples == true { tally.damagedShards.add(name) }
      return nil
    }
    let archive = try SampleArchive(readingFrom: name)
    // Without statistics, the samples show of which list they are.
    guard try statistics != nil || isOfThese(archive) else {
      throw UsageError("imgctl: \(name) is of no export of job \(job.job): \(otherDirectory)")
    }
    if !archive.isIntact { tally.damagedShards.add(name) }
    return archive
  }

  /// Whether an archive has samples, all of them of the lines at hand.
  private func isOfThese(_ archive: SampleArchive) throws -> Bool {
    let current = try lines.count { line in
      let key = layout.key(of: line.index)
      return try archive.samples[key].map { try isCurrent($0, key, line) } ?? false
    }
    return current > 0 && current == archive.samples.count
  }

  /// Makes what neither the shard nor the store has, in an unnamed file.
  private func makeMissing(besides former: SampleArchive?) throws -> SampleArchive? {
    guard let missing else { return nil }
    let lost = try lines.filter { line in
      try line.isDone && former?.samples[layout.key(of: line.index)] == nil
        && !results.isStored(line)
    }
    guard !lost.isEmpty else { return nil }
    // Some file systems have no unnamed files (open(2), O_TMPFILE).
    let file = try (try? SpoolFile(in: directory)) ?? SpoolFile(in: "/var/tmp")
    var writer = TarWriter(to: file.descriptor, named: "an unnamed file in \(directory)")
    try missing.make(lost) { line in
      if case .failed(let failure, _) = line.outcome {
        tally.addUnmade(line, failure)
        try failures.add(failure, of: line)
        unmade[line.index] = line
        return true
      }
      let key = layout.key(of: line.index)
      guard let stored = try stored(key, line) else { return false }
      try writer.add(Sample(key, of: line, columns, stored.picture), stored.files, stored.picture)
      return true
    }
    try writer.finish()
    return try SampleArchive(file.descriptor, ownedBy: file)
  }

  /// - Returns: `nil` if the store has not all pictures of the line.
  private func stored(
    _ key: String, _ line: LineResult
  ) throws -> (picture: Sample.Picture, files: [(name: String, content: [UInt8])])? {
    guard line.isDone else { return nil }
    let found = try results.parts(of: line)
    let parts = found.compactMap(\.self)
    guard parts.count == found.count, let first = parts.first else { return nil }
    let isLater = parts.enumerated().contains { job.mayHaveLost($1.record, of: line, $0) }
    let picture = Sample.Picture(
      first.record, hash: SHA256.hash(first.bytes).hexadecimal, isStoredAfterJob: isLater)
    let files = parts.enumerated().map { position, part in
      let suffix = part.record.thumbnail.format.fileExtension
      return ("\(key)\(sizeName(position)).\(suffix)", part.bytes)
    }
    return (picture, files)
  }

  /// What the name of a picture has of its size if a sample has several. It is that of the box: the members of all samples
  /// have the same names.
  private func sizeName(_ position: Int) -> String {
    guard !job.request.otherVariants.isEmpty else { return "" }
    func box(_ variant: Variant) -> String { ".\(variant.width)x\(variant.height)" }
    let name = box(job.request.variants[position])
    let same = job.request.variants[..<position].count { box($0) == name }
    return same == 0 ? name : "\(name)-\(same + 1)"
  }
}

extension TarWriter {
  /// Adds the members of a sample: pictures, JSON, and the caption if the set has captions.
  fileprivate mutating func add(
    _ sample: Sample, _ files: [(name: String, content: [UInt8])], _ picture: Sample.Picture
  ) throws {
    let time = picture.storageTime
    for file in files { try add(file.name, file.content, at: time) }
    let json = try Output.json(ofObject: sample)
    try add("\(sample.key).\(SampleArchive.jsonExtension)", Array(json.utf8), at: time)
    if let caption = sample.caption {
      try add("\(sample.key).\(SampleArchive.captionExtension)", Array(caption.utf8), at: time)
    }
  }
}

/// The files of a shard that is written: the archive, the list of all its lines, and its statistics.
final class ShardFiles {
  private let path: String
  private let archive: ReplacementFile?
  private var writer: TarWriter?
  private var list: [UInt8] = []
  private var statistics: ShardStatistics
  /// Those of its samples.
  private(set) var keys: Set<String> = []

  static let archiveEnding = ".tar"
  static let listEnding = ".jsonl"
  static let statisticsEnding = "_stats.json"

  /// - Parameters:
  ///   - path: that of the files without their endings.
  ///   - writesArchive: `false` leaves the archive as it is.
  init(_ path: String, writesArchive: Bool, _ terms: ShardStatistics.Terms) throws {
    self.path = path
    archive = writesArchive ? try ReplacementFile(path: path + Self.archiveEnding) : nil
    archive?.lockIfPossible()
    writer = archive.map { TarWriter(to: $0.descriptor, named: path + Self.archiveEnding) }
    statistics = ShardStatistics(terms, startTime: .now)
  }

  /// Removes what has no name yet, for a process that a signal ends.
  var removal: (@Sendable () -> Void)? { archive?.removal }

  /// Adds a line.
  ///
  /// - Parameters:
  ///   - picture: `nil` for a line without one.
  ///   - files: that show it; read only for an archive that is written.
  func add(
    _ sample: Sample, _ picture: Sample.Picture?,
    _ files: () throws -> [(name: String, content: [UInt8])]
  ) throws {
    list += try Output.json(ofObject: sample).utf8
    statistics.count(sample)
    guard let picture else { return }
    keys.insert(sample.key)
    if writer != nil { try writer?.add(sample, files(), picture) }
  }

  /// Gives the files their names. The statistics come first: they say whose the archive is.
  func commit() throws {
    try writer?.finish()
    guard archive != nil || !isAsBefore else { return }
    let json = try Output.json(ofObject: statistics)
    try FileIO.replaceRegular(path: path + Self.statisticsEnding, with: Array(json.utf8))
    if keys.isEmpty, archive != nil {
      // Readers take an archive without a sample for an error.
      unsafe unlink(path + Self.archiveEnding)
    } else {
      try archive?.commit()
    }
    try FileIO.replaceRegular(path: path + Self.listEnding, with: list)
  }

  /// Whether the list and the statistics are those of an earlier export.
  private var isAsBefore: Bool {
    ShardStatistics.Former.read(from: path + Self.statisticsEnding) != nil
      && (try? FileIO.contents(of: path + Self.listEnding, upTo: list.count)) == list
  }
}
