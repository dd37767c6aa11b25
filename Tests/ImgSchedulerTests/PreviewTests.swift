import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Previews of pictures while they arrive.
@Suite struct PreviewTests {
  private static let preview = Thumbnail(format: .jpeg, width: 10, height: 10, byteCount: 100)

  /// The worker has made a preview for the fetch of a URL.
  ///
  /// - Parameter byteCount: bytes of the body that it shows.
  private func show(
    _ url: String, _ variant: Variant = .standard, byteCount: Int = 1_000, in cluster: ClusterModel
  ) throws -> LeaseID {
    let (worker, fetch) = try #require(cluster.fetch(of: url, variant: variant))
    cluster.handle(made(fetch.lease, showing: byteCount, by: worker))
    return fetch.lease
  }

  private func made(_ lease: LeaseID, showing byteCount: Int, by worker: WorkerID) -> Event {
    .workerMadePreview(
      worker, MadePreview(lease: lease, thumbnail: Self.preview, shownByteCount: byteCount),
      MemoryFileID(rawValue: 7))
  }

  @Test func `a worker is asked for previews, and its viewer is shown each`() throws {
    let cluster = ClusterModel.started()
    let viewer = cluster.view(url(1), updates: .previews)
    cluster.answerLookups()
    let lease = try show(url(1), in: cluster)
    #expect(cluster.previewLeases == [lease])
    _ = try show(url(1), byteCount: 2_000, in: cluster)
    #expect(cluster.previewCounts == [viewer: 2])
    #expect(cluster.answers.isEmpty, "a preview is no answer")
    cluster.finish(url(1))
    #expect(cluster.answers[viewer] == .fetchedSample)
    #expect(cluster.openFiles.isEmpty)
  }

  @Test func `no worker is asked for previews that no viewer wants`() {
    let cluster = ClusterModel.started()
    cluster.submit([url(1)])
    _ = cluster.view(url(2))
    cluster.answerLookups()
    #expect(cluster.fetchStarts.count == 2)
    #expect(cluster.previewLeases.isEmpty)
  }

  @Test func `only viewers that want previews are shown some, of one fetch`() throws {
    let cluster = ClusterModel.started()
    let other = cluster.view(url(1))
    let viewer = cluster.view(url(1), updates: .previews)
    cluster.submit([url(1)])
    cluster.answerLookups()
    _ = try show(url(1), in: cluster)
    #expect(cluster.previewCounts == [viewer: 1])
    cluster.finish(url(1))
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.answers[other] != nil)
  }

  @Test func `a viewer that joins a fetch later has previews from then on`() throws {
    let cluster = ClusterModel.started()
    _ = cluster.view(url(1))
    cluster.answerLookups()
    #expect(cluster.previewLeases.isEmpty)
    let late = cluster.view(url(1), updates: .previews)
    let lease = try show(url(1), in: cluster)
    #expect(cluster.previewLeases == [lease])
    #expect(cluster.previewCounts == [late: 1])
  }

  @Test func `another variant is shown previews of its own`() throws {
    let cluster = ClusterModel.started()
    _ = cluster.view(url(1))
    let viewer = cluster.view(url(1), variant: .small, updates: .previews)
    cluster.answerLookups()
    _ = try show(url(1), in: cluster)
    #expect(cluster.previewCounts.isEmpty)
    let lease = try show(url(1), .small, in: cluster)
    #expect(cluster.previewLeases == [lease])
    #expect(cluster.previewCounts == [viewer: 1])
  }

  @Test func `a preview for a viewer that has left is dropped`() throws {
    let cluster = ClusterModel.started()
    let viewer = cluster.view(url(1), updates: .previews)
    _ = cluster.view(url(1))
    cluster.answerLookups()
    cluster.leave(viewer)
    _ = try show(url(1), in: cluster)
    #expect(cluster.previewCounts.isEmpty)
    #expect(cluster.openFiles.isEmpty)
  }

  @Test func `a preview of a lease that has ended is dropped`() throws {
    let cluster = ClusterModel.started()
    _ = cluster.view(url(1), updates: .previews)
    cluster.answerLookups()
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.finish(url(1))
    cluster.handle(made(fetch.lease, showing: 1_000, by: worker))
    #expect(cluster.openFiles.isEmpty)
  }

  @Test func `the worker that fetches again after a failure is asked, too`() throws {
    let cluster = ClusterModel.started(attempts: 2)
    _ = cluster.view(url(1), updates: .previews)
    cluster.answerLookups()
    cluster.finish(url(1), .failure(.timeout))
    cluster.advance(by: .seconds(60))
    #expect(cluster.fetchStarts == [url(1), url(1)])
    #expect(cluster.previewLeases.count == 2)
  }

  @Test func `a fetch that is repeated shows nothing coarser than before`() throws {
    let cluster = ClusterModel.started(attempts: 2)
    let viewer = cluster.view(url(1), updates: .previews)
    cluster.answerLookups()
    _ = try show(url(1), byteCount: 2_000, in: cluster)
    cluster.finish(url(1), .failure(.timeout))
    cluster.advance(by: .seconds(60))
    _ = try show(url(1), byteCount: 1_000, in: cluster)
    _ = try show(url(1), byteCount: 2_000, in: cluster)
    #expect(cluster.previewCounts == [viewer: 1])
    #expect(cluster.openFiles.isEmpty)
    let late = cluster.view(url(1), updates: .previews)
    _ = try show(url(1), byteCount: 1_500, in: cluster)
    #expect(cluster.previewCounts == [viewer: 1, late: 1])
    _ = try show(url(1), byteCount: 3_000, in: cluster)
    #expect(cluster.previewCounts == [viewer: 2, late: 2])
  }
}
