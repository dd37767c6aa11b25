import ImgStore
import ImgSystem

/// Sees to it that the journal is where the next coordinator looks for it: a person may remove the
/// whole data directory, as that of any cache, while jobs run.
struct JournalPlace: Sendable {
  /// Why the journal is not in its place.
  struct Trouble: Error {
    /// A sentence for people.
    let reason: String
    /// Whether it is of no use to try again.
    let isFinal: Bool
  }

  let journal: Journal
  let directory: DataDirectory

  /// Takes the data directory again and writes the journal into it anew, where they are missing.
  /// Otherwise it costs four system calls.
  ///
  /// - Returns: whether anything was missing.
  func secure() throws(Trouble) -> Bool {
    let wasRetaken: Bool
    do throws(DataDirectoryError) {
      // First: whoever owns the directory may write in it.
      wasRetaken = try directory.retake()
    } catch {
      throw Trouble(reason: error.description, isFinal: error.isFinal)
    }
    guard journal.isDetached else { return wasRetaken }
    do throws(StoreError) {
      try journal.restore()
    } catch {
      let isFinal = [.notPermitted, .replaced].contains(error.reason)
      throw Trouble(reason: error.description, isFinal: isFinal)
    }
    return true
  }
}
