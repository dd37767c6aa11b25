import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Pictures that clients fetch by themselves.
@Suite struct ClientFetchTests {
  private let cluster = ClusterModel.started()

  /// A viewer whose client can fetch.
  private func offer(
    _ url: String, variant: Variant = .standard, fetch: FetchOptions = .standard
  ) -> ViewerID {
    cluster.answeringLookups {
      $0.view(url, variant: variant, fetch: fetch, offersFetch: true)
    }
  }

  @Test func `one client is asked for a picture, and what it brings is for all that wait`() {
    let first = offer(url(1))
    let second = offer(url(1))
    let small = offer(url(1), variant: .small)
    let other = cluster.answeringLookups { $0.view(url(1)) }
    let job = cluster.answeringLookups { $0.submit([url(1)]) }
    #expect(cluster.askedViewers == [first])
    cluster.bringFetched(for: first)
    #expect(cluster.finished().fetchStarts.isEmpty)
    for viewer in [first, second, small, other] {
      #expect(cluster.answers[viewer]?.failureCode == nil && cluster.answers[viewer] != nil)
    }
    #expect(cluster.counts(job)?.done == 1)
    #expect(cluster.decodeStarts.count == 2, "one for each variant")
    #expect(cluster.openFiles.isEmpty && cluster.scheduler.clientFetches.isEmpty)
  }

  @Test func `no client is asked for what is stored, or fetched by a worker`() {
    cluster.prestore([url(1)])
    #expect(cluster.answers[offer(url(1))] == .cachedSample)
    _ = cluster.answeringLookups { $0.view(url(2)) }
    _ = offer(url(2))
    #expect(cluster.askedViewers.isEmpty)
    #expect(cluster.fetchStarts == [url(2)])
  }

  @Test func `a client that fails ends its own request, and the next one is asked`() {
    let first = offer(url(1))
    let second = offer(url(1))
    cluster.failToFetch(for: first)
    #expect(cluster.answers[first]?.failureCode == .connectFailure)
    #expect(cluster.askedViewers == [second])
    cluster.bringFetched(for: second)
    #expect(cluster.finished().answers[second]?.failureCode == nil)
    #expect(cluster.fetchStarts.isEmpty)
  }

  @Test(arguments: [true, false])
  func `a worker fetches for the others if the client leaves or takes too long`(isLeft: Bool) {
    let first = offer(url(1))
    let other = cluster.answeringLookups { $0.view(url(1)) }
    if isLeft {
      cluster.leave(first)
    } else {
      cluster.advance(by: cluster.scheduler.limits.transferTimeout)
      #expect(cluster.answers[first]?.failureCode == .timeout)
    }
    #expect(cluster.fetchStarts == [url(1)])
    cluster.bringFetched(for: first)
    #expect(cluster.openFiles.isEmpty, "it is too late")
    #expect(cluster.finished().answers[other] == .fetchedSample)
  }

  @Test func `a picture that is too long is refused`() {
    let viewer = offer(url(1))
    cluster.bringFetched(for: viewer, byteCount: .max)
    #expect(cluster.answers[viewer]?.failureCode == .tooLarge)
    #expect(cluster.openFiles.isEmpty && cluster.isIdle)
  }

  @Test func `a request that respects robots or limits redirects is served by a worker`() throws {
    let first = offer(url(1))
    let strict = FetchOptions(respectsOptOut: true)
    let job = cluster.answeringLookups { $0.submit([url(1)], fetch: strict) }
    #expect(cluster.fetchStarts == [url(1)])
    cluster.bringFetched(for: first)
    #expect(cluster.finished().counts(job)?.done == 1)
    #expect(cluster.answers[first]?.failureCode == nil)
    _ = offer(url(2), fetch: strict)
    #expect(cluster.askedViewers.isEmpty)
  }

  @Test func `a host that is held up for workers is none for a client`() {
    let narrow = ClusterModel.started(transfers: 1)
    narrow.answeringLookups { $0.submit([url(1)]) }
    let viewer = narrow.answeringLookups { $0.view(url(2), offersFetch: true) }
    #expect(narrow.askedViewers == [viewer])
  }
}

/// Local files that the commands of users read.
@Suite struct FileReadTests {
  private let cluster = ClusterModel.started()

  private func file(_ number: Int, state: Int64 = 1) -> String {
    FileURL.text(ofPath: Array("/home/100% \(number).jpg".utf8), state: [state, 2, 3])
  }

  private func submit(_ lines: [String]) -> JobID {
    cluster.answeringLookups { $0.submit(lines, namesFiles: true) }
  }

