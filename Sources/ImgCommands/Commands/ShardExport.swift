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
  private let request: ThumbnailRequest
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

  /// A picture of the store, as a sample.
  private struct Stored {
    let sample: Sample
    /// Its members beside the JSON and the caption.
    let pictures: [(name: String, content: [UInt8])]
    let time: WallTime
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
    request = job.request
    results = LineResults(of: request, in: store)
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
      in: directory, of: job, follows: FileIO.isFile(first + ShardFiles.statisticsEnding),
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
      try former?.isIntact == false || lines.contains { try isNew($0, former, made) }
    let shard = try ShardFiles(path, writesArchive: isRewritten, terms)
    removal.set(shard.removal)
    defer { removal.set(nil) }
    for line in lines {
      let key = layout.key(of: line.index)
      if let archive = [former, made].first(where: { $0?.samples[key] != nil }) ?? nil,
        let place = archive.samples[key]
      {
        try shard.copy(place, of: archive)
        note(line, isNew: archive === made)
      } else if isRewritten, let stored = try stored(key, line) {
        try shard.add(stored.sample, stored.pictures, at: stored.time)
        note(line, isNew: true)
      } else {
        try shard.add(Sample(key, without: unmade[line.index] ?? line, columns))
        tally.missingCount += 1
        if line.isDone, unmade[line.index] == nil { tally.goneCount += 1 }
      }
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

  private func note(_ line: LineResult, isNew: Bool) {
    tally.exportedCount += 1
    guard isNew else { return }
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
    let statistics = path + ShardFiles.statisticsEnding
    guard FileIO.isFile(name) || FileIO.isFile(statistics) else { return nil }
    let formerTerms = ShardStatistics.Terms.read(from: statistics)
    if let origin = formerTerms.map({ $0.difference(from: terms) }) ?? "of no export" {
      throw UsageError(
        "imgctl: \(formerTerms == nil ? name : statistics) is \(origin); a directory has the shards of one job with "
          + "the same options: \(otherDirectory)")
    }
    guard FileIO.isFile(name) else { return nil }
    let archive = try SampleArchive(readingFrom: name)
    if !archive.isIntact { tally.damagedShards.add(name) }
    return archive
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
    var writer = TarWriter(to: file.descriptor, named: "an unnamed file for pictures")
    try missing.make(lost) { line in
      if case .failed(let failure, _) = line.outcome {
        tally.addUnmade(line, failure)
        try failures.add(failure, of: line)
        unmade[line.index] = line
        return true
      }
      guard let stored = try stored(layout.key(of: line.index), line) else { return false }
      try writer.add(stored.sample, stored.pictures, at: stored.time)
      return true
    }
    try writer.finish()
    return try SampleArchive(file.descriptor, ownedBy: file)
  }

  /// - Returns: `nil` if the store has not all pictures of the line.
  private func stored(_ key: String, _ line: LineResult) throws -> Stored? {
    guard line.isDone else { return nil }
    let found = try results.parts(of: line)
    let parts = found.compactMap(\.self)
    guard parts.count == found.count, let first = parts.first else { return nil }
    let pictures = parts.enumerated().map { position, part in
      let suffix = part.record.thumbnail.format.fileExtension
      tally.extensions.insert(suffix)
      if job.mayHaveLost(part.record, of: line, position) { tally.storedLater.add(key) }
      return ("\(key)\(sizeName(position)).\(suffix)", part.bytes)
    }
    let sample = Sample(
      key, of: line, columns, record: first.record, hash: SHA256.hash(first.bytes).hexadecimal)
    return Stored(sample: sample, pictures: pictures, time: first.record.bytesStorageTime)
  }

  /// What the name of a picture has of its size if a sample has several. It is that of the box: the members of all samples
  /// have the same names.
  private func sizeName(_ position: Int) -> String {
    guard !request.otherVariants.isEmpty else { return "" }
    func box(_ variant: Variant) -> String { ".\(variant.width)x\(variant.height)" }
    let name = box(request.variants[position])
    let same = request.variants[..<position].count { box($0) == name }
    return same == 0 ? name : "\(name)-\(same + 1)"
  }
}

extension TarWriter {
  /// Adds the members of a sample: pictures, JSON, and the caption if the set has captions.
  fileprivate mutating func add(
    _ sample: Sample, _ pictures: [(name: String, content: [UInt8])], at time: WallTime
  ) throws {
    for picture in pictures { try add(picture.name, picture.content, at: time) }
    let json = try Output.json(ofObject: sample)
    try add("\(sample.key).\(SampleArchive.jsonExtension)", Array(json.utf8), at: time)
    if let caption = sample.caption {
      try add("\(sample.key).txt", Array(caption.utf8), at: time)
    }
  }
}

/// The files of a shard that is written: the archive, the list of all its lines, and its statistics.
final class ShardFiles {
  private let path: String
  private let archive: ReplacementFile?
  private var writer: TarWriter?
  private let list: ReplacementFile
  private let listOutput: Output
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
    list = try ReplacementFile(path: path + Self.listEnding)
    list.lockIfPossible()
    listOutput = Output(descriptor: list.descriptor, of: path + Self.listEnding)
    writer = archive.map { TarWriter(to: $0.descriptor, named: path + Self.archiveEnding) }
    statistics = ShardStatistics(terms, startTime: .now)
  }

  /// Removes what has no name yet, for a process that a signal ends.
  var removal: @Sendable () -> Void {
    { [removals = [archive?.removal, list.removal]] in for remove in removals { remove?() } }
  }

  func copy(_ place: SampleArchive.Place, of archive: SampleArchive) throws {
    try writer?.copy(place.members, of: archive.descriptor)
    try listOutput.write(try archive.json(of: place))
    statistics.countCopied()
    keys.insert(place.key)
  }

  func add(
    _ sample: Sample, _ pictures: [(name: String, content: [UInt8])], at time: WallTime
  ) throws {
    try writer?.add(sample, pictures, at: time)
    keys.insert(sample.key)
    try add(sample)
  }

  /// Adds a line without a picture.
  func add(_ sample: Sample) throws {
    try listOutput.write(try Output.json(ofObject: sample))
    statistics.count(sample)
  }

  /// Gives the files their names. The statistics come first, because the archive counts as that of an export by them.
  func commit() throws {
    try writer?.finish()
    try listOutput.flush()
    let json = try Output.json(ofObject: statistics)
    try FileIO.replaceRegular(path: path + Self.statisticsEnding, with: Array(json.utf8))
    // Readers find no sample in an empty archive, and take that for an error.
    if !keys.isEmpty { try archive?.commit() }
    try list.commit()
  }
}
