import FoundationEssentials
import ImgSystem

/// Lists of photographs.
extension PeerBench {
  private static let smallURLCount = 4_000
  private static let largeURLCount = 300

  func smallFigures() throws -> [PeerFigure] {
    let list = try smallList(urlCount: bench.options.scaled(Self.smallURLCount))
    let count = list.urls.count
    let rounds = try rounds(of: list) {
      try bench.decoding.run(threadCount: ThisProcess.coreCount, count: count).inSeconds
    }
    let pictures = "\(list.pictureCount) pictures"
    var figures = figuresBesidePeer(
      .small, pictures, rounds, urlCount: count, target: .atLeast(2))
    figures.append(
      figureBesideLimit(
        .small, pictures, rounds, urlCount: count, limit: "the same calls from memory",
        target: .atLeast(0.75), command: "decode, resize, encode in one process"))
    return figures
  }

  func largeFigures() throws -> [PeerFigure] {
    let list = try largeList(urlCount: bench.options.scaled(Self.largeURLCount))
    let count = list.urls.count
    let rounds = try rounds(of: list) { try scaledDecodeSeconds(list) }
    let pictures = "\(list.pictureCount) pictures"
    var figures = [
      figureBesideLimit(
        .large, pictures, rounds, urlCount: count, limit: "libjpeg-turbo's scaled decode",
        target: .atLeast(0.9),
        command: "tjDecompress2 of as many from memory to twice the thumbnail's size or more")
    ]
    figures += figuresBesidePeer(
      .large, pictures, rounds, urlCount: count, target: .atLeast(5))
    figures.append(
      PeerFigure(
        .large, "peak memory of a decoder", "MiB", own: rounds.map(\.own.decoderPeakMiB),
        target: .atMost(100), command: "\(Self.submit(count)), VmHWM of imgdecoder"))
    return figures
  }

  private func scaledDecodeSeconds(_ list: PictureList) throws -> Double {
    let output = try runScript(
      "scaled-decode.py",
      ["\(list.urls.count)", "\(ThisProcess.coreCount)", list.directory])
    let text = String(decoding: output, as: UTF8.self)
    guard let seconds = Double(text.filter { $0 != "\n" }) else {
      throw BenchError("scaled-decode.py wrote \(text)")
    }
    return seconds
  }
}
