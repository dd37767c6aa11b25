import FoundationEssentials
import ImgSystem
import TestPictures

/// Lists of photographs.
extension PeerBench {
  private static let smallURLCount = 4_000
  private static let largeURLCount = 300

  func smallFigures() throws -> [PeerFigure] {
    let list = try smallList(urlCount: bench.options.scaled(Self.smallURLCount))
    return try figures(.small, list, bench.decoding, besidePeer: .atLeast(2))
  }

  /// A list beside img2dataset, and beside the decoding of its pictures alone.
  private func figures(
    _ row: PeerRow, _ list: PictureList, _ decoding: BareDecoding,
    besidePeer: PeerFigure.Target
  ) throws -> [PeerFigure] {
    let count = list.urls.count
    var alone: [ClusterPass] = []
    let rounds = try rounds(of: list) {
      alone.append(try bench.pass(of: decoding, count: count))
      return alone[alone.count - 1].seconds
    }
    let pictures = "\(list.pictureCount) pictures"
    let (limit, calls) = ("the same calls from memory", "decode, resize, encode in one process")
    func milliseconds(_ pass: ClusterPass) -> Double {
      pass.processorTime.cluster / Double(count) * 1_000
    }
    return figuresBesidePeer(row, pictures, rounds, urlCount: count, target: besidePeer) + [
      figureBesideLimit(
        row, pictures, rounds, urlCount: count, limit: limit, target: nil, command: calls),
      PeerFigure(
        row, "processor time a picture", "ms", own: rounds.map { milliseconds($0.own) },
        beside: limit, alone.suffix(rounds.count).map(milliseconds), target: .atMost(1.25),
        command: "\(Self.submit(count)), all processes of imgctl : \(calls)"),
    ]
  }

  func largeFigures() throws -> [PeerFigure] {
    let list = try largeList(urlCount: bench.options.scaled(Self.largeURLCount))
    let count = list.urls.count
    let rounds = try rounds(of: list) { try libjpegSeconds(.pixels, list) }
    let pictures = "\(list.pictureCount) pictures"
    var figures = [
      figureBesideLimit(
        .large, pictures, rounds, urlCount: count, limit: "libjpeg-turbo's scaled decode",
        target: .atLeast(0.9),
        command: "tjDecompress2 of as many from memory to twice the thumbnail's size or more")
    ]
    figures += figuresBesidePeer(.large, pictures, rounds, urlCount: count, target: .atLeast(5))
    figures.append(
      PeerFigure(
        .large, "peak memory of a decoder", "MiB", own: rounds.map(\.own.decoderPeakMiB),
        target: .atMost(100), command: "\(Self.submit(count)), VmHWM of imgdecoder"))
    return figures
  }

  /// How long libjpeg-turbo takes for as many pictures as the list has URLs, from memory.
  private func libjpegSeconds(_ work: LibjpegWork, _ list: PictureList) throws -> Double {
    let output = try runScript(
      "libjpeg.py",
      [work.rawValue, "\(list.urls.count)", "\(ThisProcess.coreCount)", list.directory])
    let text = String(decoding: output, as: UTF8.self)
    guard let seconds = Double(text.filter { $0 != "\n" }) else {
      throw BenchError("libjpeg.py wrote \(text)")
    }
    return seconds
  }

  /// What libjpeg-turbo does alone.
  private enum LibjpegWork: String {
    /// A scaled decode to pixels.
    case pixels
    /// A scaled decode to planes, and the encoding of a thumbnail from planes.
    case thumbnail
  }
}

/// Photographs as a sample of the web has them: most with whole colours, many with a profile.
extension PeerBench {
  private static let webPictureCount = 500
  private static let profiledPictureCount = 100

  func webFigures() throws -> [PeerFigure] {
    let cuts = try PhotographCuts()
    let directory = bench.options.workDirectory + "/web-pictures"
    try bench.note("generating photographs as the web has them")
    try cuts.writeWeb(count: bench.options.scaled(Self.webPictureCount), to: directory)
    let decoding = try BareDecoding(pictureDirectory: directory)
    let list = try PictureList(
      "web", directory: directory, origin: origin,
      urlCount: bench.options.scaled(Self.smallURLCount))
    return try figures(
      .web, list, decoding, besidePeer: .atLeast(2.4))
      + [decoderFigure(list, decoding)]
  }

  /// The decoder alone beside the library that it cannot do without.
  private func decoderFigure(_ list: PictureList, _ decoding: BareDecoding) throws -> PeerFigure {
    let count = list.urls.count
    func own() throws -> Double {
      try decoding.run(threadCount: ThisProcess.coreCount, count: count).inSeconds
    }
    var seconds: (own: [Double], libjpeg: [Double]) = ([], [])
    for round in 1...bench.options.rounds {
      try bench.note("the decoder alone, round \(round) of \(bench.options.rounds)")
      if round.isMultiple(of: 2) { seconds.libjpeg.append(try libjpegSeconds(.thumbnail, list)) }
      seconds.own.append(try own())
      if !round.isMultiple(of: 2) { seconds.libjpeg.append(try libjpegSeconds(.thumbnail, list)) }
    }
    return PeerFigure(
      .web, "decode, resize, encode from memory", "ms",
      own: seconds.own.map { $0 / Double(count) * 1_000 },
      beside: "libjpeg-turbo's decode and encode alone",
      seconds.libjpeg.map { $0 / Double(count) * 1_000 }, target: .atMost(1.4),
      command:
        "one process, \(ThisProcess.coreCount) threads : tjDecompressToYUV2 and tjCompressFromYUV (\(count))"
    )
  }

