import FoundationEssentials
import ImgClient
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// Loads as users of the library see them.
@Suite(.timeLimit(.minutes(20)))
struct ImageLoadingTests {
  @Test(arguments: Backend.allCases)
  func `a thumbnail comes from the network, then from memory, and for other clients from the store`(
    backend: Backend
  ) async throws {
    let (backend, client) = try backend.serving("a")
    let first = try await client.image(for: backend.url("a"), size: 256)
    #expect(first.origin == .network)
    #expect([first.width, first.height] == [256, 192])
    #expect([first.source.width, first.source.height] == [320, 240])
    #expect(first.format == .jpeg)
    #expect(first.source.format == .jpeg)
    #expect(first.source.byteCount > 0)
    let second = try await client.image(for: backend.url("a"), size: 256)
    #expect(second.origin == .memory)
    #expect(second.bytes == first.bytes)
    let other = try await backend.makeClient().image(for: backend.url("a"), size: 256)
    #expect(other.origin == .store)
    #expect(other.bytes == first.bytes)
    #expect(backend.fetchCount(of: "a") == 1)
  }

  @Test(
    arguments: [
      (.auto, 64, 24, 64, 48), (.auto, 24, 64, 24, 18), (.fillDown, 640, 240, 320, 120),
    ] as [(ImageVariant.Mode, Int, Int, Int, Int)])
  func `the proportions of a picture decide about its size`(
    mode: ImageVariant.Mode, boxWidth: Int, boxHeight: Int, width: Int, height: Int
  ) async throws {
    let backend = try Backend.cluster.make()
    try backend.serve("a")
    var request = ImageRequest(url: backend.url("a"))
    request.variant = ImageVariant(width: boxWidth, height: boxHeight, mode: mode)
    let image = try await backend.makeClient().image(for: request)
    #expect([image.width, image.height] == [width, height])
  }

  @Test(arguments: Backend.allCases)
  func `what is at hand is there without waiting`(backend: Backend) async throws {
    let backend = try backend.make()
    try backend.serve("a")
    let request = ImageRequest(url: backend.url("a"))
    let client = try backend.makeClient()
    #expect(try client.cachedImage(for: request) == nil)
    let image = try await client.image(for: request)
    #expect(try client.cachedImage(for: request)?.bytes == image.bytes)
    #expect(try backend.makeClient().cachedImage(for: request)?.origin == .store)
  }

