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
    let listFile = try FileIO.createPrivate("\(directory)/job-\(job).txt")
    let outcomeFile = try FileIO.createPrivate("\(directory)/job-\(job).jsonl")
    let list = Output(descriptor: listFile.rawValue)
    let outcomes = Output(descriptor: outcomeFile.rawValue)
    try recovery.forEachLine(of: job) { index, url, outcome in
      observe(url, outcome)
      if let url { try list.write(url + "\n") }
      try outcomes.write(
        json: LineResult(index: index, url: url?.withoutPasswords ?? "", outcome: outcome))
    }
    try list.flush()
    try outcomes.flush()
  }
}