  @Test func `files are read one at a time by each reader, and decoded without a transfer`() {
    let job = submit([file(1), file(2), file(3)])
    let (first, second) = (cluster.readFiles(of: job), cluster.readFiles(of: job))
    #expect(cluster.askedReaders == [first: file(1), second: file(2)])
    cluster.bringFile(from: first)
    #expect(cluster.askedReaders == [first: file(3), second: file(2)])
    for reader in [second, first] { cluster.bringFile(from: reader) }
    #expect(cluster.readers.isEmpty, "what is left is for decoders")
    #expect(cluster.finished().counts(job)?.done == 3)
    #expect(cluster.fetchStarts.isEmpty && cluster.openFiles.isEmpty)
    #expect(cluster.scheduler.fileReads.isEmpty && cluster.isIdle)
  }

  @Test func `a file is read again once it has changed, and not before`() {
    let first = submit([file(1)])
    cluster.bringFile(from: cluster.readFiles(of: first))
    _ = cluster.finished()
    let same = submit([file(1)])
    #expect(cluster.counts(same)?.fromCache == 1)
    let changed = submit([file(1, state: 9)])
    #expect(cluster.askedReaders[cluster.readFiles(of: changed)] == file(1, state: 9))
  }

  @Test func `a reader of a long list of URLs learns at once that it names no files`() {
    let job = cluster.submit((0..<9_000).map { url($0) }, namesFiles: true)
    _ = cluster.readFiles(of: job)
    #expect(cluster.readers.isEmpty)
  }

  @Test func `few files are in memory before their decodes`() {
    let job = submit((0..<100).map { file($0) })
    let readers = (0..<100).map { _ in cluster.readFiles(of: job) }
    let maximum = 2 * cluster.scheduler.limits.workers + 2
    #expect(cluster.askedReaders.count == maximum)
    readers.forEach { if cluster.askedReaders[$0] != nil { cluster.bringFile(from: $0) } }
    #expect(cluster.askedReaders.isEmpty && cluster.openFiles.count == maximum)
  }

  @Test
  func `without a reader the files wait, the other lines go on, and nothing keeps the coordinator`()
  {
    let job = submit([file(1), url(1), file(2)])
    #expect(cluster.finished().counts(job)?.done == 1)
    #expect(cluster.isIdle)
    cluster.advance(by: .seconds(10))
    #expect(
      cluster.scheduler.status(of: job, at: cluster.now.instant)?.wait?.detail
        == "the command that reads its files has ended: imgctl wait \(job) continues")
    let lost = cluster.readFiles(of: job)
    cluster.endReading(by: lost)
    let reader = cluster.readFiles(of: job)
    for _ in 0..<2 { cluster.bringFile(from: reader) }
    #expect(cluster.finished().counts(job)?.done == 3)
  }

  @Test func `a file that cannot be read, is too long or is not read in time is one failed line`() {
    let job = submit([file(1), file(2), file(3), file(4)])
    let reader = cluster.readFiles(of: job)
    cluster.failToRead(by: reader)
    cluster.bringFile(from: reader, byteCount: .max)
    cluster.advance(by: cluster.scheduler.limits.transferTimeout)
    cluster.bringFile(from: reader)
    #expect(cluster.counts(job)?.failed == 3 && cluster.openFiles.isEmpty)
    #expect(cluster.askedReaders == [reader: file(4)], "after its late answer it reads on")
    cluster.change(job, .cancel)
    cluster.bringFile(from: reader)
    #expect(cluster.openFiles.isEmpty && cluster.readers.isEmpty && cluster.isIdle)
  }

  @Test func `a paused job reads nothing, and its readers stay`() {
    let job = submit([file(1), file(2)])
    let reader = cluster.readFiles(of: job)
    cluster.change(job, .pause)
    cluster.bringFile(from: reader)
    #expect(cluster.openFiles.isEmpty && cluster.askedReaders.isEmpty)
    cluster.answeringLookups { $0.change(job, .resume) }
    #expect(cluster.askedReaders == [reader: file(1)])
  }

  @Test func `jobs of other programs, and viewers, name no files for commands`() {
    let job = cluster.answeringLookups { $0.submit([file(1)]) }
    #expect(cluster.counts(job)?.failed == 1)
    let viewer = cluster.answeringLookups { $0.view(file(2)) }
    #expect(cluster.answers[viewer]?.failureCode == .unreadableFile)
    let reader = cluster.readFiles(of: JobID(rawValue: 77))
    #expect(cluster.readers[reader] == nil, "there is no such job")
  }
}
