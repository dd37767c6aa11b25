import ImgClient
import TestPictures
import Testing

/// Places that show one picture at a time.
@Suite(.timeLimit(.minutes(20)))
struct ImageViewerTests {
  @Test(arguments: Backend.allCases)
  func `another picture ends the load of the former one`(backend: Backend) async throws {
    let backend = try backend.make()
    try backend.serveInParts("slow")
    try backend.serve("fast")
    let viewer = ImageViewer(client: try backend.makeClient())
    let slow = viewer.show(ImageRequest(url: backend.url("slow")))
    let reader = Task { await slow.all }
    #expect(try await eventually { backend.activeFetchCount == 1 })
    #expect(await viewer.show(ImageRequest(url: backend.url("fast"))).all.last?.image?.width == 256)
    let phases = await reader.value
    #expect(phases.last?.error?.code == .cancelled)
    #expect(phases.allSatisfy { $0.image == nil })
    #expect(viewer.discardedCount == 1)
    #expect(try await eventually { backend.activeFetchCount == 0 })
  }

  @Test(arguments: Backend.allCases)
  func `a place that shows nothing leaves other loads alone`(backend: Backend) async throws {
    let (backend, client) = try backend.serving(inParts: "a")
    let viewers = [ImageViewer(client: client), ImageViewer(client: client)]
    // The one that goes on begins the fetch. If the other one began it, its end could come before this one joins.
    let shown = Task { [viewer = viewers[1], url = backend.url("a")] in
      await viewer.show(ImageRequest(url: url)).all
    }
    #expect(try await eventually { backend.fetchCount(of: "a") == 1 })
    let cleared = viewers[0].show(ImageRequest(url: backend.url("a")))
    viewers[0].clear()
    #expect(await cleared.all.last?.error?.code == .cancelled)
    backend.releaseAll("a")
    #expect(await shown.value.last?.image?.width == 256)
    #expect(viewers.map(\.discardedCount) == [1, 0])
    #expect(backend.fetchCount(of: "a") == 1)
  }

  @Test func `a picture that has arrived and was not read is dropped`() async throws {
    let cluster = InMemoryCluster()
    cluster.serve("https://example.org/a", .sample, after: [.hold])
    let viewer = ImageViewer(client: ImageClient(transport: cluster))
    var phases = viewer.show("https://example.org/a").makeAsyncIterator()
    #expect(await phases.next() == .empty)
    cluster.resume("https://example.org/a")
    #expect(try await eventually { cluster.activeFetchCount == 0 })
    viewer.clear()
    #expect(await phases.next()?.error?.code == .cancelled)
    #expect(await phases.next() == nil)
    #expect(viewer.discardedCount == 1)
  }

  @Test func `a picture that was read to its end is not discarded`() async throws {
    let cluster = InMemoryCluster()
    cluster.serve("https://example.org/a", .sample)
    let viewer = ImageViewer(client: ImageClient(transport: cluster))
    for _ in 1...2 {
      for await phase in viewer.show("https://example.org/a") where phase.isTerminal {
        #expect(phase.image?.bytes == LoadedImage.sample.bytes)
      }
    }
    viewer.clear()
    #expect(viewer.discardedCount == 0)
  }

  @Test func `phases that are read after another picture was shown load nothing`() async throws {
    let cluster = InMemoryCluster()
    cluster.serve("https://example.org/a", .sample)
    let viewer = ImageViewer(client: ImageClient(transport: cluster))
    let phases = viewer.show("https://example.org/a")
    viewer.clear()
    #expect(await phases.all.map(\.error?.code) == [.cancelled])
    #expect(cluster.fetchCount(of: "https://example.org/a") == 0)
    #expect(viewer.discardedCount == 1)
  }
}

/// Thumbnails that are loaded before they are needed.
@Suite(.timeLimit(.minutes(20)))
struct ImagePrefetcherTests {
  private let cluster = InMemoryCluster()

  private func request(_ number: Int) -> ImageRequest {
    ImageRequest(url: "https://example.org/\(number)")
  }

  private func serve(_ numbers: some Sequence<Int>, after steps: [InMemoryCluster.Step] = []) {
    for number in numbers { cluster.serve(request(number).url, .sample, after: steps) }
  }

