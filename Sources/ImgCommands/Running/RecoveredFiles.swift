import ImgClient
import ImgModel
import ImgSystem

/// The files of `imgctl recover`: for each job its list, and an object for each line and its outcome.
struct RecoveredFiles {
  private let directory: String

  /// - Parameter directory: created if missing.
  init(in directory: String) throws {
    try Directory.create(directory)
    self.directory = directory
  }

  /// Writes the files of a job, which only this user can read.
  ///
  /// - Parameter observe: is given each line, without a URL if its list is lost.
  func write(
    _ job: JobID, of recovery: JournalRecovery, _ observe: (_ url: String?, Outcome?) -> Void
  ) throws {
    let listFile = try ReplacementFile(path: "\(directory)/job-\(job).txt", isPrivate: true)
    let outcomeFile = try ReplacementFile(path: "\(directory)/job-\(job).jsonl", isPrivate: true)
    let list = Output(descriptor: listFile.descriptor)
    let outcomes = Output(descriptor: outcomeFile.descriptor)
    try recovery.forEachLine(of: job) { index, url, outcome in
      observe(url, outcome)
      if let url { try list.write(url + "\n") }
      try outcomes.write(
        json: LineResult(index: index, url: url?.withoutPasswords ?? "", outcome: outcome))
    }
    try list.flush()
    try outcomes.flush()
    try listFile.commit()
    try outcomeFile.commit()
  }
}
