import FoundationEssentials
import ImgModel
import ImgSystem
import Synchronization

/// The header values and cookies that jobs send to origins. They may be secrets, so each job has a file for
/// them beside the journal, which is overwritten when the job is removed.
///
/// LMDB never overwrites a page in place, so a removed record would stay in free pages of its file.
/// All values are also in memory.
final class JobHeaders: Sendable {
  private let directory: String
  private let held = Mutex<[JobID: RequestSecrets]>([:])

  /// Headers and cookies in JSON, where a byte takes at most six.
  private static let maximumFileByteCount =
    8 * (HeaderFields.maximumByteCount + Cookies.maximumByteCount)

  /// - Parameter journalDirectory: the parent of the files' directory.
  init(in journalDirectory: String) {
    directory = journalDirectory + "/headers"
  }

  /// Those of a job; `nil` if it has none, or if its file is missing or damaged.
  subscript(id: JobID) -> RequestSecrets? { held.withLock { $0[id] } }

  /// Reads the files of `jobs`, and erases others, which a crash has left between the removal of
  /// their job and the erasure.
  func load(of jobs: Set<JobID>) {
    for id in foundJobs where !jobs.contains(id) {
      // The next start tries again.
      try? FileIO.erase(path(of: id))
    }
    loadAll()
  }

  /// Reads all files and changes none.
  func loadAll() {
    for id in foundJobs {
      if let secrets = read(id) { held.withLock { $0[id] = secrets } }
    }
  }

  private var foundJobs: [JobID] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return names.compactMap { UInt64($0) }.map(JobID.init(rawValue:))
  }

  /// Stores those of a new job durably.
  func add(_ secrets: RequestSecrets, of id: JobID) throws(StoreError) {
    held.withLock { $0[id] = secrets }
    try create()
    try write(secrets, of: id)
    try StoreError.wrapping { () throws(SystemError) in try Directory.sync(directory) }
  }

  /// Overwrites and removes the file of a removed job. If that fails, the next start erases it.
  func erase(_ id: JobID) {
    guard held.withLock({ $0.removeValue(forKey: id) }) != nil else { return }
    try? FileIO.erase(path(of: id))
  }

  private func path(of id: JobID) -> String { "\(directory)/\(id.rawValue)" }

  private func create() throws(StoreError) {
    try StoreError.wrapping { () throws(SystemError) in
      try Directory.create(directory, mode: 0o700)
    }
  }

  private func read(_ id: JobID) -> RequestSecrets? {
    guard
      let record = try? FileIO.contents(of: path(of: id), upTo: Self.maximumFileByteCount),
      JournalRecord.layout(of: record.span, for: JournalKey.job(id).span) == .headers
    else { return nil }
    let content = record.span.extracting(droppingFirst: JournalRecord.headByteCount)
    if let secrets = try? JSONRecord.decode(RequestSecrets.self, from: content) { return secrets }
    // Before jobs had cookies, the file held the header fields alone.
    let headers = try? JSONRecord.decode(HeaderFields.self, from: content)
    return headers.map { RequestSecrets(headers: $0, cookies: .none) }
  }

  private func write(_ secrets: RequestSecrets, of id: JobID) throws(StoreError) {
    let body = [JournalRecord.Layout.headers.rawValue] + (try JSONRecord.encode(secrets))
    let record = JournalRecord.encode(body, for: JournalKey.job(id))
    try StoreError.wrapping { () throws(SystemError) in
      try FileIO.writeDurably(record.span, to: path(of: id))
    }
  }
}
