import ImgModel
import TestCluster
import TestOrigin
import Testing

/// Origins that keep a worker at work without end.
@Suite(.timeLimit(.minutes(20)))
struct FloodTests {
  @Test func `floods of tiny chunks do not stop the rest of a list`() throws {
    let origin = try ListOrigin()
    let chunks = try FloodOrigin.chunkedPicture(endingIn: "1\r\nX\r\n")
    let extensions = try FloodOrigin.chunkedPicture(endingIn: "1;a")
    let cluster = try Cluster.inOrder()
    let endless = (0..<4).map { "\(extensions.baseURL)/\($0)" }
    let floods = (0..<4).map { "\(chunks.baseURL)/\($0)" }
    let job = try cluster.submit(endless + floods + origin.pictures(300))

    #expect(
      try eventually {
        let status = try cluster.status(of: job)
        return status.done == 300 && status.failed >= floods.count
      })
    let codes = try cluster.failures(of: job)
    #expect(floods.allSatisfy { codes[$0] == Failure.Code.tooLarge.rawValue }, "\(codes)")
    #expect(codes.keys.allSatisfy { (endless + floods).contains($0) }, "\(codes)")
    #expect(try cluster.status().workers.map(\.deaths) == [0])
  }
}
