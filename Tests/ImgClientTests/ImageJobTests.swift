import FoundationEssentials
import ImgModel
import ImgWire
import Synchronization
import TestCluster
import Testing

@testable import ImgClient

/// Jobs as users of the library see them.
@Suite(.timeLimit(.minutes(20)))
struct ImageJobTests {
  /// The updates of a job, up to its end.
  private func updates(of id: ImageJob.ID, in jobs: ImageJobs) async throws -> [ImageJob] {
    try await jobs.updates(of: id).reduce(into: []) { $0.append($1) }
  }

  private func results(
    of id: ImageJob.ID, failedOnly: Bool = false, in jobs: ImageJobs
  ) async throws -> [ImageJobResult] {
    try await jobs.results(of: id, failedOnly: failedOnly).reduce(into: []) { $0.append($1) }
  }

  @Test(arguments: Backend.allCases)
  func `a job counts its URLs exactly and has each result in order`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a", "c")
    let urls = ["a", "missing", "c"].map(backend.url)
    let id = try await client.jobs.submit(urls, as: ImageJobRequest(size: 64))
    let updates = try await updates(of: id, in: client.jobs)
    #expect(updates.count(where: \.hasEnded) == 1)
    let job = try #require(updates.last)
    #expect(job.state == .finished)
    #expect([job.total, job.done, job.failed, job.cancelled] == [3, 2, 1, 0])
    #expect([job.queued, job.running, job.fromCache, job.retryable] == [0, 0, 0, 0])
    #expect(job.fraction == 1)
    #expect(job.fetchedByteCount > 0)
    #expect(try await client.jobs.job(id) == job)

