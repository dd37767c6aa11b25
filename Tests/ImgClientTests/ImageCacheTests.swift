import FoundationEssentials
import ImgModel
import ImgStore
import ImgWire
import TestCluster
import TestFiles
import TestPictures
import Testing

@testable import ImgClient

/// The shared store as users of the library see it.
@Suite(.timeLimit(.minutes(20)))
struct ImageCacheTests {
  /// Bytes that begin like no picture.
  private static let text = Array("<html><body>no picture</body></html>".utf8)

  private func records(of client: ImageClient) async throws(ImageError) -> [CacheRecord] {
    var records: [CacheRecord] = []
    for try await record in client.cache.records { records.append(record) }
    return records
  }

  // MARK: - Reading

  @Test(arguments: Backend.allCases)
  func `only the store answers, whatever policy and delay are`(backend: Backend) async throws {
    let backend = try backend.make()
    try backend.serve("a")
    var request = ImageRequest(url: backend.url("a"))
    request.cachePolicy = .reload
    request.delay = .seconds(60)
    let client = try backend.makeClient()
    #expect(try client.cache.image(for: request) == nil)
    _ = try await client.image(for: backend.url("a"), size: 256)
    #expect(try client.cache.image(for: request)?.origin == .store)
    #expect(backend.fetchCount(of: "a") == 1)
  }

  @Test(arguments: Backend.allCases)
  func `the list and the statistics tell what is stored`(backend: Backend) async throws {
    let (backend, client) = try backend.serving()
    #expect(try await client.cache.statistics().recordCount == 0)
    #expect(try await records(of: client).isEmpty)
    try backend.serve("a")
    let image = try await client.image(for: backend.url("a"), size: 256)
    _ = try await backend.makeClient().image(for: backend.url("a"), size: 256)
    let statistics = try await client.cache.statistics()
    #expect(statistics.recordCount == 1)
    #expect(statistics.byteCount >= Int64(image.bytes.count))
    #expect(statistics.expiredCount == 0)
    #expect(statistics.counters?.stores == 1)
    #expect(statistics.counters?.hits == 1)
    #expect(statistics.counters?.misses == 1)
    #expect(statistics.counters?.hitRate == 0.5)
    let record = try #require(try await records(of: client).first)
    #expect(record.url == backend.url("a"))
    #expect(record.kind == .thumbnail)
    #expect([record.thumbnail.width, record.thumbnail.height] == [256, 192])
    #expect(record.thumbnail.byteCount == image.bytes.count)
    #expect(record.expiresAt == image.expiresAt)
    #expect(record.storedAt == statistics.oldestStoredAt)
    #expect(record.storedAt == image.storedAt)
    #expect(record.thumbHash == image.thumbHash)
    #expect(record.thumbHash != nil)
  }

