import Dispatch
import FoundationEssentials
import ImgSystem
import Synchronization
import TestPictures

/// A picture that costs a decoder what a photograph costs: slopes and shapes of every size, three
/// channels that mostly go together, and a little grain.
struct Photograph {
  private let seed: UInt64
  private let width: Int
  private let height: Int

  /// Distinct pictures of a set; larger sets repeat them under further names.
  private static let distinctCount = 32
  /// Between these, in steps, as pictures of the web are: 0.3 to 1 megapixel.
  private static let smallest = (width: 640, height: 480)
  private static let growth = (width: 16, height: 12)
  private static let octaves = 7

  init(number: Int) {
    let step = number % Self.distinctCount
    self.init(
      seed: UInt64(step), width: Self.smallest.width + step * Self.growth.width,
      height: Self.smallest.height + step * Self.growth.height)
  }

  /// - Parameter seed: below 256.
  init(seed: UInt64, width: Int, height: Int) {
    self.seed = seed
    self.width = width
    self.height = height
  }

  /// Fills `directory` with `count` JPEG files.
  static func write(count: Int, to directory: String) throws {
    try Directory.create(directory)
    let maker = try PictureMaker.start()
    let bodies = try (0..<min(count, distinctCount)).map { number in
      try maker.encode(Photograph(number: number).raster, as: .jpeg)
    }
    for number in 0..<count {
      let file = try FileIO.create("\(directory)/\(number + 1).jpg")
      try FileIO.writeAll(file.rawValue, bodies[number % bodies.count])
    }
  }

  var raster: Raster {
    Raster(width: width, height: height) { x, y in
      let brightness = 128 + 110 * relief(x, y, channel: 0)
      let (red, blue) = (24 * relief(x, y, channel: 1), 24 * relief(x, y, channel: 2))
      let grain = 5 * lattice(x, y, octave: 15, channel: 3)
      func byte(_ value: Double) -> UInt8 { UInt8(min(max(value + grain, 0), 255)) }
      return Raster.Pixel(byte(brightness + red), byte(brightness), byte(brightness + blue))
    }
  }

  /// Noise of halving scale and strength (value noise), −1…1.
  private func relief(_ x: Int, _ y: Int, channel: UInt64) -> Double {
    // Colour changes over larger distances than brightness.
    let octaves = channel == 0 ? Self.octaves : 3
    var sum = 0.0
    var strength = 0.6
    for octave in 0..<octaves {
      sum += strength * smooth(x, y, cell: 256 >> octave, octave: octave, channel: channel)
      strength *= 0.6
    }
    return min(max(sum, -1), 1)
  }

  /// The lattice's values, interpolated between its points.
  private func smooth(_ x: Int, _ y: Int, cell: Int, octave: Int, channel: UInt64) -> Double {
    let (column, row) = (x / cell, y / cell)
    let (right, down) = (Double(x % cell) / Double(cell), Double(y % cell) / Double(cell))
    func value(_ columnStep: Int, _ rowStep: Int) -> Double {
      lattice(column + columnStep, row + rowStep, octave: octave, channel: channel)
    }
    let upper = value(0, 0) * (1 - right) + value(1, 0) * right
    let lower = value(0, 1) * (1 - right) + value(1, 1) * right
    return upper * (1 - down) + lower * down
  }

  /// A random number for a point, −1…1, the same at each call.
  private func lattice(_ x: Int, _ y: Int, octave: Int, channel: UInt64) -> Double {
    // The finaliser of SplitMix64 over the coordinates, which take 24 bits each.
    var state = seed << 56 ^ channel << 52 ^ UInt64(octave) << 48 ^ UInt64(x) << 24 ^ UInt64(y)
    state = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
    state = (state ^ state >> 27) &* 0x94D0_49BB_1331_11EB
    state ^= state >> 31
    return Double(state >> 11) / Double(1 << 52) - 1
  }
}

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

  /// What the profile of a photograph says.
  enum Colours: CaseIterable {
    /// It has no profile.
    case unsaid
    case sRGB
    /// Of displays and phones. They must be converted.
    case displayP3

    fileprivate var profile: [UInt8]? {
      switch self {
      case .unsaid: nil
      case .sRGB: ColourProfile.rgb(primaries: .sRGB, curve: .sampledSRGB)
      case .displayP3: ColourProfile.rgb(primaries: .displayP3, curve: .sRGB)
      }
    }
  }

  /// Fills `directory` with small JPEG files as a sample of the web's photographs has them: of 25 pictures, 19 with
  /// whole colours and 7 with a profile, which mostly is sRGB.
  func writeWeb(count: Int, to directory: String) throws {
    try write(count: count, to: directory, extension: "jpg") { number in
      let colours: Colours =
        [0: .displayP3, 5: .displayP3][number % 25] ?? (number % 5 == 3 ? .sRGB : .unsaid)
      return try maker.photograph(
        cut(number, Self.small), quality: 95 + number % 4, halvesColours: number % 25 % 4 == 1,
        profile: colours.profile)
    }
  }

  /// Fills `directory` with small JPEG files with whole colours that differ from those of other `colours` in their
  /// profile alone.
  func writeSmall(count: Int, in colours: Colours, to directory: String) throws {
    try write(count: count, to: directory, extension: "jpg") { number in
      try maker.photograph(
        cut(number, Self.small), quality: 95, halvesColours: false, profile: colours.profile)
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
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
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
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
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
