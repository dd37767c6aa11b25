import ImgClient
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
    let reader = Task {
      var phases: [ImagePhase] = []
      for await phase in slow { phases.append(phase) }
      return phases
    }
    #expect(try await eventually { backend.activeFetchCount == 1 })
    var shown: [ImagePhase] = []
    for await phase in viewer.show(ImageRequest(url: backend.url("fast"))) { shown.append(phase) }
    #expect(shown.last?.image?.width == 256)
    let phases = await reader.value
    #expect(phases.last?.error?.code == .cancelled)
    #expect(phases.allSatisfy { $0.image == nil })
    #expect(viewer.discardedCount == 1)
    #expect(try await eventually { backend.activeFetchCount == 0 })
  }

  @Test(arguments: Backend.allCases)
  func `a place that shows nothing any more leaves the load of another place alone`(
    backend: Backend
  ) async throws {
    let backend = try backend.make()
    try backend.serveInParts("a")
    let client = try backend.makeClient()
    let viewers = [ImageViewer(client: client), ImageViewer(client: client)]
    // The one that goes on begins the fetch. If the other one began it, its end could come before this one joins.
    let shown = Task { [viewer = viewers[1], url = backend.url("a")] in
      await viewer.show(ImageRequest(url: url)).all
    }
    #expect(try await eventually { backend.fetchCount(of: "a") == 1 })
    let cleared = viewers[0].show(ImageRequest(url: backend.url("a")))
    viewers[0].clear()
    #expect(await cleared.all.last?.error?.code == .cancelled)
    for step in 0..<RealBackend.stepCount { backend.release("a", step: step) }
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
    var read: [ImagePhase] = []
    for await phase in phases { read.append(phase) }
    #expect(read.map(\.error?.code) == [.cancelled])
    #expect(cluster.fetchCount(of: "https://example.org/a") == 0)
    #expect(viewer.discardedCount == 1)
  }
}