  @Test(arguments: Backend.allCases)
  func `a thumbnail has its time of storage wherever it is from`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    var request = ImageRequest(url: backend.url("a"))
    request.cachePolicy = .bypass
    let uncached = try await client.image(for: request)
    #expect(uncached.storedAt == nil)
    #expect(uncached.expiresAt == nil)
    request.cachePolicy = .cacheElseLoad
    let made = try await client.image(for: request)
    let remembered = try await client.image(for: request)
    let stored = try await backend.makeClient().image(for: request)
    #expect([made.origin, remembered.origin, stored.origin] == [.network, .memory, .store])
    let storedAt = try #require(made.storedAt)
    let expiresAt = try #require(made.expiresAt)
    #expect(storedAt < expiresAt)
    #expect([remembered.storedAt, stored.storedAt] == [storedAt, storedAt])
  }

  @Test(arguments: Backend.allCases)
  func `a record leads to its thumbnail until it is removed`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    let image = try await client.image(for: backend.url("a"))
    _ = try await client.image(for: backend.url("a"), size: 64)
    let records = try await records(of: client)
    #expect(records.count == 2)
    let id = try #require(records.first { $0.thumbnail.width == image.width }).id
    let hits = try await client.cache.statistics().counters?.hits
    let found = try await client.cache.image(of: id)
    #expect(found?.bytes == image.bytes)
    #expect(found?.origin == .store)
    #expect(found?.storedAt == image.storedAt)
    #expect(try await client.cache.statistics().counters?.hits == hits)
    try await client.cache.remove(backend.url("a"))
    #expect(try await client.cache.image(of: id) == nil)
  }

  @Test(arguments: Backend.allCases)
  func `a record that has expired leads to nothing`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    var request = ImageRequest(url: backend.url("a"))
    request.expiry = .after(.milliseconds(1))
    _ = try await client.image(for: request)
    var expiredCount = 0
    while expiredCount == 0 { expiredCount = try await client.cache.statistics().expiredCount }
    let record = try #require(try await records(of: client).first)
    #expect(try await client.cache.image(of: record.id) == nil)
  }

  @Test(arguments: [(ImageRequest.Kept.auto, 1), (.all, 1), (.thumbnail, 2)])
  func `another size needs no request if the original is kept`(
    kept: ImageRequest.Kept, requestCount: Int
  ) async throws {
    let backend = try RealBackend(["KEEP_AUTO_SIZE": "1M"])
    try backend.serve("a")
    let client = try backend.makeClient()
    for size in [64, 32] {
      var request = ImageRequest(url: backend.url("a"), size: size)
      request.kept = kept
      #expect(try await client.image(for: request).width == size)
    }
    #expect(backend.fetchCount(of: "a") == requestCount)
    let original = try await client.cache.original(for: ImageRequest(url: backend.url("a")))
    let picture = kept == .thumbnail ? nil : try PictureMaker.start().card(index: 1)
    #expect(original?.bytes == picture)
    #expect(original?.format == original?.source.format)
    #expect(original?.origin == (kept == .thumbnail ? nil : .store))
  }

  @Test func `a record of an original or of facts leads to no thumbnail`() async throws {
    let backend = try RealBackend()
    try backend.serve("a")
    let connection = try (unsafe backend.cluster).client()
    for keep in [Keep.original, .facts] {
      let options = RequestOptions(variant: .standard, keep: keep)
      try connection.answer(.get(GetRequest(url: backend.url("a"), options: options)))
    }
    let client = try backend.makeClient()
    let records = try await records(of: client)
    #expect(Set(records.map(\.kind)).isSuperset(of: [.original, .facts]))
    for record in records where record.kind != .thumbnail {
      #expect(record.thumbHash == nil)
      #expect(try await client.cache.image(of: record.id) == nil)
    }
  }

  @Test func `a long list is read in parts, each record once`() async throws {
    let cluster = InMemoryCluster()
    let client = ImageClient(transport: cluster)
    let urls = (0..<600).map { "https://example.org/\($0)" }
    cluster.serve(upload: [9], .sample)
    for url in urls { try await client.cache.put([9], for: ImageRequest(url: url)) }
    #expect(try await records(of: client).map(\.url) == urls)
  }

  // MARK: - Putting

  @Test(arguments: Backend.allCases)
  func `a picture that was put is served without a fetch`(backend: Backend) async throws {
    let (backend, client) = try backend.serving()
    let request = ImageRequest(url: backend.url("a"), size: 256)
    let made = try await client.cache.put(try backend.upload(), for: request)
    #expect([made.width, made.height] == [256, 192])
    let remembered = try await client.image(for: request)
    #expect(remembered.origin == .memory)
    #expect(remembered.bytes == made.bytes)
    let other = try await backend.makeClient().image(for: request)
    #expect(other.origin == .store)
    #expect(other.bytes == made.bytes)
    #expect(backend.fetchCount(of: "a") == 0)
  }

  @Test(arguments: Backend.allCases)
  func `a picture that is put replaces a stored one of its size`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    let request = ImageRequest(url: backend.url("a"), size: 256)
    let first = try await client.image(for: request)
    let second = try await client.cache.put(try backend.upload(), for: request)
    #expect(second.bytes != first.bytes)
    #expect(try await client.image(for: request).bytes == second.bytes)
    #expect(try client.cache.image(for: request)?.bytes == second.bytes)
  }

  @Test(arguments: Backend.allCases)
  func `bytes that are no picture are refused, and the store stays`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    let request = ImageRequest(url: backend.url("a"), size: 256)
    let first = try await client.image(for: request)
    let error = await failure { () throws(ImageError) in
      try await client.cache.put(Self.text, for: request)
    }
    #expect(error?.code == .notAnImage)
    #expect(error?.url == request.url)
    #expect(try client.cache.image(for: request)?.bytes == first.bytes)
  }

  @Test func `a put for a request that bypasses the store is refused`() async throws {
    let client = ImageClient(transport: InMemoryCluster())
    var request = ImageRequest(url: "https://example.org/a")
    request.cachePolicy = .bypass
    let error = await failure { () throws(ImageError) in
      try await client.cache.put([9], for: request)
    }
    #expect(error?.code == .invalidRequest)
    #expect(error?.url == request.url)
  }

  // MARK: - Removing

  @Test(arguments: Backend.allCases)
  func `the thumbnail of a request is removed alone`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    let large = ImageRequest(url: backend.url("a"), size: 256)
    let small = ImageRequest(url: backend.url("a"), size: 64)
    _ = try await client.image(for: large)
    _ = try await client.image(for: small)
    #expect(try await client.cache.remove(for: large))
    let isStored = try await client.cache.remove(for: large)
    #expect(!isStored)
    #expect(try client.cachedImage(for: large) == nil)
    #expect(try client.cache.image(for: small) != nil)
  }

  @Test(arguments: Backend.allCases)
  func `a URL is removed in every size and spelling, then fetched`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    for size in [64, 256] { _ = try await client.image(for: backend.url("a"), size: size) }
    let count = backend.fetchCount(of: "a")
    #expect(try await client.cache.remove("  " + backend.url("a")) == 2)
    #expect(try await client.image(for: backend.url("a"), size: 256).origin == .network)
    #expect(backend.fetchCount(of: "a") == count + 1)
  }

  @Test(arguments: Backend.allCases)
  func `a picture is removed in every size by its cache key, whatever its URL is`(
    backend: Backend
  ) async throws {
    let (backend, client) = try backend.serving("a", "b")
    func request(_ picture: String, named key: String?, size: Int = 256) -> ImageRequest {
      var request = ImageRequest(url: backend.url(picture), size: size)
      request.cacheKey = key
      return request
    }
    let named = [64, 256].map { request("a", named: "photo-1", size: $0) }
    let others = [request("a", named: nil), request("a", named: "photo-2")]
    for request in named + others { _ = try await client.image(for: request) }
    #expect(try await client.cache.removeAll(for: request("b", named: "photo-1")) == 2)
    for request in named { #expect(try client.cachedImage(for: request) == nil) }
    for request in others { #expect(try client.cachedImage(for: request) != nil) }
  }

  @Test(arguments: Backend.allCases)
  func `a picture is removed whatever its ignored query is`(backend: Backend) async throws {
    // The real origin serves a path whatever the query is.
    let (backend, client) = try backend.serving("a", "a?signature=1")
    var request = ImageRequest(url: backend.url("a?signature=1"), size: 64)
    request.ignoredQuery = ["signature"]
    _ = try await client.image(for: request)
    request.url = backend.url("a?signature=2")
    #expect(try await client.cache.removeAll(for: request) == 1)
    #expect(try client.cachedImage(for: request) == nil)
  }

  @Test(arguments: Backend.allCases)
  func `a URL that was missing is fetched again after its removal`(backend: Backend) async throws {
    let (backend, client) = try backend.serving()
    let url = backend.url("a")
    #expect(await client.failure(of: ImageRequest(url: url, size: 64))?.httpStatus == 404)
    try backend.serve("a")
    #expect(try await client.cache.remove(url) == 0)
    #expect(try await client.image(for: url, size: 64).origin == .network)
  }

  @Test(arguments: Backend.allCases)
  func `what has expired is counted until it is removed`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    var request = ImageRequest(url: backend.url("a"))
    request.expiry = .after(.milliseconds(1))
    _ = try await client.image(for: request)
    var expiredCount = 0
    while expiredCount == 0 { expiredCount = try await client.cache.statistics().expiredCount }
    #expect(try await records(of: client).count == 1)
    #expect(try await client.cache.removeExpired() == 1)
    #expect(try await records(of: client).isEmpty)
  }

  @Test func `reads go on while records are removed`() async throws {
    let (backend, client) = try RealBackend.serving("a", "b")
    let kept = ImageRequest(url: backend.url("a"))
    _ = try await client.image(for: kept)
    let readCount = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<4 {
        group.addTask {
          var count = 0
          for _ in 0..<200 where try client.cache.image(for: kept) != nil { count += 1 }
          return count
        }
      }
      group.addTask {
        for _ in 0..<20 {
          _ = try await client.image(for: backend.url("b"), size: 64)
          try await client.cache.remove(backend.url("b"))
        }
        return 0
      }
      return try await group.reduce(0, +)
    }
    #expect(readCount == 800)
    #expect(backend.fetchCount(of: "b") == 20)
  }

  // MARK: - Other transports

  /// A transport without a store, which implements the least that it may.
  private struct Nothing: ImageTransport {
    func loadImage(
      for request: ImageRequest, onUpdate: (@Sendable (ImageUpdate) -> Void)?
    ) async throws(ImageError) -> LoadedImage { .sample }
  }

  @Test func `a transport without a store says so`() async throws {
    let client = ImageClient(transport: Nothing())
    #expect(try client.cache.image(for: "https://example.org/a") == nil)
    let error = await failure { () throws(ImageError) in try await client.cache.statistics() }
    #expect(error?.code == .unsupportedOperation)
    #expect(error?.message == "Nothing has no store to change or list; use a CacheTransport")
    let listError = await failure { () throws(ImageError) in try await records(of: client) }
    #expect(listError?.code == .unsupportedOperation)
  }
}

