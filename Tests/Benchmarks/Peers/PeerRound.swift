import ImgSystem

/// One round of a list: imgctl, the peer and a limit, one after the other.
struct PeerRound {
  let own: ClusterPass
  let peer: Result<Img2dataset.Pass, any Error>
  /// What the limit took for as many pictures.
  let limitSeconds: Result<Double, any Error>
}

extension PeerBench {
  /// Rounds of changing order: whatever else the machine does meanwhile meets all.
  ///
  /// - Parameter limit: takes as many pictures as the list has URLs, and returns the seconds.
  func rounds(of list: PictureList, limit: () throws -> Double) throws -> [PeerRound] {
    let path = try bench.imgctl.list(named: "\(list.name)-urls", list.urls)
    // So that the first round finds programs and pictures in memory.
    _ = try? limit()
    return try (1...bench.options.rounds).map { round in
      try bench.note("\(list.name), round \(round) of \(bench.options.rounds)")
      func others() -> (Result<Img2dataset.Pass, any Error>, Result<Double, any Error>) {
        (Result { try peerPass(path, list) }, Result { try limit() })
      }
      let early = round.isMultiple(of: 2) ? others() : nil
      let own = try bench.pass("\(list.name)-\(round)", list: path)
      let (peer, limitSeconds) = early ?? others()
      return PeerRound(own: own, peer: peer, limitSeconds: limitSeconds)
    }
  }

  private func peerPass(_ path: String, _ list: PictureList) throws -> Img2dataset.Pass {
    guard let peer else { throw BenchError(Self.missingPeer) }
    let pass = try peer.run(
      path, lineCount: list.urls.count,
      output: "\(bench.options.workDirectory)/img2dataset-\(list.name)")
    guard pass.successCount == pass.listCount else {
      throw BenchError("img2dataset made \(pass.successCount) of \(pass.listCount)")
    }
    return pass
  }

  /// The rates of imgctl beside those of the peer.
  ///
  /// - Parameter target: for the ratio to the peer's rate while it runs.
  func figuresBesidePeer(
    _ row: PeerRow, _ name: String, _ rounds: [PeerRound], urlCount: Int,
    target: PeerFigure.Target
  ) -> [PeerFigure] {
    let passes: [Img2dataset.Pass]
    do {
      passes = try rounds.map { try $0.peer.get() }
    } catch {
      return [PeerFigure(row, name, missing: "\(error)")]
    }
    let count = Double(urlCount)
    let own = rounds.map { count / $0.own.seconds }
    let command = "\(Self.submit(urlCount)) : \(Img2dataset.command)"
    return [
      PeerFigure(
        row, name, "/s", own: own, beside: "img2dataset, while it runs",
        passes.map { count / $0.runningSeconds }, target: target, command: command),
      PeerFigure(
        row, name, "/s", own: own, beside: "img2dataset, whole command",
        passes.map { count / $0.seconds }, target: nil, command: command),
    ]
  }

  /// The rates of imgctl beside those of the limit.
  func figureBesideLimit(
    _ row: PeerRow, _ name: String, _ rounds: [PeerRound], urlCount: Int, limit: String,
    target: PeerFigure.Target?, command: String
  ) -> PeerFigure {
    let count = Double(urlCount)
    do {
      return PeerFigure(
        row, name, "/s", own: rounds.map { count / $0.own.seconds }, beside: limit,
        try rounds.map { count / (try $0.limitSeconds.get()) }, target: target,
        command: "\(Self.submit(urlCount)) : \(command), \(ThisProcess.coreCount) threads")
    } catch {
      return PeerFigure(row, "\(name), \(limit)", missing: "\(error)")
    }
  }

  static func submit(_ urlCount: Int) -> String {
    "imgctl submit --wait LIST (\(urlCount) URLs, new store)"
  }
}
