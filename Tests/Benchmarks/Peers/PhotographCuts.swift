import Dispatch
import FoundationEssentials
import ImgSystem
import Synchronization
import TestPictures

/// Pictures of any size, cut from one large photograph and its mirror images. So even many large ones
/// are made within seconds, and no two are alike.
struct PhotographCuts: Sendable {
  private let whole: Raster
  private let maker: PictureMaker

  /// The size of most thumbnails' sources on the web: 0.19 megapixels.
  private static let small = (width: 500, height: 375)
  /// From 2 to 24 megapixels.
  private static let large: [(width: Int, height: Int)] = [
    (1_632, 1_224), (1_800, 1_200), (2_048, 1_536), (2_400, 1_600), (2_592, 1_944),
    (3_000, 2_000), (3_264, 2_448), (3_648, 2_736), (4_000, 3_000), (4_928, 3_264),
    (6_000, 4_000),
  ]

  init() throws {
    maker = try PictureMaker.start()
    whole = Photograph(seed: 77, width: 2_400, height: 1_600).raster
  }

  /// Fills `directory` with small JPEG files as sites serve them: every third with whole colours, and of
  /// several qualities.
  func writeSmall(count: Int, to directory: String) throws {
    try write(count: count, to: directory, extension: "jpg") { number in
      try maker.photograph(
        cut(number, Self.small), quality: 95 + number % 4, halvesColours: number % 3 != 0)
    }
  }

  /// Fills `directory` with eleven JPEG files as cameras write them.
  func writeLarge(to directory: String) throws {
    try write(count: Self.large.count, to: directory, extension: "jpg") { number in
      try maker.photograph(
        cut(number, Self.large[number]), quality: 88, halvesColours: number % 3 != 0)
    }
  }

  /// Fills `directory` with small files of a format.
  func write(
    count: Int, as format: PictureFormat, extension suffix: String, to directory: String
  ) throws {
    try write(count: count, to: directory, extension: suffix) { number in
      try maker.encode(cut(number, Self.small), as: format)
    }
  }

  /// A GIF of frames that each begin a little further to the right: every pixel changes, as in a film.
  func animation(frameCount: Int, width: Int, height: Int) throws -> [UInt8] {
    let frames = (0..<frameCount).map { number in
      cut(left: number * 2, top: number, (width, height))
    }
    return try maker.animation(of: frames, as: .gif)
  }

  /// Fills `directory` with a few files of 16 × 12 pixels, for which nothing counts but their number.
  static func writeTiny(to directory: String) throws {
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    let maker = try PictureMaker.start()
    for number in 0..<4 {
      let picture = try maker.card(index: number, width: 16, height: 12)
      try FileIO.replace(path: "\(directory)/\(number).jpg", with: picture)
    }
  }

  private func write(
    count: Int, to directory: String, extension suffix: String,
    _ make: @Sendable (Int) throws -> [UInt8]
  ) throws {
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    let failure = Mutex<(any Error)?>(nil)
    DispatchQueue.concurrentPerform(iterations: count) { number in
      do {
        try FileIO.replace(path: "\(directory)/\(number + 1).\(suffix)", with: make(number))
      } catch {
        failure.withLock { $0 = error }
      }
    }
    if let error = failure.withLock({ $0 }) { throw error }
  }

  /// Each number begins at another point.
  private func cut(_ number: Int, _ size: (width: Int, height: Int)) -> Raster {
    cut(left: number * 37, top: number * 53, size)
  }

  private func cut(left: Int, top: Int, _ size: (width: Int, height: Int)) -> Raster {
    Raster(width: size.width, height: size.height) { x, y in
      whole[
        Self.mirrored(x + left, below: whole.width), Self.mirrored(y + top, below: whole.height)]
    }
  }

  /// There and back again: no edge where the picture repeats.
  private static func mirrored(_ position: Int, below count: Int) -> Int {
    let place = position % (2 * count)
    return place < count ? place : 2 * count - 1 - place
  }
}