  /// What a profile costs: the same pictures without one, with sRGB's, and with one that is converted.
  func profileFigures() throws -> [PeerFigure] {
    let cuts = try PhotographCuts()
    let decodings = try PhotographCuts.Colours.allCases.map { colours in
      let directory = "\(bench.options.workDirectory)/pictures-\(colours)"
      try cuts.writeSmall(count: Self.profiledPictureCount, in: colours, to: directory)
      return try BareDecoding(pictureDirectory: directory)
    }
    let count = bench.options.scaled(1_000)
    var times: [[Double]] = []
    for round in 1...bench.options.rounds {
      try bench.note("profiles, round \(round) of \(bench.options.rounds)")
      times.append(
        try decodings.map { decoding in
          try decoding.run(threadCount: 1, count: count).inSeconds / Double(count) * 1_000
        })
    }
    let (plain, sRGB, wide) = (times.map { $0[0] }, times.map { $0[1] }, times.map { $0[2] })
    let command = "decode, resize, encode in one thread from memory, \(count) pictures"
    return [
      PeerFigure(
        .profiles, "with a profile of sRGB", "ms", own: sRGB, beside: "without a profile", plain,
        target: .atMost(1.02), command: command),
      PeerFigure(
        .profiles, "more for Display P3", "ms", own: zip(wide, plain).map { $0 - $1 },
        target: .atMost(0.25), command: command),
    ]
  }
}

/// Lists of other formats than JPEG.
extension PeerBench {
  private static let formatURLCount = 1_000
  private static let distinctCount = 24
  private static let formats: [(name: String, format: PictureFormat)] = [
    ("png", .png), ("webp", .webp), ("gif", .gif), ("avif", .avif), ("heic", .heif),
  ]

  /// A format that this machine cannot encode, or that imgctl cannot decode, does not stop the others.
  func formatFigures() throws -> [PeerFigure] {
    let cuts = try PhotographCuts()
    return try Self.formats.flatMap { name, format in
      do {
        return try comparison(of: format, name, cuts)
      } catch {
        try bench.note("\(name): \(error)")
        return [PeerFigure(.formats, name, missing: "\(error)")]
      }
    }
  }

  private func comparison(
    of format: PictureFormat, _ name: String, _ cuts: PhotographCuts
  ) throws -> [PeerFigure] {
    let directory = "\(bench.options.workDirectory)/\(name)-pictures"
    try cuts.write(count: Self.distinctCount, as: format, extension: name, to: directory)
    let decoding = try BareDecoding(pictureDirectory: directory)
    let list = try PictureList(
      name, directory: directory, origin: origin,
      urlCount: bench.options.scaled(Self.formatURLCount))
    let count = list.urls.count
    let rounds = try rounds(of: list) {
      try decoding.run(threadCount: ThisProcess.coreCount, .pixels, count: count).inSeconds
    }
    return figuresBesidePeer(
      .formats, name, rounds, urlCount: count, target: .atLeast(1.2))
      + [
        figureBesideLimit(
          .formats, name, rounds, urlCount: count, limit: "its library, decode alone",
          target: nil, command: "all pixels from memory, by libvips' loader")
      ]
  }
}

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
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let cluster = try bench.start("quality")
    defer { try? cluster.stop() }
    for (number, path) in pictures.enumerated() {
      try cluster.run(["get", path, "--output", "\(directory)/\(number).jpg"])
    }
  }

  private func makeLibvips(_ pictures: [String], in directory: String) throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    for (number, path) in pictures.enumerated() {
      try bench.imgctl.run(
        program: "/usr/bin/vipsthumbnail",
        [path, "--size", "256x256", "--output", "\(directory)/\(number).jpg[Q=80,strip]"])
    }
  }
}

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

/// A program that converts an animated GIF.
struct AnimationPeer {
  let name: String
  let executable: String
  /// What stands between the paths of the input and the output.
  let settings: [String]
  /// The format of the output, which is also its file's suffix.
  let format: String

  /// Which formats they write, in the quality of our thumbnails. gif2webp cannot scale.
  static let all = [
    AnimationPeer(
      name: "gif2webp, which does not scale", executable: "/usr/bin/gif2webp",
      settings: ["-lossy", "-q", "80", "-o"], format: "webp"),
    imageMagick(format: "webp"), imageMagick(format: "gif"),
  ]

  private static func imageMagick(format: String) -> AnimationPeer {
    AnimationPeer(
      name: "ImageMagick", executable: "/usr/bin/convert",
      settings: ["-coalesce", "-resize", "256x256", "-quality", "80"], format: format)
  }

  func arguments(input: String, output: String) -> [String] {
    [input] + settings + [output]
  }

  /// The command as people would type it.
  var command: String {
    let program = executable.split(separator: "/").last.map(String.init) ?? executable
    return ([program] + arguments(input: "FILE", output: "OUTPUT.\(format)"))
      .joined(separator: " ")
  }
}
