import ImgClient
import ImgModel
import ImgSettings
import ImgSystem

/// What writes the results of a job in one form or another. It takes the lines of the job in their order.
protocol JobOutput {
  var tally: ExportTally { get }

  func add(_ line: LineResult) throws
  /// Writes what is left.
  func finish() throws
  /// What was written needs no pins any more.
  func removePins() throws
}

/// The failed lines of an export, as `imgctl failures --csv` has them.
final class FailuresFile {
  static let name = "failures.csv"

  private let path: String
  private let columns: [String]
  private let file: ReplacementFile
  private let output: Output
  private var isEmpty = true

  /// - Parameters:
  ///   - follows: whether the directory has an earlier export of the job.
  ///   - refusal: is thrown if it has none, but a file of that name.
  init(
    in directory: String, of job: ImageJob, follows: Bool, otherwise refusal: UsageError
  ) throws {
    path = "\(directory)/\(Self.name)"
    columns = job.columns
    guard follows || !FileIO.isFile(path) else {
      throw refusal
    }
    file = try ReplacementFile(path: path)
    file.lockIfPossible()
    output = Output(descriptor: file.descriptor, of: path)
    try output.write(FailureTable.header(.comma, and: columns))
  }

  /// Removes what has no name yet, for a process that a signal ends.
  var removal: @Sendable () -> Void { file.removal }

  func add(_ failure: Failure, of line: LineResult) throws {
    try output.write(FailureTable.row(of: line, failure, .comma, and: columns))
    isEmpty = false
  }

  /// Gives the file its name if a line has failed, or to replace that of an export before a retry.
  func commit() throws {
    try output.flush()
    if !isEmpty || FileIO.isFile(path) { try file.commit() }
  }

  /// Removes the temporary files that exports have left in a directory which were killed.
  func removeStale(in directory: String) { file.removeStale(in: directory) }
}

/// Writes a job's thumbnails as files, or its originals or facts if it stored nothing else, with a
/// manifest.
///
/// The manifest has one JSON object for each line of the list, in order: the file, or the reason
/// why there is none. A line has a file for each size of the job.
final class JobExport: JobOutput {
  private let directory: String
  private let request: ThumbnailRequest
  private let results: LineResults
  private let names: ExportNames
  /// Whether the names of an earlier export are those of this one, if there was one.
  private var hasKnownNames = false
  /// Makes again what the store no longer has; `nil` leaves it out.
  private let missing: MissingResults?
  private let manifest: ExportManifest
  private let failures: FailuresFile
  private let job: ImageJob
  /// The lines that wait to be written, in the order of the list. The results of the first one are made again.
  private var waiting: [Waiting] = []
  /// How many of these are to be made again.
  private var awaitedCount = 0

  private(set) var tally = ExportTally()
  /// Where files were written.
  private var directories: Set<String>
  /// Lets a signal end the export only when each file in the directory has its line in the manifest.
  private let gate = SignalGate()

  private struct Waiting {
    let result: LineResult
    let earlier: Earlier
    /// What the manifest says of it; `nil` before it is made.
    let line: ExportManifest.Entry?
  }
  /// What earlier exports have written for a line, by the position of the variant, with what has become of it.
  private typealias EarlierFiles = [Int: ManifestLine.File]
  /// What the manifest of the last export says of a line.
  private struct Earlier {
    var files: EarlierFiles = [:]
    var failedAttempt: ManifestLine.FailedAttempt?
    /// Whether the manifest has lost the line.
    var isLost = false
    /// The file that its place has then, and that may be of an export.
    var unlistedName: String?
  }

  /// The most lines that are made again at a time.
  static let missingMaximum = 1_000
  /// The most lines that wait for them, because the manifest has the order of the list.
  private static let waitingMaximum = 10_000