    let results = try await results(of: id, in: client.jobs)
    #expect(results.map(\.url) == urls)
    #expect(results.map(\.index) == [0, 1, 2])
    let failures = try await self.results(of: id, failedOnly: true, in: client.jobs)
    #expect(failures == [results[1]])
    #expect(failures.first?.error?.httpStatus == 404)
    #expect(failures.first?.error?.url == urls[1])
    guard case .done(let thumbnail, let isFromCache) = results[2].outcome else {
      Issue.record("\(results[2])")
      return
    }
    #expect(!isFromCache)
    let image = try client.cachedImage(for: ImageRequest(url: urls[2], size: 64))
    #expect(image?.width == thumbnail.width)
    #expect(image?.bytes.count == thumbnail.byteCount)
  }

  @Test(arguments: Backend.allCases)
  func `each of many jobs submitted at the same time ends once`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    let jobs = client.jobs
    let url = backend.url("a")
    let ends = try await withThrowingTaskGroup { group in
      for number in 0..<200 {
        group.addTask {
          var request = ImageJobRequest()
          request.name = "\(number)"
          let id = try await jobs.submit([url], as: request)
          var ends: [ImageJob] = []
          for try await job in jobs.updates(of: id) where job.hasEnded { ends.append(job) }
          return ends
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(ends.allSatisfy { $0.count == 1 && $0.first?.done == 1 })
    #expect(Set(ends.flatMap { $0 }.map(\.id)) == Set(1...200))
    #expect(Set(ends.flatMap { $0 }.compactMap(\.name)) == Set((0..<200).map { "\($0)" }))
    let listed = try await jobs.reduce(into: []) { $0.append($1.id) }
    #expect(listed == Array((1...200).reversed()))
    #expect(backend.fetchCount(of: "a") == 1)
  }

  @Test(arguments: Backend.allCases)
  func `two readers see the same end, whichever of them leaves`(backend: Backend) async throws {
    let (backend, client) = try backend.serving(inParts: "a")
    let jobs = client.jobs
    let id = try await jobs.submit([backend.url("a")])
    let readers = (0..<3).map { _ in Task { try await updates(of: id, in: jobs) } }
    #expect(try await eventually { backend.fetchCount(of: "a") == 1 })
    readers[0].cancel()
    let error = await #expect(throws: ImageError.self) { try await readers[0].value }
    #expect(error?.code == .cancelled)
    backend.releaseAll("a")
    let ends = [try await readers[1].value.last, try await readers[2].value.last]
    #expect(ends[0] == ends[1])
    #expect(ends[0]?.state == .finished)
  }

  @Test(arguments: Backend.allCases)
  func `readers that leave leave nothing behind`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    let id = try await client.jobs.submit([backend.url("a")], as: .delayed)
    // More than the coordinator serves to one client at the same time.
    for _ in 0..<1_100 {
      for try await job in client.jobs.updates(of: id) {
        #expect(job.state == .scheduled)
        break
      }
    }
    #expect(try await client.image(for: backend.url("a"), size: 64).origin == .network)
  }

  @Test(arguments: Backend.allCases)
  func `a submission cancelled amid its list leaves no job`(backend: Backend) async throws {
    let backend = try backend.make()
    let client = try backend.makeClient()
    let jobs = client.jobs
    let submission = Mutex<Task<ImageJob.ID, any Error>?>(nil)
    let (started, start) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      // Until the task is known.
      for await _ in started { break }
      return try await jobs.submit(
        NumberedURLs(count: 100_000) { number in
          if number == 50_000 { submission.withLock { $0?.cancel() } }
        })
    }
    submission.withLock { $0 = task }
    start.yield()
    let error = await #expect(throws: ImageError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    // A further job shows that the number of the other one was not accepted.
    let id = try await jobs.submit(["https://example.org/"], as: .delayed)
    let listed = try await jobs.reduce(into: []) { $0.append($1.id) }
    #expect(listed == [id])
  }

  @Test(arguments: Backend.allCases)
  func `a long list made while it is sent is accepted whole`(backend: Backend) async throws {
    let backend = try backend.make()
    let client = try backend.makeClient()
    let jobs = client.jobs
    let id = try await jobs.submit(NumberedURLs(count: 30_000), as: .delayed)
    let job = try await jobs.job(id)
    #expect(job.total == 30_000)
    #expect(job.queued == 30_000)
    var count = 0
    for try await result in jobs.results(of: id) {
      if result.index != count || result.url != "https://example.org/\(count)" { break }
      count += 1
    }
    #expect(count == 30_000)
  }

  @Test(arguments: Backend.allCases)
  func `a paused job continues where it was, a cancelled one ends`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("b", inParts: "a")
    let jobs = client.jobs
    let id = try await jobs.submit([backend.url("b")], as: .delayed)
    #expect(try await jobs.pause(id).state == .paused)
    #expect(try await jobs.resume(id).state == .scheduled)
    #expect(try await jobs.setPriority(.veryHigh, of: id).priority == .veryHigh)
    let cancelled = try await jobs.cancel(id)
    #expect([cancelled.cancelled, cancelled.done] == [1, 0])
    #expect(try await updates(of: id, in: jobs).map(\.state) == [.cancelled])
    #expect(try await results(of: id, in: jobs).map(\.outcome) == [.cancelled])
    #expect(backend.fetchCount(of: "b") == 0)

    let other = try await jobs.submit([backend.url("a"), backend.url("b")])
    #expect(try await eventually { backend.fetchCount(of: "a") == 1 })
    #expect(try await jobs.pause(other).state == .paused)
    backend.releaseAll("a")
    #expect(try await jobs.resume(other).total == 2)
    #expect(try await updates(of: other, in: jobs).last?.done == 2)
    #expect(try await jobs.remove(other).done == 2)
    let error = await failure { () async throws(ImageError) in try await jobs.job(other) }
    #expect(error?.code == .unknownJob)
    #expect(error?.message == "there is no job \(other)")
  }

  @Test(arguments: Backend.allCases)
  func `a retry repeats failures`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    let jobs = client.jobs
    let id = try await jobs.submit(["a", "b"].map(backend.url))
    #expect(try await updates(of: id, in: jobs).last?.failed == 1)
    let refused = await failure { () async throws(ImageError) in try await jobs.retry(id) }
    #expect(refused?.code == .wrongState)
    #expect(refused?.message.contains("no retryable failures") == true)
    try backend.serve("b")
    #expect(try await jobs.retry(id, includesFinal: true).failed == 0)
    let job = try #require(try await updates(of: id, in: jobs).last)
    #expect([job.done, job.failed] == [2, 0])
    #expect(try await results(of: id, failedOnly: true, in: jobs).isEmpty)
    #expect(backend.fetchCount(of: "a") == 1)
  }

  @Test(arguments: Backend.allCases)
  func `a request that makes no sense says why`(backend: Backend) async throws {
    let (backend, client) = try backend.serving()
    let jobs = client.jobs
    func code(_ urls: [String], _ change: (inout ImageJobRequest) -> Void) async -> String? {
      var request = ImageJobRequest()
      change(&request)
      let error = await failure { [request] () async throws(ImageError) in
        try await jobs.submit(urls, as: request)
      }
      return error.map { "\($0.code): \($0.message)" }
    }
    let urls = [backend.url("a")]
    #expect(await code([]) { _ in } == "invalid_request: the list has no URL")
    #expect(await code(urls) { $0.delay = .seconds(90_000) }?.contains("at most a day") == true)
    #expect(await code(urls) { $0.cachePolicy = .bypass }?.contains("bypass") == true)
    #expect(await code(urls) { $0.variant.width = 0 }?.hasPrefix("invalid_request") == true)
    #expect(
      await code(urls) { $0.headers = [.init("a b", "c")] }?.hasPrefix("invalid_request") == true)
    // A text that is no URL fails alone.
    let id = try await jobs.submit(["ftp://example.org/a"])
    #expect(try await updates(of: id, in: jobs).last?.failed == 1)
    let failures = try await results(of: id, failedOnly: true, in: jobs)
    #expect(failures.first?.error?.code == .unsupportedScheme)
  }

  @Test func `a lazy job keeps originals, and loads of any size make no request`() async throws {
    let (backend, client) = try RealBackend.serving("a")
    var request = ImageJobRequest()
    request.decoding = .lazy
    let id = try await client.jobs.submit([backend.url("a")], as: request)
    #expect(try await updates(of: id, in: client.jobs).last?.done == 1)
    let results = try await results(of: id, in: client.jobs)
    guard case .done(let original, isFromCache: false) = results[0].outcome else {
      Issue.record("\(results)")
      return
    }
    #expect([original.width, original.height] == [320, 240])
    for size in [64, 32] {
      let image = try await client.image(for: ImageRequest(url: backend.url("a"), size: size))
      #expect(image.width == size)
    }
    #expect(backend.fetchCount(of: "a") == 1)

    let inMemory = ImageClient(transport: InMemoryCluster())
    let error = await failure { [request] () async throws(ImageError) in
      try await inMemory.jobs.submit(["https://example.org/a"], as: request)
    }
    #expect(error?.code == .unsupportedOperation)
  }

  @Test func `a transport without jobs is an error`() async throws {
    let client = ImageClient(transport: TransportWithoutJobs())
    let error = await failure { () async throws(ImageError) in
      try await client.jobs.submit(["https://example.org/"])
    }
    #expect(error?.code == .unsupportedOperation)
    #expect(error?.message.contains("ClusterTransport") == true)
  }
}