  @Test(arguments: Backend.allCases)
  func `a URL stands for a request of the standard size`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    let text = backend.url("a")
    let url = try #require(URL(string: text))
    let image = try await client.image(for: text)
    #expect([image.width, image.height] == [256, 192])
    let kept = try client.cachedImage(for: ImageRequest(url: text))
    #expect(kept?.bytes == image.bytes)
    #expect(try await client.image(for: url) == kept)
    #expect(try await client.image(for: url, size: 256) == kept)
    #expect(ImageRequest(url: url, size: 64) == ImageRequest(url: text, size: 64))
    for phases in [client.phases(for: text), client.phases(for: url)] {
      var last: ImagePhase?
      for await phase in phases { last = phase }
      #expect(last?.image == kept)
    }
    let pixels = try await client.pixels(for: text)
    #expect([pixels.width, pixels.height] == [256, 192])
    #expect(try await client.pixels(for: url) == pixels)
    #expect(backend.fetchCount(of: "a") == 1)
  }

  @Test(arguments: Backend.allCases)
  func `a client tells the facts of a picture`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    let facts = try await client.facts(of: ImageRequest(url: backend.url("a")))
    #expect([facts.width, facts.height] == [320, 240])
    #expect(facts.format == .jpeg)
    #expect(facts.mediaType == "image/jpeg")
    let missing = ImageRequest(url: backend.url("missing"))
    let error = await #expect(throws: ImageError.self) { try await client.facts(of: missing) }
    #expect(error?.httpStatus == 404)
  }

  @Test(arguments: Backend.allCases)
  func `URLs that differ in an ignored parameter, or share a cache key, are one picture`(
    backend: Backend
  ) async throws {
    let (backend, client) = try backend.serving("a", "b")
    var request = ImageRequest(url: backend.url("a"))
    request.ignoredQuery = ["sig*"]
    let image = try await client.image(for: request)
    #expect(image.origin == .network)
    request.url = backend.url("a?signature=2")
    #expect(try await client.image(for: request).bytes == image.bytes)
    #expect(try await backend.makeClient().image(for: request).origin == .store)
    var named = ImageRequest(url: backend.url("b"))
    named.cacheKey = "the-picture"
    #expect(try await client.image(for: named).origin == .network)
    named.url = backend.url("missing")
    #expect(try await client.image(for: named).origin == .memory)
    #expect(try await backend.makeClient().image(for: named).origin == .store)
    named.cacheKey = "two words"
    #expect(await client.failure(of: named)?.code == .invalidRequest)
  }

  @Test(arguments: Backend.allCases)
  func `a URL without a picture fails with its status`(backend: Backend) async throws {
    let (backend, client) = try backend.serving()
    let url = backend.url("missing")
    let error = await #expect(throws: ImageError.self) {
      try await client.image(for: url, size: 64)
    }
    #expect(error?.code == .httpStatus)
    #expect(error?.httpStatus == 404)
    #expect(error?.url == url)
    #expect(error?.isRetryable == false)
  }

  @Test(arguments: Backend.allCases)
  func `a request that makes no sense says why, and asks nobody`(backend: Backend) async throws {
    let (backend, client) = try backend.serving()
    #expect(await client.failure(of: "ftp://example.org/a")?.code == .unsupportedScheme)
    var request = ImageRequest(url: backend.url("a"), size: 0)
    #expect(await client.failure(of: request)?.code == .invalidRequest)
    request.variant = ImageVariant(size: 64, mode: .fit, crop: .centre)
    let error = await #expect(throws: ImageError.self) { try await client.image(for: request) }
    #expect(
      error?.message
        == "a crop needs the mode fill, fill-down or auto, because other modes have nothing to crop"
    )
    #expect(error?.url == request.url)
    request.variant = .standard
    request.headers = [.init("a b", "c")]
    #expect(await client.failure(of: request)?.code == .invalidRequest)
    #expect(backend.fetchCount(of: "a") == 0)
  }

  @Test(arguments: Backend.allCases)
  func `tasks that load the same at the same time share one fetch`(backend: Backend) async throws {
    let (backend, client) = try backend.serving(inParts: "a")
    let url = backend.url("a")
    let loads = (0..<50).map { _ in Task { try await client.image(for: url, size: 256) } }
    #expect(try await eventually { backend.fetchCount(of: "a") == 1 })
    backend.releaseAll("a")
    for load in loads { #expect(try await load.value.width == 256) }
    #expect(backend.fetchCount(of: "a") == 1)
  }

  @Test(arguments: Backend.allCases)
  func `a task that is cancelled ends its own load alone`(backend: Backend) async throws {
    let (backend, client) = try backend.serving(inParts: "a")
    let url = backend.url("a")
    let other = Task { try await client.image(for: url, size: 256) }
    #expect(try await eventually { backend.fetchCount(of: "a") == 1 })
    let cancelled = Task { try await client.image(for: url, size: 256) }
    cancelled.cancel()
    let error = await #expect(throws: ImageError.self) { try await cancelled.value }
    #expect(error?.code == .cancelled)
    backend.releaseAll("a")
    #expect(try await other.value.width == 256)
    #expect(backend.fetchCount(of: "a") == 1)
  }

  @Test(arguments: Backend.allCases)
  func `a fetch ends when the last task that waits is cancelled`(backend: Backend) async throws {
    let (backend, client) = try backend.serving(inParts: "a")
    let url = backend.url("a")
    let loads = (0..<3).map { _ in Task { try await client.image(for: url, size: 256) } }
    #expect(try await eventually { backend.activeFetchCount == 1 })
    for load in loads { load.cancel() }
    for load in loads {
      await #expect(throws: ImageError.self) { try await load.value }
    }
    #expect(try await eventually { backend.activeFetchCount == 0 })
    #expect(try client.cachedImage(for: ImageRequest(url: url)) == nil)
  }

  @Test(arguments: Backend.allCases)
  func `a load that is cancelled in its delay costs nothing`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    var request = ImageRequest(url: backend.url("a"))
    request.delay = .seconds(3_600)
    let load = Task { [request] in try await client.image(for: request) }
    // A load without a delay on the same connection comes after it.
    try backend.serve("b")
    _ = try await client.image(for: backend.url("b"), size: 256)
    load.cancel()
    await #expect(throws: ImageError.self) { try await load.value }
    #expect(backend.fetchCount(of: "a") == 0)
  }

  @Test(arguments: Backend.allCases)
  func `a load that takes longer than its timeout fails`(backend: Backend) async throws {
    let (backend, client) = try backend.serving(inParts: "a")
    var request = ImageRequest(url: backend.url("a"))
    request.timeout = .milliseconds(100)
    let error = await #expect(throws: ImageError.self) { try await client.image(for: request) }
    #expect(error?.code == .timeout)
    #expect(error?.isRetryable == true)
    #expect(try await eventually { backend.activeFetchCount == 0 })
  }

  @Test(arguments: Backend.allCases)
  func `the cache policy decides who answers`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    var request = ImageRequest(url: backend.url("a"))
    request.cachePolicy = .cacheOnly
    #expect(await client.failure(of: request)?.code == .notCached)
    #expect(backend.fetchCount(of: "a") == 0)
    request.cachePolicy = .bypass
    #expect(try await client.image(for: request).origin == .network)
    #expect(try await client.image(for: request).origin == .network)
    #expect(backend.fetchCount(of: "a") == 2)
    request.cachePolicy = .cacheOnly
    #expect(await client.failure(of: request)?.code == .notCached)
    request.cachePolicy = .cacheElseLoad
    #expect(try await client.image(for: request).origin == .network)
    request.cachePolicy = .reload
    #expect(try await client.image(for: request).origin == .network)
    #expect(backend.fetchCount(of: "a") == 4)
    request.cachePolicy = .cacheOnly
    #expect(try await client.image(for: request).origin == .memory)
  }

  @Test(arguments: Backend.allCases)
  func `what is fetched again takes the place of what memory had`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    var request = ImageRequest(url: backend.url("a"))
    let first = try await client.image(for: request)
    try backend.serveAnother("a")
    request.cachePolicy = .reload
    let second = try await client.image(for: request)
    #expect(second.bytes != first.bytes)
    request.cachePolicy = .cacheElseLoad
    let third = try await client.image(for: request)
    #expect(third.origin == .memory)
    #expect(third.bytes == second.bytes)
  }
}