  /// - Parameters:
  ///   - store: without a store, every file is missing.
  ///   - names: of the files.
  ///   - missing: makes again what the store no longer has.
  ///   - message: is printed if a signal ends the export.
  init(
    of job: ImageJob, to directory: String, from store: LocalStore, named names: ExportNames,
    making missing: MissingResults?, sayingAtSignal message: String?
  ) throws {
    self.directory = directory
    self.names = names
    self.missing = missing
    self.job = job
    directories = [directory]
    request = job.request
    results = LineResults(of: job, in: store)
    try Directory.create(directory)
    manifest = try ExportManifest(in: directory, of: job)
    failures = try FailuresFile(
      in: directory, of: job, follows: manifest.hasEarlier,
      otherwise: ExportManifest.refusal(of: FailuresFile.name, in: directory, job.job))
    let removals = [manifest.removal, failures.removal, missing?.removal].compactMap(\.self)
    try Termination.prepare { [gate] in
      gate.close { for remove in removals { remove() } }
      if let message { try? Output(descriptor: 2, capacity: 0).write(message) }
    }
  }

  private var keep: Keep { request.keep }

  /// Writes the files of a line, or has them made again together with those of other lines.
  func add(_ entry: LineResult) throws {
    if case .failed(let failure, _) = entry.outcome { try failures.add(failure, of: entry) }
    let found = try stored(entry)
    let earlier = try earlier(of: entry)
    guard missing == nil || isComplete(found, earlier.files) else {
      waiting.append(Waiting(result: entry, earlier: earlier, line: nil))
      awaitedCount += 1
      if awaitedCount == Self.missingMaximum { try makeAwaited() }
      return
    }
    try gate.pass {
      let line = try record(entry, found, earlier)
      if waiting.isEmpty { return try manifest.write(line) }
      waiting.append(Waiting(result: entry, earlier: earlier, line: line))
    }
    if waiting.count == Self.waitingMaximum { try makeAwaited() }
  }

  /// Makes the rest, and gives the manifest its name.
  func finish() throws {
    try makeAwaited()
    try gate.pass {
      try manifest.commit()
      tally.lostLineCount = manifest.lostLineCount
      tally.damagedManifest = manifest.damagedName
      try failures.commit()
    }
    manifest.removeStale(in: directories)
  }

  func removePins() throws {
    try results.removePins(of: job.job)
  }

  /// Makes the missing results of the lines that wait. Each is written as soon as it is made, and is in the
  /// manifest as soon as those before it are.
  private func makeAwaited() throws {
    var lines = waiting[...]
    waiting = []
    awaitedCount = 0
    let earlier = Dictionary(uniqueKeysWithValues: lines.map { ($0.result.index, $0.earlier) })
    var made: [Int: ExportManifest.Entry] = [:]
    try missing?.make(lines.filter { $0.line == nil }.map(\.result)) { entry in
      let found = try stored(entry)
      var earlier = earlier[entry.index] ?? Earlier()
      guard isComplete(found, earlier.files) else { return false }
      if case .failed(let failure, _) = entry.outcome {
        earlier.failedAttempt = ManifestLine.FailedAttempt(failure: failure, time: .now)
      }
      try gate.pass {
        made[entry.index] = try record(entry, found, earlier)
        while let next = lines.first, let line = next.line ?? made[next.result.index] {
          try manifest.write(line)
          lines.removeFirst()
        }
      }
      return true
    }
    for line in lines {
      let entry = line.result
      try gate.pass {
        try manifest.write(
          try line.line ?? made[entry.index]
            ?? record(entry, stored(entry), line.earlier))
      }
    }
  }

  /// What the store has of a line, in the order of the job's variants.
  private func stored(_ entry: LineResult) throws -> [StoredResult?] {
    entry.isDone ? try results.parts(of: entry) : []
  }

  private func earlier(of entry: LineResult) throws -> Earlier {
    let (lines, isLost) = manifest.earlierLines(ofLine: entry.index)
    var earlier = Earlier(failedAttempt: lines.first?.failedAttempt, isLost: isLost)
    if isLost, lines.isEmpty, case .done(let thumbnail, _, _) = entry.outcome {
      let name = fileName(of: entry, thumbnail)
      if FileIO.isFile("\(directory)/\(name)") { earlier.unlistedName = name }
    }
    for file in lines.flatMap(\.files) {
      let name = fileName(of: entry, file.content)
      defer { hasKnownNames = true }
      guard file.name == name else {
        // What is not the first is a damaged line.
        if hasKnownNames { continue }
        throw otherNames(than: name, file.name)
      }
      // Of two manifests, that of the later export comes first.
      guard earlier.files[file.variant]?.isIntact != true else { continue }
      let checked = file.found(in: directory)
      if checked.hash != file.hash { tally.returned.add(checked.name) }
      if earlier.files[file.variant] == nil || checked.isIntact {
        earlier.files[file.variant] = checked
      }
    }
    return earlier
  }

