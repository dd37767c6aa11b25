import ImgModel
import SeededRandom
import TestPictures
import Testing

@testable import ImgDecode

/// What the tests of ``Thumbnailer`` share: real pictures in, real thumbnails out.
struct ThumbnailFixture {
  let thumbnailer: Thumbnailer
  let maker: PictureMaker
  let reader: PictureReader

  init(limits: Limits = Limits()) {
    guard let runtime = try? VipsRuntime.start() else {
      preconditionFailure("libvips does not start, so no picture can be made")
    }
    thumbnailer = Thumbnailer(runtime: runtime, limits: limits)
    maker = PictureMaker(runtime: runtime)
    reader = PictureReader(runtime: runtime)
  }

  init(maxPixels: Int64) {
    var limits = Limits()
    limits.maxPixels = maxPixels
    self.init(limits: limits)
  }

  /// The code of the failure that `bytes` end in; `nil` when they give a thumbnail.
  func failureCode(
    of bytes: [UInt8], as variant: Variant = .standard, isLenient: Bool = false
  ) -> Failure.Code? {
    do {
      _ = try thumbnailer.thumbnail(of: bytes, as: variant, isLenient: isLenient)
      return nil
    } catch {
      return error.code
    }
  }
}

extension Raster.Pixel {
  /// - Parameter tolerance: how far any channel may lie from the other's; by default as far as
  ///   lossy encodings move a flat colour.
  func resembles(_ other: Raster.Pixel, tolerance: Int = 32) -> Bool {
    let channels = [
      (red, other.red), (green, other.green), (blue, other.blue), (alpha, other.alpha),
    ]
    return channels.allSatisfy { abs(Int($0) - Int($1)) <= tolerance }
  }
}

extension Raster {
  /// Whether the four corners are those of an upright ``Card`` encoded in `format`.
  func isUprightCard(encodedIn format: PictureFormat = .png) -> Bool {
    // Ink and the wide gamut move colours, yet not as far as one corner's is from another's.
    let tolerance = [.cmykJPEG, .cmykTIFF, .displayP3PNG].contains(format) ? 80 : 32
    // A few pixels in, where neither scaling nor a lossy encoding mixes neighbours in.
    let (inset, right, bottom) = (min(width, height) / 10, width - 1, height - 1)
    return self[inset, inset].resembles(Card.topLeft, tolerance: tolerance)
      && self[right - inset, inset].resembles(Card.topRight, tolerance: tolerance)
      && self[inset, bottom - inset].resembles(Card.bottomLeft, tolerance: tolerance)
      && self[right - inset, bottom - inset].resembles(Card.bottomRight, tolerance: tolerance)
  }
}

extension ThumbnailFixture {
  /// The pixels that a picture of at most 1,000 × 1,000 is decoded to.
  func raster(of picture: [UInt8], isLenient: Bool = false) throws -> Raster {
    let variant = try Variant(ImageVariant(width: 1_000, height: 1_000, format: .png))
    return try raster(of: picture, as: variant, isLenient: isLenient)
  }

  /// The pixels of a thumbnail.
  func raster(of picture: [UInt8], as variant: Variant, isLenient: Bool = false) throws -> Raster {
    let rendered = try thumbnailer.thumbnail(of: picture, as: variant, isLenient: isLenient)
    return try reader.raster(of: rendered.bytes)
  }
}

extension Raster {
  /// The mean squared error at a peak signal-to-noise ratio of 40 dB: 255² / 10⁴.
  static let fortyDecibels = 6.5

  /// The mean squared error over the three colours of all pixels, or of those in the first rows.
  func meanSquaredError(against other: Raster, rows: Int? = nil) -> Double {
    guard (width, height) == (other.width, other.height) else { return 255 * 255 }
    let pixelCount = width * (rows ?? height)
    var sum = 0
    for index in 0..<pixelCount * 4 where index % 4 != 3 {
      let difference = Int(bytes[index]) - Int(other.bytes[index])
      sum += difference * difference
    }
    return Double(sum) / Double(pixelCount * 3)
  }
}

extension FrameSequence {
  /// The pixels of all frames that are left.
  func rasters() throws -> [Raster] {
    var rasters: [Raster] = []
    while let image = try next() { rasters.append(try image.raster()) }
    return rasters
  }
}

extension Image {
  /// The pixels of an image in 8-bit colours.
  func raster() throws -> Raster {
    let image = try retained().withAlpha().inMemory()
    let width = image.width
    var bytes: [UInt8] = []
    image.withSamples { samples in
      for index in samples.indices { bytes.append(samples[index]) }
    }
    return Raster(width: width, height: image.height) { x, y in
      let start = (y * width + x) * 4
      return Raster.Pixel(bytes[start], bytes[start + 1], bytes[start + 2], alpha: bytes[start + 3])
    }
  }
}

extension PictureFormat {
  /// What the sniffer is to say of pictures made in this flavour.
  var imageFormat: ImageFormat {
    switch self {
    case .jpeg, .progressiveJPEG, .grayJPEG, .cmykJPEG: .jpeg
    case .png, .interlacedPNG, .grayPNG, .sixteenBitPNG, .displayP3PNG: .png
    case .webp, .losslessWebP: .webp
    case .gif: .gif
    case .tiff, .grayTIFF, .cmykTIFF: .tiff
    case .avif: .avif
    case .heif: .heif
    case .jxl: .jxl
    case .bmp: .bmp
    case .ico: .ico
    case .pnm: .pnm
    }
  }
}

/// Ways in which a picture is damaged on its way: each changes what lies behind its first part, so
/// that its header stays.
enum Damage: String, CaseIterable, CustomTestStringConvertible, Sendable {
  /// The connection broke.
  case cut
  /// It broke, and a program that repairs files put an end marker behind it.
  case cutAndClosed
  /// A download that reserved the room for it did not go on.
  case restZeroed
  /// A block of the disk was lost, or a packet.
  case holeZeroed, holeDropped
  /// Bits in bad memory.
  case bitsFlipped

  var testDescription: String { rawValue }

  private static let endOfImage: [UInt8] = [0xFF, 0xD9]
  private static let holeByteCount = 512

  /// - Parameter picture: of some thousand bytes at least.
  func applied(to picture: [UInt8], using random: inout SeededGenerator) -> [UInt8] {
    let part = picture.count / 4..<picture.count * 9 / 10
    let place = Int.random(in: part, using: &random)
    let hole = place..<min(place + Self.holeByteCount, picture.count * 19 / 20)
    let zeros = { (count: Int) in [UInt8](repeating: 0, count: count) }
    switch self {
    case .cut:
      return Array(picture[..<place])
    case .cutAndClosed:
      return picture[..<place] + Self.endOfImage
    case .restZeroed:
      return picture[..<place] + zeros(picture.count - place)
    case .holeZeroed:
      return picture[..<hole.lowerBound] + zeros(hole.count) + picture[hole.upperBound...]
    case .holeDropped:
      return Array(picture[..<hole.lowerBound] + picture[hole.upperBound...])
    case .bitsFlipped:
      var flipped = picture
      for _ in 0..<4 {
        flipped[Int.random(in: part, using: &random)] ^= 1 << Int.random(in: 0..<8, using: &random)
      }
      return flipped
    }
  }
}
