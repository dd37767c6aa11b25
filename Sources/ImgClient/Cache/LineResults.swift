package import ImgModel
import ImgStore

/// What the lines of a job have in the store, which it opens once.
package final class LineResults {
  private let request: ThumbnailRequest
  private let store: LocalStore
  /// `nil` until the store exists.
  private var reader: StoreReader?

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

  /// Whether the store has all that the job made of a line. Counts no access.
  package func isStored(_ line: LineResult) throws -> Bool {
    reader = try reader ?? store.reader()
    guard let reader else { return false }
    return try reader.hasResults(
      of: request.fetch.name(of: try ImageURL(line: line.url)), for: request)
  }
}
