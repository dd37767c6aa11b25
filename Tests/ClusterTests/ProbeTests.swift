import ImgModel
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// Explicit commands and a host that is down, by what the origin saw.
@Suite(.timeLimit(.minutes(20)))
struct ProbeTests {
  private let cluster: Cluster
  private let origin: TestOrigin
  private let picture: [UInt8]
  private let paths = (0..<10).map { "/\($0)" }

  init() throws {
    cluster = try Cluster(["ATTEMPTS": "3", "BACKOFF": "40ms"])
    origin = try TestOrigin()
    picture = try PictureMaker.start().card(index: 1)
  }

  private var requestCount: Int { origin.snapshot.totals.requests }

  /// A job that has failed because its host is down.
  private func failedJob() throws -> JobID {
    for path in paths { origin.serve(path, .status(503)) }
    let job = try cluster.submit(paths.map { origin.baseURL + $0 })
    #expect(try cluster.finished(job).failed == 10)
    #expect(try cluster.imgctl("failures", "\(job)").output.contains("is down"))
    return job
  }

  @Test func `a retry probes a host whose circuit breaker is open`() throws {
    let job = try failedJob()
    let count = requestCount
    // Still busy: one request, and the reason for all.
    #expect(try cluster.imgctl("retry", "\(job)", "--wait").exitCode == 1)
    #expect(requestCount == count + 1)
    #expect(try cluster.status(of: job).failed == 10)

    for path in paths { origin.serve(path, .body(picture)) }
    let retry = try cluster.imgctl("retry", "\(job)", "--wait")
    #expect(retry.exitCode == 0, "\(retry.messages)")
    #expect(try cluster.status(of: job).done == 10)
    #expect(requestCount == count + 11)
  }

  @Test func `a get probes a host whose circuit breaker is open`() throws {
    _ = try failedJob()
    origin.serve("/healthy", .body(picture))
    let get = try cluster.imgctl("get", origin.baseURL + "/healthy", "--json")
    #expect(get.exitCode == 0, "\(get.messages)")
    #expect(origin.counters("/healthy").requests == 1)
  }
}
