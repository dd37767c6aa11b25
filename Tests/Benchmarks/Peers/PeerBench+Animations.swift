import FoundationEssentials
import ImgSystem

/// Thumbnails that move, beside the programs that people make them with.
extension PeerBench {
  private static let frameCount = 100
  private static let frameSize = (width: 400, height: 300)

  func animationFigures() throws -> [PeerFigure] {
    let frameCount = bench.options.scaled(Self.frameCount)
    let (width, height) = Self.frameSize
    let picture = "\(bench.options.workDirectory)/animation.gif"
    try bench.note("generating an animation")
    try FileIO.replace(
      path: picture,
      with: PhotographCuts().animation(frameCount: frameCount, width: width, height: height))
    let cluster = try bench.start("animations")
    defer { try? cluster.stop() }
    return AnimationPeer.all.map { peer in
      let name = "\(frameCount) frames of \(width)×\(height) to \(peer.format)"
      do {
        return try figure(name, picture, peer, cluster)
      } catch {
        return PeerFigure(.animations, "\(name), \(peer.name)", missing: "\(error)")
      }
    }
  }

  /// In pairs of changing order, as lists are.
  private func figure(
    _ name: String, _ picture: String, _ peer: AnimationPeer, _ cluster: Cluster
  ) throws -> PeerFigure {
    guard FileIO.isFile(peer.executable) else {
      throw BenchError("\(peer.executable) is not installed")
    }
    let words = ["--animated", "--size", "256", "--format", peer.format, "--output"]
    let output = "\(bench.options.workDirectory)/animation-output.\(peer.format)"
    func milliseconds(_ run: () throws -> Duration) throws -> Double {
      try? FileManager.default.removeItem(atPath: output)
      return try run() / .milliseconds(1)
    }
    func runOwn() throws -> Double {
      try milliseconds { try cluster.run(["get", picture] + words + [output]) }
    }
    func runPeer() throws -> Double {
      try milliseconds {
        try bench.imgctl.run(
          program: peer.executable, peer.arguments(input: picture, output: output))
      }
    }
    var (own, others): ([Double], [Double]) = ([], [])
    for round in 1...bench.options.rounds {
      try bench.note("\(name), \(peer.name), round \(round) of \(bench.options.rounds)")
      if round.isMultiple(of: 2) { others.append(try runPeer()) }
      own.append(try runOwn())
      if !round.isMultiple(of: 2) { others.append(try runPeer()) }
    }
    return PeerFigure(
      .animations, name, "ms", own: own, beside: peer.name, others, target: nil,
      command: "imgctl get FILE \(words.joined(separator: " ")) OUTPUT : \(peer.command)")
  }
}
