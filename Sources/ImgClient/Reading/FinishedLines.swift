package import ImgModel
import ImgWire

/// The lines of a running job that have an outcome, each once, in about the order in which they end.
package final class FinishedLines {
  private let job: JobID
  private let client: Client
  /// All lines before it were seen.
  private var firstUnseen = 0
  /// Those behind it that were seen, too.
  private var seen: Set<Int> = []
  /// Where the next look begins.
  private var cursor = 0
  /// Whether `body` has returned `false` for one.
  package private(set) var hasFailures = false

  /// How much of a long list one look goes through, so that the caller can do other things.
  private static let pageMaximum = 16

  /// - Parameter client: a connection that nothing else uses.
  package init(of job: JobID, from client: Client) {
    self.job = job
    self.client = client
  }

  /// Calls `body` with lines that ended since the last call; with all of them once the job has ended.
  ///
  /// - Parameter body: returns whether the line has a result.
  package func forEachNew(
    hasEnded: Bool, _ body: (LineResult) throws -> Bool
  ) throws {
    if hasEnded { cursor = firstUnseen }
    var pageCount = 0
    while hasEnded || pageCount < Self.pageMaximum {
      pageCount += 1
      let page = try client.results(of: job, from: cursor)
      let ended = page.entries.filter { $0.outcome != nil }
      for entry in ended where see(entry.index) {
        if try !body(entry) { hasFailures = true }
      }
      guard let next = page.next, hasEnded || !ended.isEmpty else {
        cursor = firstUnseen
        return
      }
      cursor = next
    }
  }

  /// - Returns: whether the line was not seen before.
  private func see(_ index: Int) -> Bool {
    guard index >= firstUnseen, seen.insert(index).inserted else { return false }
    while seen.remove(firstUnseen) != nil { firstUnseen += 1 }
    return true
  }
}
