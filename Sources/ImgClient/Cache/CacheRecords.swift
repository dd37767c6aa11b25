/// The records of a store, see ``ImageCache/records``. Each iteration begins at the first one.
///
/// Reads some hundred records at a time, so a list of any length takes little memory, and a slow reader
/// keeps nothing from being stored. Records that are stored or removed meanwhile may be there or not. The
/// cancellation of the task ends the iteration with ``ImageError/Code/cancelled``.
public struct CacheRecords: AsyncSequence, Sendable {
  private let transport: any ImageTransport

  init(_ transport: any ImageTransport) {
    self.transport = transport
  }

  /// Reads from the first record on.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(transport: transport)
  }

  /// One reading of the list.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private static let partCount = 256

    private let transport: any ImageTransport
    private var part: ArraySlice<CacheRecord> = []
    private var lastID: CacheRecord.ID?
    /// Whether no part follows.
    private var isLast = false

    fileprivate init(transport: any ImageTransport) {
      self.transport = transport
    }

    /// The next record; `nil` after the last one, and after an error.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(ImageError) -> CacheRecord? {
      if part.isEmpty, !isLast { try await readPart(isolation: actor) }
      return part.popFirst()
    }

    private mutating func readPart(
      isolation actor: isolated (any Actor)?
    ) async throws(ImageError) {
      isLast = true
      guard !Task.isCancelled else { throw .cancelled(nil) }
      let records = try await transport.requireCache()
        .records(after: lastID, limit: Self.partCount)
      part = records[...]
      lastID = records.last?.id
      isLast = records.count < Self.partCount
    }
  }
}
