import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Of the pictures that are fetched only where robots.txt allows it, the first of an origin goes
/// alone, so that one worker asks for the file and the others find it.
@Suite(.timeLimit(.minutes(20))) struct RobotsProbeTests {
  private let respectful = FetchOptions(respectsRobots: true)

  /// One worker takes the lines in their order.
  private func cluster(
    _ lines: [String], _ fetch: FetchOptions, workers: Int = 1
  ) -> ClusterModel {
    let cluster = ClusterModel.started(workers: workers)
    cluster.submit(lines, fetch: fetch)
    cluster.answerLookups()
    return cluster
  }

  @Test func `the first of an origin goes alone, then all others`() {
    let cluster = cluster((1...5).map { url($0) }, respectful)
    #expect(cluster.fetching == [url(1)])
    cluster.finish(url(1))
    #expect(cluster.fetching.count == 4)
    cluster.submit((6...8).map { url($0) }, fetch: respectful)
    cluster.answerLookups()
    #expect(cluster.fetching.count == 7)
  }

  @Test func `what it has learned lets the others go, though its picture is still to come`() throws
  {
    let cluster = cluster((1...3).map { url($0) }, respectful)
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.handle(
      .workerReportedHosts(worker, HostUpdates(robotsKnown: [LeaseID(rawValue: 99)])))
    #expect(cluster.fetching == [url(1)])
    cluster.handle(.workerReportedHosts(worker, HostUpdates(robotsKnown: [fetch.lease])))
    #expect(cluster.fetching == [url(1), url(2), url(3)])
    // The next origin of the host has a probe of its own, which goes on when the first one ends.
    let others = [url(4, host: "example.com:81"), url(5, host: "example.com:81")]
    cluster.submit(others, fetch: respectful)
    cluster.answerLookups()
    cluster.finish(url(1))
    #expect(cluster.fetching == [url(2), url(3), others[0]])
  }

  @Test func `it is named by the lease that began it, though that has left`() throws {
    let cluster = ClusterModel.started()
    let viewer = cluster.view(url(1), fetch: respectful)
    cluster.answerLookups()
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.view(url(1), variant: .small, fetch: respectful)
    cluster.submit([url(2)], fetch: respectful)
    cluster.answerLookups()
    cluster.leave(viewer)
    #expect(!cluster.fetching.contains(url(2)))
    cluster.handle(.workerReportedHosts(worker, HostUpdates(robotsKnown: [fetch.lease])))
    #expect(cluster.fetching.contains(url(2)))
  }

  @Test func `its end lets the others go, however it ended`() throws {
    let cluster = cluster((1...3).map { url($0) }, respectful)
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.finish(fetch, of: worker, .failure(.optedOut))
    #expect(cluster.fetching == [url(2), url(3)])
  }

  @Test func `the death of its worker lets the others go`() throws {
    let cluster = cluster((1...3).map { url($0) }, respectful, workers: 2)
    let first = try #require(cluster.fetching.first)
    cluster.exit(try #require(cluster.fetch(of: first)?.worker), .crashed("SIGSEGV"))
    #expect(cluster.fetching.count == 2)
    #expect(!cluster.fetching.contains(first))
    #expect(cluster.startsUntilIdle().count == 1)
  }

  @Test func `other hosts, and requests that ignore robots.txt, go at once`() {
    #expect(cluster((1...3).map { url($0) }, .standard).fetching.count == 3)
    let cluster = cluster(spreadURLs(1...3), respectful)
    #expect(cluster.fetching.count == 3)
  }

  @Test func `another port is another origin of the same host`() {
    let lines = [url(1), url(2), url(3, host: "example.com:81"), url(4, host: "example.com:81")]
    let cluster = cluster(lines, respectful)
    #expect(cluster.fetching == [lines[0]])
    cluster.finish(lines[0])
    #expect(cluster.fetching.contains(lines[1]))
    #expect(!cluster.fetching.contains(lines[3]))
    cluster.finish(lines[1])
    cluster.finish(lines[2])
    #expect(cluster.fetching == [lines[3]])
  }
}
