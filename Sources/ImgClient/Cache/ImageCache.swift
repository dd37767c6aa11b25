public import ImgModel

/// The store that all processes of the machine share, see ``ImageClient/cache``: what it has, and how to
/// change it.
///
/// ```swift
/// try await client.cache.put(bytes, for: "https://example.org/a.jpg")
/// try await client.cache.remove("https://example.org/b.jpg")
/// print(try await client.cache.statistics().recordCount)
/// ```
///
/// Everything but ``image(for:)`` needs a ``CacheTransport`` and fails with
/// ``ImageError/Code/unsupportedOperation`` without one. Asynchronous functions keep no thread of the
/// tasks, and fail with ``ImageError/Code/cancelled`` if the task is cancelled before they begin. Removals
/// that have begun run to their end. A store that cannot be read or changed is a
/// ``ImageError/Code/storeFailure``. While this process changes the store, its other reads of the store wait
/// for some milliseconds.
public struct ImageCache: Sendable {
  private let transport: any ImageTransport
  private let memory: ImageMemoryCache?

  init(_ transport: any ImageTransport, memory: ImageMemoryCache?) {
    self.transport = transport
    self.memory = memory
  }

  /// The thumbnail that the store has, whatever the request's policy, expiry and delay are. Does not look
  /// into the memory of this process, and asks no other process. The bytes are copied on the thread of the
  /// caller.
  ///
  /// - Returns: `nil` if there is none, or it has expired.
  /// - Throws: what is wrong with the request, such as ``ImageError/Code/invalidURL``.
  public func image(for request: ImageRequest) throws(ImageError) -> LoadedImage? {
    try transport.storedImage(for: Self.asStored(request))
  }

  /// As ``image(for:)``, without the bytes if the transport can tell the facts without them.
  package func facts(for request: ImageRequest) throws(ImageError) -> LoadedImage? {
    guard let bounded = transport as? any BoundedTransport else { return try image(for: request) }
    return try bounded.storedImage(for: Self.asStored(request), bytesUpTo: 0)
  }

  private static func asStored(_ request: ImageRequest) -> ImageRequest {
    var stored = request
    stored.cachePolicy = .cacheOnly
    stored.expiry = .standard
    stored.delay = .zero
    return stored
  }

  /// The picture of a request as its origin sent it, if the store keeps that, see ``ImageRequest/Kept``. Its bytes,
  /// format and size are those of the original. Does not count as an access, and fetches nothing.
  ///
  /// - Returns: `nil` if it is not kept, or has expired.
  /// - Throws: what is wrong with the request, such as ``ImageError/Code/invalidURL``.
  public func original(for request: ImageRequest) async throws(ImageError) -> LoadedImage? {
    try await cacheTransport.original(for: request)
  }

  /// The thumbnail of one of the ``records``, also of a damaged picture. Does not count as an access.
  ///
  /// - Parameter id: see ``CacheRecord/id``.
  /// - Returns: `nil` if no record has this id any more, if it has expired, and for originals and facts.
  public func image(of id: CacheRecord.ID) async throws(ImageError) -> LoadedImage? {
    try await cacheTransport.image(of: id)
  }

  /// Stores a picture as if it had been fetched for the request just now: a worker decodes it, and the
  /// store and the memory of this process have its thumbnail from then on. Other sizes stay as they are.
  ///
  /// The cancellation of the task ends the call, but the picture may be stored nevertheless.
  ///
  /// - Parameters:
  ///   - bytes: an encoded picture, no longer than the cluster permits for a fetch.
  ///   - request: its delay does not count.
  /// - Returns: the thumbnail.
  /// - Throws: ``ImageError/Code/notAnImage`` and the other codes of pictures, with the store as before;
  ///   ``ImageError/Code/invalidRequest`` for a request that bypasses the store.
  @discardableResult
  public func put(
    _ bytes: [UInt8], for request: ImageRequest
  ) async throws(ImageError) -> LoadedImage {
    guard request.cachePolicy != .bypass else {
      throw ImageError(
        invalidRequest: "a picture cannot be put for a request that bypasses the store"
      )
      .about(request.url)
    }
    guard !Task.isCancelled else { throw .cancelled(request.url) }
    let image = try await cacheTransport.put(bytes, for: request)
    memory?.insert(image, for: request)
    return image
  }

