import Synchronization
import TestCluster
import TestOrigin
import TestPictures
import Testing

@testable import ImgClient

struct ImagePixelsTests {
  private static let bytes: [UInt8] = Array(0..<24)

  @Test func `a pixel and a row are found by their places`() throws {
    let pixels = try #require(ImagePixels(width: 3, height: 2, bytes: Self.bytes))
    #expect(pixels[0, 0] == .init(red: 0, green: 1, blue: 2, alpha: 3))
    #expect(pixels[2, 1] == .init(red: 20, green: 21, blue: 22, alpha: 23))
    #expect(Array(pixels.row(1)) == Array(12..<24))
  }

  @Test(arguments: [(3, 3), (0, 2), (-3, -2), (2, 2), (.max, .max), (.max / 2, 2)])
  func `no pixels have another size than their bytes`(width: Int, height: Int) {
    #expect(ImagePixels(width: width, height: height, bytes: Self.bytes) == nil)
  }

  @Test func `an area of one colour may be of any positive size`() throws {
    let pixel = ImagePixels.Pixel(red: 1, green: 2, blue: 3, alpha: 4)
    let pixels = try #require(ImagePixels(width: 2, height: 1, filledWith: pixel))
    #expect(pixels.bytes == [1, 2, 3, 4, 1, 2, 3, 4])
    #expect(ImagePixels(width: 0, height: 1, filledWith: pixel) == nil)
    #expect(ImagePixels(width: .max, height: .max, filledWith: pixel) == nil)
  }

  @Test func `pixels are opaque if each is`() {
    let bytes: [UInt8] = [1, 2, 3, 255, 4, 5, 6, 255]
    #expect(ImagePixels(width: 1, height: 2, bytes: bytes)?.isOpaque == true)
    #expect(ImagePixels(width: 1, height: 2, bytes: bytes.dropLast() + [254])?.isOpaque == false)
  }
}

extension ImagePixels {
  init?(_ raster: Raster) {
    self.init(width: raster.width, height: raster.height, bytes: raster.bytes)
  }

  /// Whether a pixel has a colour, but for what a lossy encoding changes.
  func resembles(_ colour: Raster.Pixel, at x: Int, _ y: Int) -> Bool {
    let pixel = self[x, y]
    let samples = [
      (pixel.red, colour.red), (pixel.green, colour.green), (pixel.blue, colour.blue),
      (pixel.alpha, colour.alpha),
    ]
    return samples.allSatisfy { abs(Int($0) - Int($1)) <= 32 }
  }

  /// Whether the corners are those of an upright ``Card``.
  var isUprightCard: Bool {
    let (inset, right, bottom) = (min(width, height) / 10, width - 1, height - 1)
    return resembles(Card.topLeft, at: inset, inset)
      && resembles(Card.topRight, at: right - inset, inset)
      && resembles(Card.bottomLeft, at: inset, bottom - inset)
      && resembles(Card.bottomRight, at: right - inset, bottom - inset)
  }
}

struct ConcurrencyLimitTests {
  /// Tasks that are under way.
  private final class Visitors: Sendable {
    private let counts = Mutex((now: 0, most: 0))

    var most: Int { counts.withLock { $0.most } }

    func enter() {
      counts.withLock { counts in
        counts.now += 1
        counts.most = max(counts.most, counts.now)
      }
    }

    func leave() { counts.withLock { $0.now -= 1 } }
  }

  @Test func `no more tasks than the limit go on at the same time`() async {
    let limit = ConcurrencyLimit(3)
    let visitors = Visitors()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<100 {
        group.addTask {
          guard await limit.enter() else { return }
          visitors.enter()
          for _ in 0..<10 { await Task.yield() }
          visitors.leave()
          limit.leave()
        }
      }
    }
    #expect((1...3).contains(visitors.most))
  }

  @Test func `a task that is cancelled does not wait, and takes no place`() async {
    let limit = ConcurrencyLimit(1)
    #expect(await limit.enter())
    let cancelled = Task { await limit.enter() }
    cancelled.cancel()
    let entered = await cancelled.value
    #expect(!entered)
    let waiting = Task { await limit.enter() }
    limit.leave()
    #expect(await waiting.value)
  }
}

