/// The exact counts of a job. The scheduler and the journal update them with the same code.
package struct JobCounts: Hashable, Sendable, Codable {
  /// The lines of the list. Each duplicate counts.
  package var total = 0
  package var done = 0
  /// The done lines whose pictures are damaged, see ``Thumbnail/isDamaged``.
  package var damaged = 0
  package var failed = 0
  /// The failures that a retry includes by default, because they may succeed later.
  package var retryable = 0
  package var cancelled = 0
  /// The done lines that were cache hits.
  package var fromCache = 0
  /// Bytes of response bodies, including those of failed lines.
  package var bytesFetched: Int64 = 0
  /// Bytes stored for the lines of this job. If several lines name one picture, each line counts.
  /// Thumbnails count; originals count only if the job stores no thumbnails.
  package var bytesStored: Int64 = 0

  package init(total: Int = 0) {
    self.total = total
  }

  /// The lines that have an outcome.
  package var finished: Int { done + failed + cancelled }

  /// Adds the outcome of one line.
  ///
  /// - Parameter keep: the job's retention policy.
  package mutating func count(_ outcome: Outcome, keep: Keep) {
    switch outcome {
    case .done(let thumbnail, let isFromCache, let bytes):
      done += 1
      if thumbnail.isDamaged { damaged += 1 }
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
    case total, done, damaged, failed, retryable, cancelled
    case fromCache = "from_cache"
    case bytesFetched = "bytes_fetched"
    case bytesStored = "bytes_stored"
  }
}