  private func counts(
    waiting: Int = 0, loading: Int = 0, loaded: Int = 0, failed: Int = 0, stopped: Int = 0
  ) -> [Int] {
    [waiting, loading, loaded, failed, stopped]
  }

  private func counts(of prefetcher: ImagePrefetcher) -> [Int] {
    let counts = prefetcher.counts
    return [counts.waiting, counts.loading, counts.loaded, counts.failed, counts.stopped]
  }

  @Test(arguments: Backend.allCases)
  func `all thumbnails come into the store, with exact counts`(backend: Backend) async throws {
    let backend = try backend.make()
    let names = (0..<30).map { "\($0)" }
    for name in names { try backend.serve(name) }
    let client = try backend.makeClient()
    let prefetcher = ImagePrefetcher(client: client)
    let requests = (names + ["missing"]).map { ImageRequest(url: backend.url($0)) }
    prefetcher.start(requests + requests)
    await prefetcher.waitUntilIdle()
    #expect(counts(of: prefetcher) == counts(loaded: 30, failed: 1))
    #expect(client.memoryCache?.statistics.count == 0)
    for request in requests.dropLast() {
      #expect(try client.cachedImage(for: request)?.origin == .store)
    }
    for name in names { #expect(backend.fetchCount(of: name) == 1) }
  }

  @Test func `no more loads are under way than the limit, in order`() async throws {
    serve(0..<5, after: [.hold])
    let prefetcher = ImagePrefetcher(client: ImageClient(transport: cluster), limit: 2)
    prefetcher.start((0..<5).map(request))
    #expect(try await eventually { cluster.activeFetchCount == 2 })
    #expect(counts(of: prefetcher) == counts(waiting: 3, loading: 2))
    for number in 0..<5 { cluster.resume(request(number).url) }
    await prefetcher.waitUntilIdle()
    #expect(counts(of: prefetcher) == counts(loaded: 5))
  }

  @Test func `a pause starts nothing, and what loads goes on`() async throws {
    serve([1], after: [.hold])
    serve([2])
    let prefetcher = ImagePrefetcher(client: ImageClient(transport: cluster), limit: 1)
    prefetcher.start([request(1), request(2)])
    #expect(try await eventually { cluster.activeFetchCount == 1 })
    prefetcher.isPaused = true
    cluster.resume(request(1).url)
    #expect(try await eventually { prefetcher.counts.loaded == 1 })
    #expect(counts(of: prefetcher) == counts(waiting: 1, loaded: 1))
    prefetcher.isPaused = false
    await prefetcher.waitUntilIdle()
    #expect(counts(of: prefetcher) == counts(loaded: 2))
  }

  @Test func `stopped requests load no further, and are counted once`() async throws {
    serve(1...3, after: [.hold])
    let prefetcher = ImagePrefetcher(client: ImageClient(transport: cluster), limit: 1)
    prefetcher.start((1...3).map(request))
    #expect(try await eventually { cluster.activeFetchCount == 1 })
    prefetcher.stop([request(1), request(2), request(9)])
    #expect(try await eventually { cluster.fetchCount(of: request(3).url) == 1 })
    #expect(cluster.fetchCount(of: request(2).url) == 0)
    prefetcher.stopAll()
    await prefetcher.waitUntilIdle()
    #expect(counts(of: prefetcher) == counts(stopped: 3))
    #expect(cluster.activeFetchCount == 0)
    serve([1])
    prefetcher.start([request(1)])
    await prefetcher.waitUntilIdle()
    #expect(counts(of: prefetcher) == counts(loaded: 1, stopped: 3))
  }

  @Test func `a prefetcher that is released ends its loads`() async throws {
    serve(1...3, after: [.hold])
    do {
      let prefetcher = ImagePrefetcher(client: ImageClient(transport: cluster), limit: 2)
      prefetcher.start((1...3).map(request))
      #expect(try await eventually { cluster.activeFetchCount == 2 })
    }
    #expect(try await eventually { cluster.activeFetchCount == 0 })
    #expect(cluster.fetchCount(of: request(3).url) == 0)
  }
}

struct ImagePlaceholderTests {
  /// As of a gray picture: its waves have no strength.
  private static let gray: [UInt8] = [32, 8, 2, 7, 0] + Array(repeating: 0, count: 19)
  /// The same with a wave from left to right as strong as can be.
  private static let wave: [UInt8] =
    [32, 8, 2 | 31 << 2, 7, 0, 0x8F] + Array(repeating: 0x88, count: 17) + [8]

