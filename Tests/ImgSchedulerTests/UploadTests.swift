import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Pictures that need no network: uploaded, or in their URLs.
@Suite struct UploadTests {
  private static let dataURL = "data:image/png;base64,iVBORw0KGgo="

  @Test func `what is uploaded is decoded at once, and nothing is looked up or fetched`() {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.view(url(1))
    cluster.answerLookups()
    let viewer = cluster.upload()
    cluster.finish(ClusterModel.uploaded)
    #expect(cluster.deliveries[viewer] == .wanted)
    #expect(cluster.lookupStarts == [url(1)])
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.openFiles.isEmpty)
  }

  @Test func `what is put under a URL is stored, beside a fetch of the same URL`() {
    let cluster = ClusterModel.started()
    let fetching = cluster.view(url(1))
    cluster.answerLookups()
    let viewer = cluster.upload(as: url(1))
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.decodeStarts == [url(1)])
    cluster.finishEverything()
    #expect(cluster.answers[viewer] == .fetchedSample)
    #expect(cluster.answers[fetching] == .fetchedSample)
    #expect(cluster.deliveries.isEmpty)
    #expect(cluster.isStored(url(1)))
  }

  @Test func `what is at hand is kept as long as what is fetched`() {
    let cluster = ClusterModel.started()
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
    let cluster = ClusterModel.started()
    for url in [nil, nil, url(1), url(1)] { cluster.upload(as: url) }
    #expect(cluster.decodeStarts.count == 4)
    cluster.finishEverything()
    #expect(cluster.answers.count == 4)
    #expect(cluster.scheduler.isIdle)
  }

  @Test func `after the death of its worker the picture is handed to another`() {
    let cluster = ClusterModel.started()
    let viewer = cluster.upload()
    for worker in cluster.workers.keys { cluster.exit(worker, .killed("SIGKILL")) }
    #expect(cluster.openFiles.count == 1)
    cluster.advance(by: .seconds(1))
    cluster.finishEverything()
    #expect(cluster.deliveries[viewer] == .wanted)
    #expect(cluster.decodeStarts.count == 2)
  }

  @Test func `a picture that kills workers is given up, and others that are uploaded are not`() {
    let cluster = ClusterModel.started()
    let killer = cluster.upload(as: url(1))
    for _ in 0..<Scheduler.lossMaximum {
      cluster.crash(fetching: url(1))
      cluster.advance(by: .seconds(5))
    }
    #expect(cluster.answers[killer]?.failureCode == .internal)
    let other = cluster.upload(as: url(1))
    cluster.finishEverything()
    #expect(cluster.answers[other] == .fetchedSample)
  }

  @Test func `a picture whose client leaves is let go of`() {
    let cluster = ClusterModel.started(
      credits: Credits(lookups: 256, leases: 1, decodeQueueTarget: 8))
    let decoding = cluster.upload()
    cluster.leave(cluster.upload())
    #expect(cluster.openFiles.count == 1)
    cluster.leave(decoding)
    #expect(cluster.cancelledLeases.count == 1)
    cluster.finishEverything()
    #expect(cluster.openFiles.isEmpty)
    #expect(cluster.scheduler.isIdle)
  }

  @Test func `what is too large, is put under no URL, or comes too late is let go of at once`() {
    let cluster = ClusterModel.started()
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
