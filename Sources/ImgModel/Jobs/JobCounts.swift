/// The exact numbers of a job. They change with the same rule in memory and in the journal.
package struct JobCounts: Hashable, Sendable, Codable {
  /// Lines of the list, duplicates counted each.
  package var total = 0
  package var done = 0
  package var failed = 0
  /// Of `failed`: those that may well succeed when they are tried again.
  package var retryable = 0
  package var cancelled = 0
  /// Of `done`: those that were in the store before anybody fetched.
  package var fromCache = 0
  /// Bytes of bodies that origins sent, also for what has failed.
  package var bytesFetched: Int64 = 0
  /// Bytes of what was made for this job's lines and put into the store, each line with its own, also
  /// where several name one picture: thumbnails or, where only these are kept, originals. Originals
  /// beside thumbnails are no line's result and do not count.
  package var bytesStored: Int64 = 0

  package init(total: Int = 0) {
    self.total = total
  }

  /// URLs that have an outcome.
  package var finished: Int { done + failed + cancelled }

  /// Adds the outcome of one more URL.
  ///
  /// - Parameter keep: what the job keeps.
  package mutating func count(_ outcome: Outcome, keep: Keep) {
    switch outcome {
    case .done(let thumbnail, let isFromCache, let bytes):
      done += 1
      bytesFetched += Int64(bytes)
      if isFromCache {
        fromCache += 1
      } else if keep != .none {
        bytesStored += Int64(thumbnail.byteCount)
      }
    case .failed(let failure, let bytes):
      failed += 1
      bytesFetched += Int64(bytes)
      if failure.isRetryable { retryable += 1 }
    case .cancelled:
      cancelled += 1
    }
  }

  private enum CodingKeys: String, CodingKey {
    case total, done, failed, retryable, cancelled
    case fromCache = "from_cache"
    case bytesFetched = "bytes_fetched"
    case bytesStored = "bytes_stored"
  }
}