/// Pictures that come from no origin.
@Suite(.timeLimit(.minutes(20)))
struct LocalSourceTests {
  @Test func `a file and a data URL are loaded and stored, without their originals`() async throws {
    let directory = TestDirectory()
    let backend = try RealBackend(["ALLOW_DIRECTORY": directory.path])
    let picture = try PictureMaker.start().card(index: 1, width: 32, height: 24)
    let file = "file://\(try directory.write(picture, to: "a.jpg"))"
    let data = "data:image/jpeg;base64,\(Data(picture).base64EncodedString())"
    let client = try backend.makeClient()
    for url in [file, data] {
      let image = try await client.image(for: url, size: 256)
      #expect([image.width, image.height] == [32, 24])
      #expect(image.source.byteCount == picture.count)
    }
    var kinds: [CacheRecord.Kind] = []
    for try await record in client.cache.records { kinds.append(record.kind) }
    #expect(kinds == [.thumbnail, .thumbnail])
    #expect(backend.origin.totals().requests == 0)
  }
}

/// Loads from origins that ask for a pause.
@Suite(.timeLimit(.minutes(20)))
struct RetryAfterTests {
  @Test func `a load waits no longer for a pause than it says`() async throws {
    let backend = try RealBackend(["ATTEMPTS": "3"])
    backend.origin.serve("/a", .status(503, retryAfter: "100"))
    var request = ImageRequest(url: backend.url("a"))
    request.timeout = .seconds(300)
    request.maximumRetryAfter = .seconds(1)
    #expect(try await backend.makeClient().failure(of: request)?.retryAt != nil)
    #expect(backend.fetchCount(of: "a") == 1)
  }

  @Test(arguments: [Duration.seconds(-1), .seconds(86_401)])
  func `a maximum that makes no sense is an error`(maximum: Duration) async throws {
    var request = ImageRequest(url: "https://example.org/a")
    request.maximumRetryAfter = maximum
    #expect(try await RealBackend().makeClient().failure(of: request)?.code == .invalidRequest)
  }
}
