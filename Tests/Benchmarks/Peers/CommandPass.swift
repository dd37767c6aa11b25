import FoundationEssentials
import ImgClient
import ImgModel
import ImgWire

/// Commands that run one list, one after the other, on a cluster of their own.
struct CommandPass {
  let seconds: Double
  /// The bytes of all response bodies.
  let byteCount: Int64
}

extension Bench {
  /// - Parameters:
  ///   - name: of the data directory, which is removed.
  ///   - commands: each makes one job of the list and ends with it.
  func pass(_ name: String, _ commands: [[String]], lineCount: Int) throws -> CommandPass {
    let cluster = try start(name)
    defer {
      // The next cluster listens at the same socket.
      try? cluster.stop()
      try? FileManager.default.removeItem(atPath: cluster.dataDirectory)
    }
    let seconds = try commands.reduce(0) { try $0 + cluster.run($1).inSeconds }
    let jobs = try cluster.client().jobs().jobs
    guard jobs.map(\.done) == commands.map({ _ in lineCount }) else {
      throw BenchError("of \(lineCount) pictures, the jobs did \(jobs.map(\.done))")
    }
    return CommandPass(seconds: seconds, byteCount: jobs.reduce(0) { $0 + $1.bytesFetched })
  }
}
