import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Previews of pictures while they arrive.
@Suite struct PreviewTests {
  private let cluster = ClusterModel.started()
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
    let preview = MadePreview(lease: lease, thumbnail: Self.preview, shownByteCount: byteCount)
    return .fromWorker(worker, .preview(preview), file: MemoryFileID(rawValue: 7))
  }

  @Test func `a worker is asked for previews, and its viewer is shown each`() throws {
    let viewer = cluster.answeringLookups { $0.view(url(1), updates: .previews) }
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
    cluster.submit([url(1)])
    _ = cluster.answeringLookups { $0.view(url(2)) }
    #expect(cluster.fetchStarts.count == 2)
    #expect(cluster.previewLeases.isEmpty)
  }

  @Test func `only viewers that want previews are shown some, of one fetch`() throws {
    let other = cluster.view(url(1))
    let viewer = cluster.view(url(1), updates: .previews)
    cluster.answeringLookups { $0.submit([url(1)]) }
    _ = try show(url(1), in: cluster)
    #expect(cluster.previewCounts == [viewer: 1])
    cluster.finish(url(1))
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.answers[other] != nil)
  }

  @Test func `a viewer that joins a fetch later has previews from then on`() throws {
    _ = cluster.answeringLookups { $0.view(url(1)) }
    #expect(cluster.previewLeases.isEmpty)
    let late = cluster.view(url(1), updates: .previews)
    let lease = try show(url(1), in: cluster)
    #expect(cluster.previewLeases == [lease])
    #expect(cluster.previewCounts == [late: 1])
  }

  @Test func `another variant is shown previews of its own`() throws {
    _ = cluster.view(url(1))
    let viewer = cluster.answeringLookups { $0.view(url(1), variant: .small, updates: .previews) }
    _ = try show(url(1), in: cluster)
    #expect(cluster.previewCounts.isEmpty)
    let lease = try show(url(1), .small, in: cluster)
    #expect(cluster.previewLeases == [lease])
    #expect(cluster.previewCounts == [viewer: 1])
  }

  @Test func `a preview for a viewer that has left is dropped`() throws {
    let viewer = cluster.view(url(1), updates: .previews)
    _ = cluster.answeringLookups { $0.view(url(1)) }
    cluster.leave(viewer)
    _ = try show(url(1), in: cluster)
    #expect(cluster.previewCounts.isEmpty)
    #expect(cluster.openFiles.isEmpty)
  }

  @Test func `a preview of a lease that has ended is dropped`() throws {
    _ = cluster.answeringLookups { $0.view(url(1), updates: .previews) }
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.finish(url(1))
    cluster.handle(made(fetch.lease, showing: 1_000, by: worker))
    #expect(cluster.openFiles.isEmpty)
  }

  @Test func `a fetch that is repeated shows nothing coarser than before`() throws {
    let cluster = ClusterModel.started(attempts: 2)
    let viewer = cluster.answeringLookups { $0.view(url(1), updates: .previews) }
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

/// How much of a picture has arrived.
@Suite struct ProgressTests {
  private let cluster = ClusterModel.started()

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
    let progress = ImageProgress(receivedByteCount: byteCount, expectedByteCount: 10_000)
    let entry = LeaseProgress(lease: lease, progress: progress)
    return .fromWorker(worker, .progress([entry]))
  }

  @Test func `a worker is asked for progress, and its viewer is told each value`() throws {
    let viewer = cluster.answeringLookups { $0.view(url(1), updates: .progress) }
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
    _ = cluster.answeringLookups { $0.view(url(1), updates: [.previews, .progress]) }
    let lease = try report(url(1), byteCount: 1_000, in: cluster)
    #expect(cluster.progressLeases == [lease])
    #expect(cluster.previewLeases == [lease])
  }

  @Test func `no worker is asked for progress that no viewer wants`() {
    cluster.submit([url(1)])
    _ = cluster.answeringLookups { $0.view(url(2), updates: .previews) }
    #expect(cluster.fetchStarts.count == 2)
    #expect(cluster.progressLeases.isEmpty)
  }

  @Test func `a hit and an upload have no progress`() {
    cluster.submit([url(1)])
    cluster.finishEverything()
    let viewer = cluster.answeringLookups { $0.view(url(1), updates: .progress) }
    cluster.upload(as: url(2))
    #expect(cluster.answers[viewer] != nil)
    #expect(cluster.progressLeases.isEmpty)
  }

  @Test func `a picture whose original is stored has no progress`() {
    cluster.submit([url(1)], keep: .all)
    cluster.finishEverything()
    _ = cluster.answeringLookups { $0.view(url(1), variant: .small, updates: .progress) }
    #expect(cluster.decodeStarts == [url(1)])
    #expect(cluster.progressLeases.isEmpty)
  }

  @Test func `only viewers that want progress are told, of one fetch`() throws {
    _ = cluster.view(url(1), updates: .previews)
    let viewer = cluster.view(url(1), updates: .progress)
    cluster.answeringLookups { $0.submit([url(1)]) }
    try report(url(1), byteCount: 1_000, in: cluster)
    #expect(cluster.progress == [viewer: [1_000]])
    cluster.finish(url(1))
    #expect(cluster.fetchStarts == [url(1)])
  }

  @Test func `a viewer that joins a fetch later is told from then on`() throws {
    let viewer = cluster.answeringLookups { $0.view(url(1), updates: .progress) }
    let lease = try report(url(1), byteCount: 1_000, in: cluster)
    let late = cluster.view(url(1), updates: .progress)
    #expect(cluster.progressLeases == [lease, lease], "the worker repeats what has arrived")
    try report(url(1), byteCount: 1_000, in: cluster)
    #expect(cluster.progress == [viewer: [1_000], late: [1_000]])
  }

  @Test func `a fetch that is repeated tells nothing that the viewer knows`() throws {
    let cluster = ClusterModel.started(attempts: 2)
    let viewer = cluster.answeringLookups { $0.view(url(1), updates: .progress) }
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

/// Pictures that need no network: uploaded, or in their URLs.
@Suite struct UploadTests {
  private let cluster = ClusterModel.started()
  private static let dataURL = "data:image/png;base64,iVBORw0KGgo="

  @Test func `what is uploaded is decoded at once, and nothing is looked up or fetched`() {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.answeringLookups { $0.view(url(1)) }
    let viewer = cluster.upload()
    cluster.finish(ClusterModel.uploaded)
    #expect(cluster.deliveries[viewer] == .wanted)
    #expect(cluster.lookupStarts == [url(1)])
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.openFiles.isEmpty)
  }

  @Test func `what is put under a URL is stored, beside a fetch of the same URL`() {
    let fetching = cluster.answeringLookups { $0.view(url(1)) }
    let viewer = cluster.upload(as: url(1))
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.decodeStarts == [url(1)])
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
    #expect(cluster.answers[fetching] == .fetchedSample)
    #expect(cluster.deliveries.isEmpty)
    #expect(cluster.isStored(url(1)))
  }

  @Test func `what is at hand is kept as long as what is fetched`() {
    let standard = Retention(after: cluster.scheduler.limits.defaultExpiry)
    cluster.store.originals = [url(2): Retention()]
    cluster.upload(as: url(1))
    for url in [Self.dataURL, url(2), url(3)] { cluster.view(url) }
    cluster.finishEverything()
    for url in [Self.dataURL, url(1), url(2), url(3)] {
      #expect(cluster.retention(url) == standard, "\(url)")
    }
  }

  @Test func `two pictures are two, whatever they are stored as`() {
    for url in [nil, nil, url(1), url(1)] { cluster.upload(as: url) }
    #expect(cluster.decodeStarts.count == 4)
    #expect(cluster.finished().answers.count == 4)
    #expect(cluster.isIdle)
  }

  @Test func `after the death of its worker the picture is handed to another`() {
    let viewer = cluster.upload()
    for worker in cluster.workers.keys { cluster.exit(worker, .killed("SIGKILL")) }
    #expect(cluster.openFiles.count == 1)
    cluster.advance(by: .seconds(1))
    #expect(cluster.finished().deliveries[viewer] == .wanted)
    #expect(cluster.decodeStarts.count == 2)
  }

  @Test func `a picture that kills workers is given up, and others that are uploaded are not`() {
    let killer = cluster.upload(as: url(1))
    for _ in 0..<Scheduler.lossMaximum {
      cluster.crash(fetching: url(1))
      cluster.advance(by: .seconds(5))
    }
    #expect(cluster.answers[killer]?.failureCode == .internal)
    let other = cluster.upload(as: url(1))
    #expect(cluster.finished().answers[other] == .fetchedSample)
  }

  @Test func `a picture whose client leaves is let go of`() {
    let cluster = ClusterModel.started(
      credits: Credits(lookups: 256, leases: 1, decodeQueueTarget: 8))
    let decoding = cluster.upload()
    cluster.leave(cluster.upload())
    #expect(cluster.openFiles.count == 1)
    cluster.leave(decoding)
    #expect(cluster.cancelledLeases.count == 1)
    #expect(cluster.finished().openFiles.isEmpty)
    #expect(cluster.isIdle)
  }

  @Test func `what is too large, is put under no URL, or comes too late is let go of at once`() {
    let limit = Int(cluster.scheduler.limits.maxBodyByteCount)
    let large = cluster.upload(byteCount: limit + 1)
    let nameless = cluster.upload(as: "no URL")
    cluster.handle(.drainRequested)
    let late = cluster.upload()
    #expect(
      [large, nameless, late].map { cluster.answers[$0]?.failureCode }
        == [.tooLarge, .invalidURL, .cancelled])
    #expect(cluster.openFiles.isEmpty)
    #expect(cluster.decodeStarts.isEmpty)
  }

  @Test func `what a URL holds needs no transfer, and its original is not kept`() {
    let cluster = ClusterModel.started(transfers: 1, ratePerMinute: 1)
    cluster.view(url(1))
    let jobs = Keep.allCases.map { cluster.submit([Self.dataURL], keep: $0) }
    cluster.answerLookups()
    #expect(cluster.fetchStarts == [url(1)])
    // One keeps a thumbnail, one nothing, and three keep facts.
    #expect(cluster.decodeStarts == [String](repeating: Self.dataURL, count: 5))
    cluster.finishEverything()
    #expect(jobs.allSatisfy { cluster.counts($0)?.done == 1 })
    #expect(cluster.isStored(Self.dataURL))
    #expect(cluster.store.originals[Self.dataURL] == nil)
  }
}