/// What a client reads without a coordinator.
@Suite struct ReadingTests {
  private let directory = TestDirectory()
  private let first = JobID(rawValue: 1)
  private let second = JobID(rawValue: 2)

  /// A journal with a finished job of two lines and a job whose list was never completed.
  private func writeJournal() throws {
    let journal = try Journal(directory: directory.file("journal"))
    let now = WallTime(rawValue: 0)
    for id in [first, second] {
      try journal.apply([
        .createJob(
          JobRecord(id: id, options: RequestOptions(variant: .standard), submittedAt: now)),
        .appendURLs(id, ["a", "b"]),
      ])
    }
    let failure = Failure(stage: .fetch, code: .timeout, detail: "no answer")
    try journal.apply([
      .seal(first), .record(first, index: 0, .failed(failure)),
      .record(first, index: 1, .cancelled), .finish(first, at: now),
    ])
  }

  @Test func `without a store there is nothing to read`() throws {
    #expect(try StoreReader(directory: directory.file("store")) == nil)
  }

  @Test func `without a journal there are no jobs`() throws {
    let source = try JobSource(journalIn: directory.file("journal"))
    try source.forEachJob { _ in Issue.record("there is no job") }
    #expect(throws: ClientError.self) { try source.status(of: first) }
    #expect(throws: ClientError.self) {
      try source.results(of: first, isFailedOnly: false) { _ in }
    }
    #expect(!FileManager.default.fileExists(atPath: directory.file("journal")))
  }

  @Test func `a journal shows the accepted jobs and their results`() throws {
    try writeJournal()
    let source = try JobSource(journalIn: directory.file("journal"))
    var jobs: [JobID] = []
    try source.forEachJob { jobs.append($0.job) }
    #expect(jobs == [first])
    #expect(try source.status(of: first).failed == 1)
    let error = #expect(throws: ClientError.self) { try source.status(of: second) }
    #expect(error?.description == "there is no job 2")
    var failed: [String] = []
    try source.results(of: first, isFailedOnly: true) { failed.append($0.url) }
    #expect(failed == ["a"])
  }
}
