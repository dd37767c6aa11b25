import ImgClient
import ImgModel
import TestCluster
import TestOrigin
import Testing

/// Pictures over which decoders die: which code they end with, and what the log says.
@Suite(.timeLimit(.minutes(20)))
struct DecodeDeathTests {
  /// A GIF of 100 megapixels, whose loader allocates 4 bytes for each before it reads one. GLib
  /// ends the process when an allocation of its own is refused.
  private static let largeCanvas: [UInt8] = {
    let side: [UInt8] = [0x10, 0x27]
    let screen = Array("GIF89a".utf8) + side + side + [0x80, 0, 0] + [0, 0, 0, 255, 255, 255]
    let frame = [0x2C, 0, 0, 0, 0] + side + side + [0, 2, 2, 0x44, 1, 0, 0x3B]
    return screen + frame
  }()

  /// What the log says of the ends of decoders. All of the log's lines are the programs' own.
  private func ends(in cluster: Cluster) throws -> [String] {
    let lines = try cluster.runningCoordinator().messages().split(separator: "\n").map(String.init)
    for line in lines {
      let programs = ["imgcoordinator:", "imgworker:"]
      let words = line.split(separator: " ")
      #expect(programs.contains { words.dropFirst().first == $0[...] }, "\(line)")
    }
    return lines.filter { $0.contains("was killed by signal") }
  }

  @Test func `a picture that needs more than a decoder's memory ends as out_of_memory`() throws {
    let cluster = try Cluster(["DECODER_MEMORY": "256M"])
    let origin = try ListOrigin()
    origin.origin.serve("/large.gif", .body(Self.largeCanvas))
    let url = "\(origin.origin.baseURL)/large.gif"
    let job = try cluster.submit(origin.pictures(3) + [url])
    let status = try cluster.finished(job)
    #expect(status.done == 3)
    #expect(try cluster.failures(of: job) == [url: "out_of_memory"])
    #expect(try cluster.imgctl("failures", "\(job)").output.contains("256M"))
    // The second end follows the first too closely for a line of its own.
    let end = try #require(try ends(in: cluster).first)
    #expect(end.contains(#/worker \d's decoder \(process \d+\) was killed by signal /#))
    // What GLib said before it ended the process.
    #expect(end.contains("failed to allocate"))
    let workers = try cluster.client().status().workers
    #expect(workers.map(\.deaths) == [0, 0])
    #expect(workers.map(\.decoderDeaths).reduce(0, +) == 2)
    #expect(origin.origin.counters("/large.gif").requests == 1)
  }
}
