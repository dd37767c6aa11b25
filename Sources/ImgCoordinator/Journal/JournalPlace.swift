import ImgSettings
import ImgStore

/// Where the next coordinator looks for the journal. A person may remove the whole data directory, as
/// that of any cache, while a coordinator runs.
struct JournalPlace: Sendable {
  let journal: Journal
  let directory: DataDirectory

  /// Why this process cannot continue; `nil` while all is in its place. Without the journal, the jobs
  /// are lost when the process ends. Costs five system calls.
  var loss: String? {
    guard directory.isOwned, !journal.isDetached else {
      return "the data directory \(directory.path), or its journal, was removed or replaced while "
        + "the coordinator ran; imgctl start begins with what is there now"
    }
    guard directory.hasStorePlace else {
      return "the directory \(Settings.storePlace(in: directory.path)) of the store was removed or "
        + "replaced while the coordinator ran; imgctl start makes another"
    }
    return nil
  }
}
