package import ImgModel
import ImgStore

/// What the lines of a job have in the store, which it opens once.
package final class LineResults {
  private let request: ThumbnailRequest
  private let store: LocalStore
  /// `nil` until the store exists.
  private var reader: StoreReader?
  /// The records of the lines that need no pins any more.
  private var unneededKeys: [ContentKey] = []

  /// - Parameter request: that of the job.
  package init(of request: ThumbnailRequest, in store: LocalStore) {
    self.request = request
    self.store = store
  }

  /// The thumbnails of a line in the job's variants, its facts, or its original if the job keeps nothing
  /// else; without those that have expired or were evicted since.
  package func results(of line: LineResult) throws -> [StoredResult] {
    reader = try reader ?? store.reader()
    guard let reader else { return [] }
    let name = request.fetch.name(of: try ImageURL(line: line.url))
    guard request.keep == .original else {
      return try reader.results(of: name, for: request, recordingAccess: .none).map(
        StoredResult.init)
    }
    let original = try reader.original(of: name, isLenient: request.isLenient)
    return original.map { [StoredResult($0)] } ?? []
  }

  /// What the job has made of a line needs no pins any more.
  package func endPins(of line: LineResult) throws {
    let name = request.fetch.name(of: try ImageURL(line: line.url))
    unneededKeys += ContentKey.results(of: name, for: request)
    if request.keep.includesOriginal { unneededKeys.append(ContentKey(originalOf: name)) }
  }

  /// Removes the pins of the job that are not needed any more.
  package func removePins(of job: JobID) throws {
    guard !unneededKeys.isEmpty else { return }
    reader = nil
    try store.unpin(unneededKeys, for: job)
    unneededKeys = []
  }

  /// Whether the store has all that the job made of a line. Counts no access.
  package func isStored(_ line: LineResult) throws -> Bool {
    reader = try reader ?? store.reader()
    guard let reader else { return false }
    return try reader.hasResults(
      of: request.fetch.name(of: try ImageURL(line: line.url)), for: request)
  }
}