/// Decoded thumbnails as users of the library see them.
@Suite(.timeLimit(.minutes(20)))
struct PixelLoadingTests {
  private func error(of image: LoadedImage, frame: Int = 0, by client: ImageClient) async
    -> ImageError?
  {
    await failure { () async throws(ImageError) in try await client.pixels(of: image, frame: frame)
    }
  }

  /// A thumbnail made by hand.
  private func image(_ bytes: [UInt8], width: Int = 256, height: Int = 192) -> LoadedImage {
    LoadedImage(
      bytes: bytes, format: .jpeg, width: width, height: height, source: LoadedImage.sample.source,
      origin: .network)
  }

  @Test(arguments: Backend.allCases)
  func `pixels show the thumbnail, the second time from memory`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    let request = ImageRequest(url: backend.url("a"), size: 256)
    #expect(client.memoryCache?.pixels(for: request) == nil)
    let pixels = try await client.pixels(for: request)
    #expect([pixels.width, pixels.height] == [256, 192])
    #expect(pixels.isUprightCard)
    #expect(pixels.isOpaque)
    #expect(client.memoryCache?.pixels(for: request) == pixels)
    let hitCount = try #require(client.memoryCache?.statistics.hitCount)
    #expect(try await client.pixels(for: request) == pixels)
    #expect(client.memoryCache?.statistics.hitCount == hitCount + 1)
    #expect(backend.fetchCount(of: "a") == 1)
    let image = try await client.image(for: request)
    #expect(try await client.pixels(of: image) == pixels)
  }

  @Test(arguments: Backend.allCases)
  func `bytes that are no image have no pixels, others have`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    let whole = try await client.image(for: backend.url("a"), size: 256)
    let bytes = backend is RealBackend ? Array(whole.bytes.prefix(whole.bytes.count / 2)) : []
    #expect(await error(of: image(bytes), by: client)?.code == .corruptImage)
    #expect(try await client.pixels(of: whole).isUprightCard)
  }

  @Test(arguments: Backend.allCases)
  func `a frame that the image does not have is an error`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    let image = try await client.image(for: backend.url("a"), size: 256)
    for frame in [1, -1, Int.max] {
      #expect(await error(of: image, frame: frame, by: client)?.code == .frameOutOfRange)
    }
  }

  @Test(arguments: Backend.allCases)
  func `a load for pixels ends when its task is cancelled`(backend: Backend) async throws {
    let (backend, client) = try backend.serving(inParts: "a")
    let request = ImageRequest(url: backend.url("a"), size: 256)
    let load = Task { try await client.pixels(for: request) }
    #expect(try await eventually { backend.fetchCount(of: "a") == 1 })
    load.cancel()
    let error = await #expect(throws: ImageError.self) { try await load.value }
    #expect(error?.code == .cancelled)
    #expect(error?.url == request.url)
    #expect(try await eventually { backend.activeFetchCount == 0 })
  }

  @Test func `a transport that decodes nothing says so`() async throws {
    struct Undecoding: ImageTransport {
      func storedImage(for request: ImageRequest) -> LoadedImage? { .sample }

      func loadImage(
        for request: ImageRequest, onUpdate: (@Sendable (ImageUpdate) -> Void)?
      ) async throws(ImageError) -> LoadedImage { .sample }
    }
    let client = ImageClient(transport: Undecoding())
    let error = await #expect(throws: ImageError.self) {
      try await client.pixels(for: "https://example.org/a")
    }
    #expect(error?.code == .unsupportedOperation)
    #expect(error?.url == "https://example.org/a")
    #expect(error?.message == "Undecoding decodes no images; use a transport that does")
  }

  // MARK: - The cluster

  @Test func `transparent pixels stay transparent, and pictures are upright`() async throws {
    let backend = try RealBackend()
    let maker = try PictureMaker.start()
    backend.origin.serve("/alpha", .body(try maker.card(index: 1, format: .png, hasAlpha: true)))
    backend.origin.serve("/turned", .body(try maker.card(index: 1, orientation: 6)))
    let client = try backend.makeClient()
    for format in [ImageVariant.Format.auto, .png, .avif] {
      let variant = ImageVariant(size: 256, format: format)
      let request = ImageRequest(url: backend.url("alpha"), variant: variant)
      let pixels = try await client.pixels(for: request)
      #expect(pixels[128, 180].alpha == 0, "\(format)")
      #expect(pixels[128, 20].alpha == 255, "\(format)")
      #expect(pixels.isUprightCard, "\(format)")
    }
    let turned = try await client.pixels(for: ImageRequest(url: backend.url("turned"), size: 256))
    #expect([turned.width, turned.height] == [256, 192])
    #expect(turned.isUprightCard)
  }

  @Test func `each frame of an animated thumbnail has its pixels and its time`() async throws {
    let backend = try RealBackend()
    let colours = [Raster.Pixel(250, 0, 0), .init(0, 250, 0), .init(0, 0, 250)]
    let frames = colours.map { colour in Raster(width: 64, height: 48) { _, _ in colour } }
    let picture = try PictureMaker.start().animation(of: frames, as: .gif)
    backend.origin.serve("/a", .body(picture))
    let client = try backend.makeClient()
    for format in [ImageVariant.Format.webp, .gif] {
      var request = ImageRequest(url: backend.url("a"))
      request.variant.frames = .all
      request.variant.format = format
      let image = try await client.image(for: request)
      #expect(
        image.animation?.delays == [.milliseconds(100), .milliseconds(100), .milliseconds(100)])
      for (number, colour) in colours.enumerated() {
        let pixels = try await client.pixels(of: image, frame: number)
        #expect(pixels.resembles(colour, at: 32, 24), "\(format) \(number)")
      }
      #expect(await error(of: image, frame: 3, by: client)?.code == .frameOutOfRange)
      #expect(try await client.pixels(for: request).resembles(colours[0], at: 32, 24))
    }
  }

  @Test func `hundreds of tasks have pixels decoded at the same time`() async throws {
    let (backend, client) = try RealBackend.serving("a")
    let image = try await client.image(for: backend.url("a"), size: 64)
    let decodes = (0..<300).map { _ in Task { try await client.pixels(of: image) } }
    let first = try await decodes[0].value
    for decode in decodes { #expect(try await decode.value == first) }
  }

  @Test func `pixels are decoded over the next connection when one was lost`() async throws {
    let (backend, client) = try RealBackend.serving("a")
    let image = try await client.image(for: backend.url("a"), size: 64)
    unsafe try backend.cluster.killCoordinator()
    unsafe try backend.cluster.start()
    #expect(try await client.pixels(of: image).width == 64)
  }

  @Test func `the average colour and the placeholder are those of the thumbnail`() async throws {
    let backend = try RealBackend()
    let slope = Raster(width: 320, height: 240) { x, y in
      Raster.Pixel(UInt8(x * 255 / 320), UInt8(y * 255 / 240), 90)
    }
    backend.origin.serve("/a", .body(try PictureMaker.start().encode(slope, as: .png)))
    let client = try backend.makeClient()
    let image = try await client.image(for: backend.url("a"), size: 256)
    let pixels = try await client.pixels(of: image)
    let average = try #require(image.averageColour)
    for (sample, expected) in zip([average.red, average.green, average.blue], [127, 127, 90]) {
      #expect(abs(Int(sample) - expected) <= 8)
    }
    let drawn = try #require(image.placeholder.pixels(width: 256, height: 192))
    let differences = zip(drawn.bytes, pixels.bytes).map { abs(Int($0) - Int($1)) }
    #expect(differences.reduce(0, +) / differences.count < 12)
  }
}