  /// Removes the thumbnail of a request from the store and from the memory of this process. Thumbnails in
  /// other sizes and the original stay, so the next load may need no fetch.
  ///
  /// - Returns: whether the store had it.
  @discardableResult
  public func remove(for request: ImageRequest) async throws(ImageError) -> Bool {
    let wasStored = try await cacheTransport.removeImage(for: request)
    memory?.removeImage(for: request)
    return wasStored
  }

  /// Removes everything of a URL from the store and from the memory of this process: thumbnails in every
  /// size, the original, facts and unfinished downloads, whatever header fields requested them. The
  /// cluster also forgets that the origin did not have the picture. The next load fetches it again.
  ///
  /// - Returns: how many records the store had, without the downloads.
  @discardableResult
  public func remove(_ url: String) async throws(ImageError) -> Int {
    try await removeAll(for: ImageRequest(url: url))
  }

  /// Removes everything of the picture of a request, as ``remove(_:)`` does that of a URL. The picture is the one
  /// that ``ImageRequest/cacheKey`` names, else that of the URL without ``ImageRequest/ignoredQuery``.
  ///
  /// - Returns: how many records the store had, without unfinished downloads.
  @discardableResult
  public func removeAll(for request: ImageRequest) async throws(ImageError) -> Int {
    let removedCount = try await cacheTransport.removeImages(for: request)
    memory?.removeImages(for: request)
    return removedCount
  }

  /// Removes what has expired. The cluster does that by itself, too, about once a minute.
  ///
  /// - Returns: how many records this call removed.
  @discardableResult
  public func removeExpired() async throws(ImageError) -> Int {
    try await cacheTransport.removeExpired()
  }

  /// What the store holds, and how often it had what was asked for. Reads an entry for each record, so it
  /// takes the longer the more there are.
  public func statistics() async throws(ImageError) -> CacheStatistics {
    try await cacheTransport.statistics()
  }

  /// The records of the store, also expired ones, for `for try await`.
  public var records: CacheRecords {
    CacheRecords(transport)
  }

  private var cacheTransport: any CacheTransport {
    get throws(ImageError) { try transport.requireCache() }
  }
}

extension ImageTransport {
  /// - Throws: ``ImageError/Code/unsupportedOperation`` if the transport has no store.
  func requireCache() throws(ImageError) -> any CacheTransport {
    guard let cache = self as? any CacheTransport else {
      throw ImageError(
        code: .unsupportedOperation,
        message: "\(type(of: self)) has no store to change or list; use a CacheTransport")
    }
    return cache
  }
}

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

/// A source of thumbnails whose store a program may change and list, see ``ImageCache``.
///
/// No function blocks a thread of the tasks. Each may go on to its end when its task is cancelled.
public protocol CacheTransport: ImageTransport {
  /// Stores a picture as if it had been fetched for the request just now.
  ///
  /// - Parameters:
  ///   - bytes: an encoded picture.
  ///   - request: does not bypass the store.
  /// - Returns: its thumbnail.
  func put(_ bytes: [UInt8], for request: ImageRequest) async throws(ImageError) -> LoadedImage

  /// Removes the thumbnail of a request.
  ///
  /// - Returns: whether the store had it.
  func removeImage(for request: ImageRequest) async throws(ImageError) -> Bool

  /// Removes everything of the picture of a request, in every size.
  ///
  /// - Returns: how many records the store had.
  func removeImages(for request: ImageRequest) async throws(ImageError) -> Int

  /// Removes what has expired.
  ///
  /// - Returns: how many records were removed.
  func removeExpired() async throws(ImageError) -> Int

  /// What the store holds.
  func statistics() async throws(ImageError) -> CacheStatistics

  /// The thumbnail of a record.
  ///
  /// - Returns: `nil` if it was removed, has expired, or is no thumbnail.
  func image(of id: CacheRecord.ID) async throws(ImageError) -> LoadedImage?

  /// The picture of a request as its origin sent it.
  ///
  /// - Returns: `nil` if it is not kept, or has expired.
  func original(for request: ImageRequest) async throws(ImageError) -> LoadedImage?

  /// A part of the records, in an order that does not change.
  ///
  /// - Parameters:
  ///   - id: that of the last record of the part before, which may be gone; `nil` for the first part.
  ///   - limit: the maximum number. Fewer mean the end.
  func records(
    after id: CacheRecord.ID?, limit: Int
  ) async throws(ImageError) -> [CacheRecord]
}

extension CacheTransport {
  /// Finds nothing: the store keeps no originals.
  public func original(for request: ImageRequest) async throws(ImageError) -> LoadedImage? { nil }
}