/// A list that is made while it is read.
struct NumberedURLs: Sequence, Sendable {
  let count: Int
  /// Is called before each URL, with its number.
  var onURL: @Sendable (Int) -> Void = { _ in }

  func makeIterator() -> some IteratorProtocol<String> {
    (0..<count).lazy.map { number in
      onURL(number)
      return "https://example.org/\(number)"
    }.makeIterator()
  }
}

extension ImageJobRequest {
  /// Nothing of the job starts.
  static var delayed: ImageJobRequest {
    var request = ImageJobRequest()
    request.delay = .seconds(3_600)
    return request
  }
}

private struct TransportWithoutJobs: ImageTransport {
  func loadImage(
    for request: ImageRequest, onUpdate: (@Sendable (ImageUpdate) -> Void)?
  ) async throws(ImageError) -> LoadedImage {
    throw ImageError(code: .internal, message: "nothing is loaded")
  }
}

struct SubmissionBatchesTests {
  private func batches(of urls: [String]) -> [[String]] {
    var batches = SubmissionBatches(urls.makeIterator())
    var all: [[String]] = []
    while let next = batches.next() { all.append(next.texts) }
    return all
  }

  @Test func `a list is cut into batches of a thousand URLs`() {
    let urls = (0..<2_500).map(String.init)
    #expect(batches(of: urls).map(\.count) == [1_000, 1_000, 500])
    #expect(batches(of: urls).flatMap { $0 } == urls)
    #expect(batches(of: []).isEmpty)
  }

  @Test func `long URLs make smaller batches`() {
    let urls = (0..<100).map { "\($0)" + String(repeating: "a", count: 5_000) }
    let parts = batches(of: urls)
    #expect(parts.flatMap { $0 } == urls)
    #expect(parts.count > 1)
    for part in parts {
      #expect(part.reduce(0) { $0 + $1.utf8.count } <= Submission.maximumByteCount)
    }
  }

  @Test func `a text that is longer than any URL is cut where that shows`() {
    let long = String(repeating: "a", count: 1 << 20)
    let parts = batches(of: [long, "b", "data:" + long])
    #expect(
      parts.flatMap { $0 }.map(\.utf8.count)
        == [ImageURL.maximumByteCount + 1, 1, ImageURL.maximumLineByteCount + 1])
  }
}
