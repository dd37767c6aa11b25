import ImgStore

extension JobSource {
  /// Opens the journal for reading.
  ///
  /// - Returns: `nil` if this user may not read it.
  package static func journal(ifPermittedIn directory: String) throws -> JobSource? {
    do throws(StoreError) {
      return try JobSource(journalIn: directory)
    } catch  where error.reason == .notPermitted {
      return nil
    }
  }
}
