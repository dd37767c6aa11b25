import FoundationEssentials
import ImgModel
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// Transfers over TLS, by what a server in front of the origin saw.
@Suite(.timeLimit(.minutes(20)))
struct TLSTests {
  private let origin: TestOrigin
  private let front: TLSFront
  private static let count = 12
  private let paths = (0..<count).map { "/\($0)" }

  init() throws {
    origin = try TestOrigin()
    // Closed at once: a port that is free.
    let port = try TestOrigin().port
    front = try TLSFront(port: port, originPort: origin.port)
    for (index, path) in paths.enumerated() {
      origin.serve(path, .body(try PictureMaker.start().card(index: index)))
    }
    let front = front
    try #require(try eventually { front.isListening })
  }

  private func cluster(isTrusting: Bool = true, perHost: Int = 8) throws -> Cluster {
    var settings = ["TRANSFERS_PER_HOST": "\(perHost)", "WORKERS": "1"]
    if isTrusting { settings["CA_FILE"] = front.authorityPath }
    return try Cluster(settings)
  }

  /// All requests, once the server has noted them.
  private func requests() throws -> [TLSFront.Request] {
    try #require(try eventually { try front.requests().count >= Self.count })
    return try front.requests()
  }

  @Test(arguments: [1, 4])
  func `HTTP/1.1 is used even if HTTP/2 is offered, with one connection for each transfer`(
    perHost: Int
  ) throws {
    let cluster = try cluster(perHost: perHost)
    let job = try cluster.submit(paths.map { front.baseURL + $0 })
    #expect(try cluster.finished(job).done == Self.count)
    let requests = try requests()
    #expect(Set(requests.map(\.path)) == Set(paths))
    #expect(requests.count == Self.count)
    #expect(Set(requests.map(\.version)) == ["HTTP/1.1"])
    #expect((1...perHost).contains(Set(requests.map(\.connection)).count))
  }

  /// More bodies than there is memory for: some wait amid their transfer until others are decoded.
  @Test func `a body that waits for memory delays no other`() throws {
    let cluster = try Cluster([
      "CA_FILE": front.authorityPath, "WORKERS": "1", "WORKER_MEMORY": "128M",
    ])
    // What follows the end of a picture is not looked at.
    let picture = try PictureMaker.start().card(index: 1)
    let body = picture + [UInt8](repeating: 0, count: 16 << 20)
    let paths = (0..<8).map { "/large/\($0)" }
    for path in paths { origin.serve(path, .body(body)) }
    let job = try cluster.submit(paths.map { front.baseURL + $0 })
    #expect(try cluster.finished(job).done == paths.count)
    #expect(try cluster.failures(of: job) == [:])
  }

  @Test func `get reports the time of TLS`() throws {
    struct Report: Decodable {
      let timings: [String: Int]
    }
    let result = try cluster().imgctl("get", front.baseURL + paths[0], "--json")
    #expect(try result.decoded(Report.self).timings["tls"] != nil, "\(result.messages)")
  }

  @Test func `a certificate of an unknown authority is refused before a request`() throws {
    let cluster = try cluster(isTrusting: false)
    let url = front.baseURL + paths[0]
    let job = try cluster.submit([url])
    #expect(try cluster.finished(job).failed == 1)
    #expect(try cluster.failures(of: job) == [url: "tls_failure"])
    #expect(origin.totals().requests == 0)
  }

  @Test func `a certificate for another name is refused`() throws {
    let cluster = try cluster()
    let url = "https://127.0.0.2:\(front.port)\(paths[0])"
    let other = try TLSFront(port: front.port, originPort: origin.port, host: "127.0.0.2")
    try #require(try eventually { other.isListening })
    let job = try cluster.submit([url])
    #expect(try cluster.finished(job).failed == 1)
    #expect(try cluster.failures(of: job) == [url: "tls_failure"])
    #expect(origin.totals().requests == 0)
  }
}
