import FoundationEssentials
import ImgSystem

/// How like its picture a thumbnail is.
extension PeerBench {
  private static let smallCount = 40
  /// As many as there are of generated ones.
  private static let largeCount = 11

  /// Means over all thumbnails of one program, by `quality.py`.
  private struct Quality: Decodable {
    let ssim: Double
    let ssimulacra2: Double
    let bytes: Double
    /// The largest mean difference of a channel, of 255 levels.
    let colour: Double
    /// How far colours are displaced against brightness, in pixels.
    let displacement: Double
  }

  func qualityFigures() throws -> [PeerFigure] {
    let small = try smallList(urlCount: bench.options.scaled(Self.smallCount))
    let large = try largeList(urlCount: Self.largeCount)
    let pictures = small.paths.prefix(small.urls.count) + large.paths.prefix(large.urls.count)
    let urls = zip(small.urls + large.urls, pictures).map { $0.0 }
    let directory = bench.options.workDirectory + "/quality"
    try bench.note("quality of \(pictures.count) thumbnails")
    try makeOwn(Array(pictures), in: "\(directory)/imgctl")
    try makeLibvips(Array(pictures), in: "\(directory)/libvips")
    if let peer {
      let list = try bench.imgctl.list(named: "quality-urls", urls)
      _ = try peer.run(list, lineCount: urls.count, output: "\(directory)/img2dataset")
    }
    let originals = try bench.imgctl.list(
      named: "quality-originals", zip(pictures, urls).map { "\($0)\t\($1)" })
    let output = try runScript("quality.py", [originals, directory])
    let qualities = try JSONDecoder().decode([String: Quality].self, from: Data(output))
    guard let own = qualities["imgctl"], let libvips = qualities["libvips"] else {
      throw BenchError("quality.py wrote \(String(decoding: output, as: UTF8.self))")
    }
    return Self.figures(own, beside: "libvips thumbnail", libvips, hasTargets: true)
      + (qualities["img2dataset"].map {
        Self.figures(own, beside: "img2dataset", $0, hasTargets: false)
      } ?? [PeerFigure(.quality, "all", missing: Self.missingPeer)])
  }

  private static func figures(
    _ own: Quality, beside: String, _ other: Quality, hasTargets: Bool
  ) -> [PeerFigure] {
    func figure(
      _ name: String, _ unit: String, _ value: (Quality) -> Double, _ target: PeerFigure.Target?
    ) -> PeerFigure {
      PeerFigure(
        .quality, name, unit, own: [value(own)], beside: beside, [value(other)],
        target: hasTargets ? target : nil,
        command: "imgctl get FILE -o OUT, beside a Lanczos resize in linear light: "
          + "scripts/peers/quality.py")
    }
    return [
      figure("SSIM", "", \.ssim, .atLeast(1)),
      figure("SSIMULACRA 2", "", \.ssimulacra2, .atLeast(1)),
      figure("bytes", "B", \.bytes, nil),
      figure("colour difference", "of 255", \.colour, nil),
      figure("colour displacement", "px", \.displacement, nil),
    ]
  }

  private func makeOwn(_ pictures: [String], in directory: String) throws {
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    let cluster = try bench.start("quality")
    defer { try? cluster.stop() }
    for (number, path) in pictures.enumerated() {
      try cluster.run(["get", path, "--output", "\(directory)/\(number).jpg"])
    }
  }

  private func makeLibvips(_ pictures: [String], in directory: String) throws {
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    for (number, path) in pictures.enumerated() {
      try bench.imgctl.run(
        program: "/usr/bin/vipsthumbnail",
        [path, "--size", "256x256", "--output", "\(directory)/\(number).jpg[Q=80,strip]"])
    }
  }
}
