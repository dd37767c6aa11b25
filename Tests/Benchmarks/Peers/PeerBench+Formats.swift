import ImgSystem
import TestPictures

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
    try cuts.write(
      count: Self.distinctCount, as: format, extension: name, to: directory)
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