  private static let placeholders: [ImagePlaceholder] =
    [
      .none, .colour(.init(red: 1, green: 2, blue: 250)), .thumbHash(gray), .thumbHash([1, 2]),
      .text("AB"), .text(""), .text(#"</text><script>&'"]]>"# + "\u{0}\u{8}\u{FFFF}é\n🙂"),
      .text(String(repeating: "long ", count: 100)),
    ] + ImagePlaceholder.Symbol.allCases.map { .symbol($0) }

  @Test func `a ThumbHash without waves has one colour, its average`() throws {
    let pixels = try #require(ImagePlaceholder.thumbHash(Self.gray).pixels(width: 5, height: 3))
    let pixel = pixels[0, 0]
    #expect([pixel.red, pixel.green, pixel.blue].allSatisfy { (120...140).contains($0) })
    #expect(pixels == ImagePixels(width: 5, height: 3, filledWith: pixel))
    let image = LoadedImage(
      bytes: [1], format: .jpeg, width: 1, height: 1,
      source: SourcePicture(
        format: .jpeg, width: 320, height: 240, byteCount: 500, thumbHash: Self.gray),
      origin: .network)
    #expect(image.averageColour == .init(red: pixel.red, green: pixel.green, blue: pixel.blue))
    #expect(image.placeholder == .thumbHash(Self.gray))
    #expect(LoadedImage.sample.placeholder == .none)
    #expect(LoadedImage.sample.averageColour == nil)
  }

  @Test func `a wave makes one side bright and the other one dark`() throws {
    let pixels = try #require(ImagePlaceholder.thumbHash(Self.wave).pixels(width: 32, height: 32))
    #expect(pixels[0, 16].green == 255)
    #expect(pixels[31, 16].green == 0)
  }

  @Test func `pixels are those of the placeholder, or none`() {
    let colour = RGBColour(red: 9, green: 8, blue: 7)
    let pixels = ImagePlaceholder.colour(colour).pixels(width: 2, height: 1)
    #expect(pixels?.bytes == [9, 8, 7, 255, 9, 8, 7, 255])
    for placeholder in [ImagePlaceholder.none, .thumbHash([]), .thumbHash([1, 2, 3])] {
      #expect(placeholder.pixels(width: 1, height: 1)?.bytes == [0, 0, 0, 0])
    }
    #expect(ImagePlaceholder.symbol(.photo).pixels(width: 9, height: 9) == nil)
    #expect(ImagePlaceholder.text("A").pixels(width: 9, height: 9) == nil)
    #expect(ImagePlaceholder.colour(colour).pixels(width: 0, height: 9) == nil)
  }

  /// The decoder of SVG reads XML strictly.
  @Test(arguments: placeholders)
  func `a placeholder is an SVG of its size that decodes`(placeholder: ImagePlaceholder) throws {
    let raster = try PictureReader.start().raster(of: placeholder.svg(width: 64, height: 48))
    #expect([raster.width, raster.height] == [64, 48])
    let isEmpty = stride(from: 3, to: raster.bytes.count, by: 4).allSatisfy {
      raster.bytes[$0] == 0
    }
    switch placeholder {
    case .none, .thumbHash([1, 2]), .text(""): #expect(isEmpty)
    case .text: break
    default: #expect(!isEmpty)
    }
  }

  @Test func `the SVG of a ThumbHash shows its pixels`() throws {
    let svg = ImagePlaceholder.thumbHash(Self.wave).svg(width: 64, height: 64)
    let raster = try PictureReader.start().raster(of: svg)
    #expect(raster[1, 32].green > 240 && raster[62, 32].green < 15)
  }

  @Test func `a text is escaped, and a side that is not positive is 1`() {
    let svg = String(
      decoding: ImagePlaceholder.text("<&>\u{1}").svg(width: 0, height: -3), as: UTF8.self)
    #expect(svg.contains("&lt;&amp;&gt;\u{FFFD}</text>"))
    #expect(svg.contains(#"width="1" height="1""#))
  }
}
