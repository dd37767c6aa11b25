import ImgModel
import TestCluster
import TestOrigin
import Testing

/// Pictures over which workers die: which code they end with, and what the log says.
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

  /// What the log says of the ends of workers. All of the log's lines are the programs' own.
  private func ends(in cluster: Cluster) throws -> [String] {
    let lines = try cluster.runningCoordinator().messages().split(separator: "\n").map(String.init)
    for line in lines {
      let programs = ["imgcoordinator:", "imgworker:"]
      let words = line.split(separator: " ")
      #expect(programs.contains { words.dropFirst().first == $0[...] }, "\(line)")
    }
    return lines.filter { $0.contains("was killed by signal") }
  }

  @Test func `a picture that needs more than the worker's memory ends as out_of_memory`() throws {
    let cluster = try Cluster(["WORKER_MEMORY": "256M"])
    let origin = try ListOrigin()
    origin.origin.serve("/large.gif", .body(Self.largeCanvas))
    let url = "\(origin.origin.baseURL)/large.gif"
    let job = try cluster.submit(origin.pictures(3) + [url])
    let status = try cluster.finished(job)
    #expect(status.done == 3)
    #expect(try cluster.failures(of: job) == [url: "out_of_memory"])
    #expect(try cluster.imgctl("failures", "\(job)").output.contains("256M"))
    let ends = try ends(in: cluster)
    #expect(ends.count == 2)
    for end in ends {
      #expect(end.contains(" ran out of memory and was killed by signal "))
      #expect(end.contains(" while it decoded a picture of 127.0.0.1 (lease "))
      #expect(end.contains("failed to allocate 400000000 bytes"))
    }
  }
}