  /// An earlier export has named the files otherwise.
  private func otherNames(than name: String, _ earlier: String) -> UsageError {
    UsageError(
      "imgctl: \(directory) has files of the job under other names, such as \(earlier) for \(name): give the --names of that "
        + "export, or name another directory")
  }

  /// Whether making a line again would add nothing to what was found of it.
  private func isComplete(_ found: [StoredResult?], _ earlier: EarlierFiles) -> Bool {
    keep == .none || found.indices.allSatisfy { found[$0] != nil || earlier[$0]?.isIntact == true }
  }

  /// Writes what was found of a line.
  ///
  /// - Returns: its line of the manifest.
  private func record(
    _ entry: LineResult, _ found: [StoredResult?], _ earlier: Earlier
  ) throws -> ExportManifest.Entry {
    // What could not be made again stays so until an export tries again, or the store has it.
    guard let attempt = earlier.failedAttempt, found.allSatisfy({ $0 == nil }) else {
      return try manifest.record(write(entry, found, earlier, attemptTime: nil))
    }
    let failed = entry.with(.failed(attempt.failure))
    tally.addUnmade(failed, attempt.failure)
    try failures.add(attempt.failure, of: failed)
    return try manifest.record(write(failed, [], earlier, attemptTime: attempt.time))
  }

  /// - Parameter attemptTime: as of ``ManifestLine``.
  private func write(
    _ entry: LineResult, _ found: [StoredResult?], _ earlier: Earlier, attemptTime: WallTime?
  ) throws -> ManifestLine {
    var files = earlier.files
    var writtenCount = 0
    let takenCount = tally.takenCount
    for (variant, result) in found.enumerated() {
      guard let result else {
        if keep != .none, files[variant]?.isIntact != true { tally.goneCount += 1 }
        continue
      }
      let countBefore = tally.exportedCount
      files[variant] = try write(
        result, of: entry, variant, besides: files, isLost: earlier.isLost)
      writtenCount += tally.exportedCount - countBefore
    }
    if let name = earlier.unlistedName, (found.first ?? nil) == nil { tally.unchecked.add(name) }
    for (variant, file) in earlier.files
    where found.indices.contains(variant) ? found[variant] == nil : true {
      switch file.status {
      case .fileChanged: tally.unrepaired.add(file.name)
      case .fileMissing:
        tally.lostCount += 1
        if found.indices.contains(variant) { tally.goneFiles.add(file.name) }
      default: tally.presentCount += 1
      }
    }
    if job.pinPolicy != .none, writtenCount > 0, writtenCount == found.count(where: { $0 != nil }) {
      try results.endPins(of: entry)
    }
    if !files.values.contains(where: \.isIntact) { tally.missingCount += 1 }
    for file in files.values where file.isIntact && file.isStoredAfterJob {
      tally.storedLater.add(file.name)
    }
    return ManifestLine(
      entry, of: job, files.sorted { $0.key < $1.key }.map(\.value),
      isStored: found.contains { $0 != nil },
      isNameTaken: tally.takenCount > takenCount,
      isLost: earlier.isLost
        && (tally.takenCount > takenCount || earlier.unlistedName != nil),
      attemptTime: attemptTime)
  }

