import ImgModel
import TestCluster
import TestOrigin
import Testing

/// Addresses that are not allowed.
@Suite(.timeLimit(.minutes(20)))
struct AddressTests {
  @Test func `addresses of this machine are refused without permission`() throws {
    let cluster = try Cluster(["ALLOW_NETWORK": ""])
    let origin = try ListOrigin()
    let port = origin.origin.port
    let lines =
      origin.pictures(3) + ["http://localhost:\(port)/p/1", "http://[::1]:\(port)/p/1"]
      + ["http://127.1:\(port)/p/1", "http://0.0.0.0:\(port)/p/1"]
      + ["http://１２７.０.０.１:\(port)/p/1"]
    let status = try cluster.run(lines)
    #expect(status.failed == lines.count)
    let codes = Set(try cluster.failures(of: status.job).values)
    #expect(codes == [Failure.Code.blockedAddress.rawValue])
    #expect(origin.origin.totals().connectionsOpened == 0)
  }
}
