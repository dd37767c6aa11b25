import ImgClient
import Observation
import Synchronization
import Testing

/// Pictures that views observe.
@Suite(.timeLimit(.minutes(20)))
@MainActor
struct ObservableImageTests {
  private let cluster = InMemoryCluster()
  private let a: ImageRequest = "https://example.org/a"
  private let b: ImageRequest = "https://example.org/b"

  /// What views show.
  private func shown(_ picture: ObservableImage) -> [String] {
    [
      picture.image.map { "\($0.bytes)" }, picture.isLoading ? "loading" : nil,
      picture.error.map { "\($0.code)" },
    ].compactMap(\.self)
  }

  private func image(_ byte: UInt8) -> LoadedImage {
    LoadedImage(
      bytes: [byte], format: .jpeg, width: 256, height: 192, source: LoadedImage.sample.source,
      origin: .network)
  }

  private func makePicture() -> ObservableImage {
    ObservableImage(client: ImageClient(transport: cluster, memoryCache: nil))
  }

  @Test(arguments: Backend.allCases)
  func `a picture loads, with progress, then has its image and no more`(backend: Backend)
    async throws
  {
    let (backend, client) = try backend.serving(inParts: "a")
    let picture = ObservableImage(client: client)
    #expect(shown(picture) == [] && picture.phase == .empty && picture.request == nil)
    picture.load(ImageRequest(url: backend.url("a")))
    #expect(shown(picture) == ["loading"])
    #expect(try await eventually { picture.progress?.fraction.map { 0 < $0 && $0 < 1 } == true })
    #expect(picture.preview == nil)
    backend.releaseAll("a")
    #expect(try await eventually { !picture.isLoading })
    #expect(picture.image?.width == 256 && picture.error == nil && picture.progress == nil)
    #expect(picture.phase == picture.image.map { .success($0) })
  }

  @Test(arguments: Backend.allCases)
  func `a reload keeps the image until the new one is there`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    let picture = ObservableImage(client: client)
    picture.reload()
    #expect(shown(picture) == [])
    let request = ImageRequest(url: backend.url("a"))
    picture.load(request)
    #expect(try await eventually { !picture.isLoading })
    let first = try #require(picture.image)
    try backend.serveAnother("a")
    picture.load(request)
    #expect(!picture.isLoading && picture.image == first)
    picture.reload()
    #expect(picture.isLoading && picture.image == first)
    #expect(try await eventually { !picture.isLoading })
    #expect(picture.image?.bytes != first.bytes && picture.image?.origin == .network)
    #expect(picture.request == request)
    #expect(backend.fetchCount(of: "a") == 2)
  }

  @Test func `an image that is at hand is there at once`() async throws {
    cluster.serve(a.url, image(1))
    let client = ImageClient(transport: cluster)
    _ = try await client.image(for: a)
    let picture = ObservableImage(client: client)
    picture.load(a)
    #expect(shown(picture) == ["[1]"])
  }

  @Test func `another picture takes the place of the image, which goes if there is none`()
    async throws
  {
    cluster.serve(a.url, image(1))
    cluster.serve(b.url, image(2), after: [.hold])
    let picture = makePicture()
    picture.load(a)
    #expect(try await eventually { shown(picture) == ["[1]"] })
    picture.load(b)
    #expect(shown(picture) == ["[1]", "loading"])
    cluster.resume(b.url)
    #expect(try await eventually { shown(picture) == ["[2]"] })
    picture.load("https://example.org/missing")
    #expect(shown(picture) == ["[2]", "loading"])
    #expect(try await eventually { !picture.isLoading })
    #expect(shown(picture) == ["http_status"])
  }

  @Test func `a load that another one replaces ends, and its image never appears`() async throws {
    cluster.serve(a.url, image(1), after: [.hold])
    cluster.serve(b.url, image(2), after: [.hold])
    let picture = makePicture()
    picture.load(a)
    #expect(try await eventually { cluster.fetchCount(of: a.url) == 1 })
    picture.load(b)
    #expect(try await eventually { cluster.activeFetchCount == 1 })
    cluster.resume(a.url)
    cluster.resume(b.url)
    #expect(try await eventually { shown(picture) != ["loading"] })
    #expect(shown(picture) == ["[2]"])
  }

  @Test func `a load that is cancelled says so, keeps the image, and may begin again`()
    async throws
  {
    cluster.serve(a.url, image(1))
    let picture = makePicture()
    picture.cancel()
    #expect(shown(picture) == [])
    picture.load(a)
    #expect(try await eventually { shown(picture) == ["[1]"] })
    cluster.serve(a.url, image(2), after: [.hold])
    picture.reload()
    #expect(try await eventually { cluster.activeFetchCount == 1 })
    picture.cancel()
    #expect(shown(picture) == ["[1]", "cancelled"])
    #expect(try await eventually { cluster.activeFetchCount == 0 })
    picture.load(a)
    #expect(shown(picture) == ["[1]"], "the store has it")
    picture.clear()
    #expect(shown(picture) == [] && picture.phase == .empty && picture.request == nil)
  }

  @Test(arguments: Backend.allCases)
  func `the load of a picture that is released ends`(backend: Backend) async throws {
    let (backend, client) = try backend.serving(inParts: "a")
    var picture: ObservableImage? = ObservableImage(client: client)
    weak let released = picture
    picture?.load(ImageRequest(url: backend.url("a")))
    #expect(try await eventually { backend.activeFetchCount == 1 })
    picture = nil
    #expect(released == nil)
    #expect(try await eventually { backend.activeFetchCount == 0 })
  }

  @Test func `observers hear of the property that they read, and of no other one`() async throws {
    cluster.serve(
      a.url, image(1),
      after: [
        .update(.progress(ImageProgress(receivedByteCount: 10, expectedByteCount: 20))), .hold,
      ])
    let picture = makePicture()
    let changes = Mutex<Set<String>>([])
    withObservationTracking {
      _ = picture.image
    } onChange: {
      changes.withLock { _ = $0.insert("image") }
    }
    withObservationTracking {
      _ = picture.isLoading
    } onChange: {
      changes.withLock { _ = $0.insert("isLoading") }
    }
    picture.load(a)
    #expect(try await eventually { picture.progress?.receivedByteCount == 10 })
    #expect(changes.withLock { $0 } == ["isLoading"])
    cluster.resume(a.url)
    #expect(try await eventually { picture.image != nil })
    #expect(changes.withLock { $0 } == ["isLoading", "image"])
  }

  @Test func `an observer that is slow sees the newest values alone`() async throws {
    let updates = (1...50).map { number -> InMemoryCluster.Step in
      .update(.progress(ImageProgress(receivedByteCount: number, expectedByteCount: 50)))
    }
    cluster.serve(a.url, image(1), after: updates)
    let picture = makePicture()
    var seen: [ImagePhase] = []
    for await phase in Observations({ picture.phase }) {
      seen.append(phase)
      if phase.isTerminal { break }
      if picture.request == nil { picture.load(a) }
      // As long as one view is drawn, all of the picture arrives.
      #expect(try await eventually { !picture.isLoading })
    }
    #expect(seen == [.empty, .success(try #require(picture.image))])
  }
}
