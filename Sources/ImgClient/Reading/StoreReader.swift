package import ImgModel
package import ImgStore

/// Reads the store straight from its map: without a coordinator, without a socket, with one copy. Each
/// call reads the store that the directory has at that time.
///
/// A request that is not lenient does not find what was made of a damaged picture.
package struct StoreReader: Sendable {
  let store: SharedStore

  init(_ store: SharedStore) {
    self.store = store
  }

  /// - Returns: `nil` when there is no store yet.
  package init?(directory: String) throws(StoreError) {
    do throws(StoreError) {
      store = try SharedStore(directory: directory, access: .readOnly)
    } catch  where error.reason == .absent {
      return nil
    }
  }

  /// The thumbnail and its bytes; `nil` when it is not there, or expired.
  ///
  /// - Parameters:
  ///   - moment: the thumbnail must not have expired before it; `nil` for now.
  ///   - recordingAccess: which accesses the store counts.
  package func thumbnail(
    for name: PictureName, variant: Variant, isLenient: Bool = false, at moment: WallTime? = nil,
    recordingAccess: AccessRecording = .hitsAndMisses
  ) throws(StoreError) -> (facts: StoredThumbnail, bytes: [UInt8])? {
    try record(
      ContentKey(name, variant: variant), isLenient: isLenient, at: moment ?? now,
      recordingAccess: recordingAccess)
  }

  /// What a request has made: the thumbnail in its first variant, or the facts of the picture as JSON; `nil`
  /// when it is not there, or expired.
  ///
  /// - Parameter maximumByteCount: a longer result has no bytes, and costs no copy.
  package func result(
    of name: PictureName, for request: ThumbnailRequest, at moment: WallTime? = nil,
    bytesUpTo maximumByteCount: Int = .max, recordingAccess: AccessRecording = .hitsAndMisses
  ) throws(StoreError) -> (facts: StoredThumbnail, bytes: [UInt8])? {
    try record(
      ContentKey(name, request), at: moment ?? now, bytesUpTo: maximumByteCount,
      recordingAccess: recordingAccess
    ) { $0.thumbnail.answers(isLenient: request.isLenient) }
  }

  /// All that a request has made: the thumbnails in its variants, in their order, or the facts of the
  /// picture; without those that are not there, or expired.
  package func results(
    of name: PictureName, for request: ThumbnailRequest, recordingAccess: AccessRecording
  ) throws(StoreError) -> [(facts: StoredThumbnail, bytes: [UInt8])] {
    var found: [(facts: StoredThumbnail, bytes: [UInt8])] = []
    for key in ContentKey.results(of: name, for: request) {
      let record = try record(
        key, isLenient: request.isLenient, at: now, recordingAccess: recordingAccess)
      if let record { found.append(record) }
    }
    return found
  }

  /// Whether all that a request has made is there. Counts no access.
  package func hasResults(
    of name: PictureName, for request: ThumbnailRequest
  ) throws(StoreError) -> Bool {
    let isOriginal = request.keep == .original
    let keys =
      isOriginal ? [ContentKey(originalOf: name)] : ContentKey.results(of: name, for: request)
    for key in keys {
      let found = try record(key, at: now, bytesUpTo: 0, recordingAccess: .none) {
        $0.thumbnail.answers(isLenient: request.isLenient)
      }
      if found == nil { return false }
    }
    return true
  }

  /// The thumbnail of a record, also of a damaged picture, and its bytes; `nil` when it is not there, has
  /// expired, or is no thumbnail. Is not counted as an access.
  func thumbnail(
    _ key: ContentKey
  ) throws(StoreError) -> (facts: StoredThumbnail, bytes: [UInt8])? {
    try record(key, at: now, recordingAccess: .none) { !$0.isOriginal && !$0.isFacts }
  }

  /// What is known of the thumbnails of one picture in some variants, without their bytes; `nil` in
  /// place of one that is not there, or expired.
  package func facts(
    of name: PictureName, as variants: [Variant], isLenient: Bool = false
  ) throws(StoreError) -> [StoredThumbnail?] {
    try facts(of: variants.map { ContentKey(name, variant: $0) }, isLenient: isLenient)
  }

  /// The picture as it came and its bytes; `nil` when it is not kept, or expired.
  package func original(
    of name: PictureName, isLenient: Bool = false
  ) throws(StoreError) -> (facts: StoredThumbnail, bytes: [UInt8])? {
    try record(
      ContentKey(originalOf: name), isLenient: isLenient, at: now, recordingAccess: .none)
  }

  /// What is known of the picture as it came, without its bytes; `nil` when it is not kept, or
  /// expired.
  package func originalFacts(
    of name: PictureName, isLenient: Bool = false
  ) throws(StoreError) -> StoredThumbnail? {
    try facts(of: [ContentKey(originalOf: name)], isLenient: isLenient).first ?? nil
  }

  private func facts(
    of keys: [ContentKey], isLenient: Bool
  ) throws(StoreError) -> [StoredThumbnail?] {
    try store.current().facts(of: keys, at: now).map { facts in
      facts.flatMap { $0.thumbnail.answers(isLenient: isLenient) ? $0 : nil }
    }
  }

  private func record(
    _ key: ContentKey, isLenient: Bool, at moment: WallTime, recordingAccess: AccessRecording
  ) throws(StoreError) -> (facts: StoredThumbnail, bytes: [UInt8])? {
    try record(key, at: moment, recordingAccess: recordingAccess) {
      $0.thumbnail.answers(isLenient: isLenient)
    }
  }

  private func record(
    _ key: ContentKey, at moment: WallTime, bytesUpTo maximumByteCount: Int = .max,
    recordingAccess: AccessRecording, where isWanted: (StoredThumbnail) -> Bool
  ) throws(StoreError) -> (facts: StoredThumbnail, bytes: [UInt8])? {
    do throws(StoreError) {
      return try store.current().withThumbnail(
        key, at: moment, recordingAccess: recordingAccess
      ) { facts, bytes -> (facts: StoredThumbnail, bytes: [UInt8])? in
        guard isWanted(facts) else { return nil }
        guard bytes.count <= maximumByteCount else { return (facts, []) }
        return (facts, unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) })
      } ?? nil
    } catch  where error.reason == .absent {
      // It was removed after it was opened, and is not recreated yet.
      return nil
    }
  }

  package func summary() throws(StoreError) -> StoreSummary {
    try store.current().summary()
  }

  /// How many thumbnails have expired at `moment` and are still there.
  package func expiredCount(at moment: WallTime) throws(StoreError) -> Int {
    try store.current().expiredCount(at: moment)
  }

  package func statistics() throws(StoreError) -> StoreStatistics {
    try store.current().statistics(at: now)
  }

  /// Calls `body` with every record, also expired ones, until it returns `false`.
  package func forEach(_ body: (StoredThumbnail) throws -> Bool) throws {
    try store.current().forEach(body)
  }

  private var now: WallTime { .now }
}
