package import ImgModel
import ImgStore

/// Removals of records.
extension LocalStore {
  /// Removes all records of some pictures: thumbnails in every size, originals, facts and unfinished
  /// downloads, whatever header fields requested them.
  ///
  /// - Returns: how many records, without the downloads.
  package func removeRecords(of names: [PictureName]) throws -> Int {
    let wanted = Set(names.map(\.text))
    var keys: [ContentKey] = []
    try reader()?.forEach { stored in
      let text = PictureName.text(ofRecord: stored.url)
      if wanted.contains(text) || wanted.contains(String(PictureName.url(ofText: text))) {
        keys.append(stored.key)
      }
      return true
    }
    return try remove(keys, partialsOf: names)
  }

  /// Removes what a request has made.
  ///
  /// - Returns: whether there was anything.
  func removeResult(of name: PictureName, for request: ThumbnailRequest) throws -> Bool {
    try remove([ContentKey(name, request)], partialsOf: []) > 0
  }

  private func remove(_ keys: [ContentKey], partialsOf names: [PictureName]) throws -> Int {
    try withWriter { store in
      try store.change { store throws(StoreError) in
        try store.removePartials(of: names)
        return try store.remove(keys)
      }
    } ?? 0
  }

  /// Removes the pins of a job from records. Does nothing if there is no store any more.
  func unpin(_ keys: [ContentKey], for job: JobID) throws {
    let limit = ThumbnailStore.expiredBatchCount
    _ = try withWriter { store in
      for start in stride(from: 0, to: keys.count, by: limit) {
        let batch = Array(keys[start...].prefix(limit))
        try store.change { store throws(StoreError) in try store.unpin(batch, for: job) }
      }
    }
  }

  /// Removes what has expired.
  ///
  /// - Returns: how many this process removed. Workers may remove some at the same time.
  package func removeExpired(at now: WallTime) throws -> Int {
    let limit = ThumbnailStore.expiredBatchCount
    return try withWriter { store in
      var total = 0
      while true {
        let removed = try store.change { store throws(StoreError) in
          try store.removeExpired(at: now, limit: limit)
        }
        total += removed
        if removed < limit { return total }
      }
    } ?? 0
  }
}
