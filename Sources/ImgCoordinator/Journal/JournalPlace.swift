import ImgStore

/// Where the next coordinator looks for the journal. A person may remove the whole data directory, as
/// that of any cache, while a coordinator runs.
struct JournalPlace: Sendable {
  let journal: Journal
  let directory: DataDirectory

  /// Why the jobs are lost when this process ends; `nil` while the journal is in its place. Costs
  /// four system calls.
  var loss: String? {
    guard directory.isOwned, !journal.isDetached else {
      return "the data directory \(directory.path), or its journal, was removed or replaced while "
        + "the coordinator ran; imgctl start begins with what is there now"
    }
    return nil
  }
}
