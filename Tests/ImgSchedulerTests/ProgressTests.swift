import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// How much of a picture has arrived.
@Suite struct ProgressTests {
  /// The worker reports how much has arrived for the fetch of a URL.
  @discardableResult
  private func report(
    _ url: String, _ variant: Variant = .standard, byteCount: Int, in cluster: ClusterModel
  ) throws -> LeaseID {
    let (worker, fetch) = try #require(cluster.fetch(of: url, variant: variant))
    cluster.handle(arrived(byteCount, for: fetch.lease, at: worker))
    return fetch.lease
  }

  private func arrived(_ byteCount: Int, for lease: LeaseID, at worker: WorkerID) -> Event {
    let progress = BodyProgress(receivedByteCount: byteCount, expectedByteCount: 10_000)
    return .workerReportedProgress(
      worker, [ProgressReport.Entry(lease: lease, progress: progress)])
  }

  @Test func `a worker is asked for progress, and its viewer is told each value`() throws {
    let cluster = ClusterModel.started()
    let viewer = cluster.view(url(1), updates: .progress)
    cluster.answerLookups()
    let lease = try report(url(1), byteCount: 1_000, in: cluster)
    #expect(cluster.progressLeases == [lease])
    #expect(cluster.previewLeases.isEmpty)
    try report(url(1), byteCount: 10_000, in: cluster)
    #expect(cluster.progress == [viewer: [1_000, 10_000]])
    #expect(cluster.answers.isEmpty, "progress is no answer")
    cluster.finish(url(1))
    #expect(cluster.answers[viewer] == .fetchedSample)
  }

  @Test func `a viewer may want previews and progress`() throws {
    let cluster = ClusterModel.started()
    _ = cluster.view(url(1), updates: [.previews, .progress])
    cluster.answerLookups()
    let lease = try report(url(1), byteCount: 1_000, in: cluster)
    #expect(cluster.progressLeases == [lease])
    #expect(cluster.previewLeases == [lease])
  }

  @Test func `no worker is asked for progress that no viewer wants`() {
    let cluster = ClusterModel.started()
    cluster.submit([url(1)])
    _ = cluster.view(url(2), updates: .previews)
    cluster.answerLookups()
    #expect(cluster.fetchStarts.count == 2)
    #expect(cluster.progressLeases.isEmpty)
  }

  @Test func `a hit and an upload have no progress`() {
    let cluster = ClusterModel.started()
    cluster.submit([url(1)])
    cluster.finishEverything()
    let viewer = cluster.view(url(1), updates: .progress)
    cluster.answerLookups()
    cluster.upload(as: url(2))
    #expect(cluster.answers[viewer] != nil)
    #expect(cluster.progressLeases.isEmpty)
  }

  @Test func `a picture whose original is stored has no progress`() {
    let cluster = ClusterModel.started()
    cluster.submit([url(1)], keep: .all)
    cluster.finishEverything()
    _ = cluster.view(url(1), variant: .small, updates: .progress)
    cluster.answerLookups()
    #expect(cluster.decodeStarts == [url(1)])
    #expect(cluster.progressLeases.isEmpty)
  }

  @Test func `only viewers that want progress are told, of one fetch`() throws {
    let cluster = ClusterModel.started()
    _ = cluster.view(url(1), updates: .previews)
    let viewer = cluster.view(url(1), updates: .progress)
    cluster.submit([url(1)])
    cluster.answerLookups()
    try report(url(1), byteCount: 1_000, in: cluster)
    #expect(cluster.progress == [viewer: [1_000]])
    cluster.finish(url(1))
    #expect(cluster.fetchStarts == [url(1)])
  }

  @Test func `a viewer that joins a fetch later is told from then on`() throws {
    let cluster = ClusterModel.started()
    let viewer = cluster.view(url(1), updates: .progress)
    cluster.answerLookups()
    let lease = try report(url(1), byteCount: 1_000, in: cluster)
    let late = cluster.view(url(1), updates: .progress)
    #expect(cluster.progressLeases == [lease, lease], "the worker repeats what has arrived")
    try report(url(1), byteCount: 1_000, in: cluster)
    #expect(cluster.progress == [viewer: [1_000], late: [1_000]])
  }

  @Test func `progress for a viewer that has left is dropped`() throws {
    let cluster = ClusterModel.started()
    let viewer = cluster.view(url(1), updates: .progress)
    _ = cluster.view(url(1))
    cluster.answerLookups()
    cluster.leave(viewer)
    try report(url(1), byteCount: 1_000, in: cluster)
    #expect(cluster.progress.isEmpty)
  }

  @Test func `progress of a lease that has ended is dropped`() throws {
    let cluster = ClusterModel.started()
    _ = cluster.view(url(1), updates: .progress)
    cluster.answerLookups()
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.finish(url(1))
    cluster.handle(arrived(1_000, for: fetch.lease, at: worker))
    #expect(cluster.progress.isEmpty)
  }

  @Test func `a fetch that is repeated tells nothing that the viewer knows`() throws {
    let cluster = ClusterModel.started(attempts: 2)
    let viewer = cluster.view(url(1), updates: .progress)
    cluster.answerLookups()
    try report(url(1), byteCount: 2_000, in: cluster)
    cluster.finish(url(1), .failure(.timeout))
    cluster.advance(by: .seconds(60))
    #expect(cluster.fetchStarts == [url(1), url(1)])
    #expect(cluster.progressLeases.count == 2, "the worker that fetches again is asked, too")
    try report(url(1), byteCount: 1_000, in: cluster)
    try report(url(1), byteCount: 2_000, in: cluster)
    #expect(cluster.progress == [viewer: [2_000]])
    let late = cluster.view(url(1), updates: .progress)
    try report(url(1), byteCount: 1_500, in: cluster)
    try report(url(1), byteCount: 3_000, in: cluster)
    #expect(cluster.progress == [viewer: [2_000, 3_000], late: [1_500, 3_000]])
  }
}