  /// Writes a file, unless the directory has another one that would be lost.
  ///
  /// - Parameters:
  ///   - files: of the line, by variant: that of an earlier export, and those that are written.
  ///   - isLost: whether the manifest has lost the line, so that a file without one may be of an export.
  /// - Returns: what the manifest says of the file; `nil` if it says nothing.
  private func write(
    _ result: StoredResult, of entry: LineResult, _ variant: Int, besides files: EarlierFiles,
    isLost: Bool
  ) throws -> ManifestLine.File? {
    let earlier = files[variant]
    let content = try content(of: result, entry, as: earlier)
    let new = ManifestLine.File(
      name: fileName(of: entry, result.record.thumbnail), content, of: result.record,
      variant: variant, isStoredAfterJob: job.mayHaveLost(result.record, of: entry, variant))
    switch (earlier, earlier?.status) {
    case (let earlier?, nil) where new.hash == earlier.hash:
      tally.exportedCount += 1
      return earlier.confirmed(by: result.record)
    case (let earlier?, nil):
      tally.changed.add(earlier.name)
      return earlier.with(.storeDiffers)
    case (let earlier?, .fileChanged)
    where new.name == earlier.name && new.isIntact(in: directory):
      // The store and the directory agree, and a damaged manifest does not.
      tally.exportedCount += 1
      tally.misrecorded.add(new.name)
      return new.hash == earlier.hash ? new : new.replacing(earlier)
    case (let earlier?, .fileChanged) where new.hash == earlier.hash:
      try put(content, new.name)
      tally.repaired.add(earlier.name)
      return earlier.confirmed(by: result.record)
    case (let earlier?, .fileChanged):
      tally.differing.add(earlier.name)
      return earlier
    case (let earlier?, _) where new.hash == earlier.hash:
      try put(content, new.name)
      tally.restored.add(earlier.name)
      return earlier.confirmed(by: result.record)
    default: break
    }
    if let equal = files.values.first(where: { $0.name == new.name && $0.variant < variant }) {
      // Two sizes of a small picture.
      tally.exportedCount += 1
      return equal.with(variant: variant)
    }
    switch new.change(in: directory) {
    case .fileChanged:
      tally.addTaken(new.name, isLost: isLost)
      return earlier
    case .fileMissing:
      try put(content, new.name)
      tally.newCount += 1
    default: tally.exportedCount += 1
    }
    guard let earlier else { return new }
    tally.replaced.add(new.name)
    return new.replacing(earlier)
  }

  private func put(_ content: [UInt8], _ name: String) throws {
    var directory = directory
    if let slash = name.lastIndex(of: "/") {
      directory += "/\(name[..<slash])"
      try Directory.create(directory)
      directories.insert(directory)
    }
    try FileIO.replaceRegular(path: "\(self.directory)/\(name)", with: content)
    tally.exportedCount += 1
    tally.writtenCount += 1
  }

  /// What the store has of a line; facts as one line of JSON, as `imgctl info --json` prints them.
  ///
  /// - Parameter earlier: the file of an earlier export. Facts have its dates, so that equal ones are equal files.
  private func content(
    of result: StoredResult, _ entry: LineResult, as earlier: ManifestLine.File?
  ) throws -> [UInt8] {
    guard keep.isFacts else { return result.bytes }
    let record = result.record.with(
      earlier?.storageTime ?? result.record.bytesStorageTime,
      earlier?.expiryTime ?? result.record.expiryTime)
    let report = try FactsReport(
      json: result.bytes, of: RequestedURL(entry.url), ImageURL(line: entry.url),
      fetch: .stored(record, isFromCache: true), showsPlace: true)
    return Array(try Output.json(of: report).utf8)
  }

  /// Of a job with several sizes, the name has the size, which differs from file to file unless the pictures are
  /// equal.
  private func fileName(of entry: LineResult, _ thumbnail: Thumbnail) -> String {
    names.name(
      of: entry, size: "\(thumbnail.width)x\(thumbnail.height)",
      suffix: keep.isFacts ? "json" : thumbnail.format.fileExtension)
  }
}

extension Keep {
  /// What a job has of each picture, for people.
  var noun: String {
    if isFacts { return "fact file" }
    return isOriginalAlone ? "original" : "thumbnail"
  }
}

extension CacheRecord {
  /// The same with other dates.
  fileprivate func with(_ storageTime: WallTime, _ expiryTime: WallTime) -> CacheRecord {
    CacheRecord(
      id: id, name: name, kind: kind, thumbnail: thumbnail, source: source,
      storageTime: storageTime, expiryTime: expiryTime, lifetime: lifetime, terms: terms)
  }
}
