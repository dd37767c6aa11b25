import CResample
import ImgModel
import SeededRandom
import TestPictures
import Testing

@testable import ImgDecode

struct ResamplingTests {
  /// The weights of a sample of the result, by the place of the sample of the source.
  private func weights(of index: Int, in resampling: Resampling) -> [Int: Int] {
    let start = Int(resampling.starts[index])
    let first = index * resampling.weightStride
    return Dictionary(
      uniqueKeysWithValues: (0..<resampling.tapCount).map { tap in
        (start + tap, Int(resampling.weights[first + tap]))
      }.filter { $0.1 != 0 })
  }

  @Test(
    arguments: [
      (512, 256), (511, 256), (257, 256), (7, 2), (8, 1), (1, 1), (1_000, 251), (6_400, 100),
      (100, 400), (2, 5),
    ])
  func `the weights of a sample sum up to one, inside the source`(source: Int, result: Int) throws {
    let resampling = try #require(Resampling(from: .pixels(source), to: .pixels(result)))
    #expect(resampling.starts.count == result)
    #expect(resampling.weights.count == result * resampling.weightStride)
    for index in 0..<result {
      let weights = weights(of: index, in: resampling)
      #expect(weights.keys.allSatisfy { (0..<source).contains($0) })
      #expect(weights.values.reduce(0, +) == Resampling.one)
      let unused = index * resampling.weightStride + resampling.tapCount
      #expect(
        resampling.weights[unused..<(index + 1) * resampling.weightStride].allSatisfy { $0 == 0 })
    }
  }

  @Test(arguments: [false, true])
  func `a side that does not change keeps each sample`(isReversed: Bool) throws {
    let resampling = try #require(
      Resampling(from: .pixels(20), to: .pixels(20), isReversed: isReversed))
    for index in 0..<20 {
      let place = isReversed ? 19 - index : index
      #expect(weights(of: index, in: resampling) == [place: Resampling.one])
    }
  }

  @Test func `a window is symmetric where no edge is near`() throws {
    let resampling = try #require(Resampling(from: .pixels(300), to: .pixels(100)))
    let weights = weights(of: 50, in: resampling)
    for (place, weight) in weights { #expect(weights[2 * 151 - place] == weight) }
  }

  @Test func `a reversed side has the samples in the opposite order`() throws {
    let forwards = try #require(Resampling(from: .pixels(300), to: .pixels(70)))
    let backwards = try #require(Resampling(from: .pixels(300), to: .pixels(70), isReversed: true))
    for index in 0..<70 {
      let expected = weights(of: 69 - index, in: forwards)
      let found = weights(of: index, in: backwards)
      for place in 0..<300 {
        // Places are computed from the other end, so that rounding may differ.
        #expect(abs(found[place, default: 0] - expected[place, default: 0]) <= 1)
      }
    }
  }

  @Test func `a sample that reaches beyond an odd side lies in the middle of what it shows`() {
    // 4 samples show 7 pixels. The last sample shows one pixel.
    let chroma = SampledSide(length: 7, sampleCount: 4, pixelsPerSample: 2)
    #expect((0..<4).map(chroma.place(of:)) == [1, 3, 5, 6.5])
    for index in 0..<4 { #expect(chroma.sample(at: chroma.place(of: index)) == Double(index)) }
    // Halfway between the last two.
    #expect(chroma.sample(at: 5.75) == 2.5)
  }

  @Test(arguments: [1, 2, 7, 8, 375])
  func `chroma of a picture that keeps its size keeps each sample`(length: Int) throws {
    let count = (length + 1) / 2
    let source = SampledSide(length: length, sampleCount: count, pixelsPerSample: 2)
    let result = SampledSide(length: length, showing: 0..<length, pixelsPerSample: 2)
    let resampling = try #require(Resampling(from: source, to: result))
    for index in 0..<count {
      #expect(weights(of: index, in: resampling) == [index: Resampling.one])
    }
  }

  @Test func `a part has the weights that the whole has there`() throws {
    let whole = try #require(Resampling(from: .pixels(300), to: .pixels(100)))
    let part = try #require(
      Resampling(
        from: .pixels(300), to: SampledSide(length: 100, showing: 37..<47)))
    for index in 0..<10 {
      #expect(weights(of: index, in: part) == weights(of: 37 + index, in: whole))
    }
  }

  /// Along columns, then along rows, with six bits more between the two.
  private func means(
    of samples: [UInt8], _ rows: Resampling, _ columns: Resampling, width: Int, bandCount: Int
  ) -> [UInt8] {
    let rounded = { (sum: Int, bits: Int) in (sum + (1 << (bits - 1))) >> bits }
    return rows.starts.indices.flatMap { y in
      let sums = (0..<width * bandCount).map { place in
        weights(of: y, in: rows).reduce(0) { sum, weight in
          sum + Int(samples[weight.key * width * bandCount + place]) * weight.value
        }
      }
      let row = sums.map { rounded($0, 8) }
      return columns.starts.indices.flatMap { x in
        (0..<bandCount).map { band in
          let sum = weights(of: x, in: columns).reduce(0) { sum, weight in
            sum + row[weight.key * bandCount + band] * weight.value
          }
          return UInt8(min(max(rounded(sum, 20), 0), 255))
        }
      }
    }
  }

  @Test(arguments: [1, 3, 4])
  func `vectors of any width give the weighted means to the last bit`(bandCount: Int) throws {
    var random = SeededGenerator(seed: 7)
    for (width, newWidth) in [(75, 34), (15, 7), (40, 61), (160, 16)] {
      let samples = (0..<width * 30 * bandCount).map { _ in
        Bool.random(using: &random) ? UInt8.random(in: 0...255, using: &random) : 255
      }
      let rows = try #require(Resampling(from: .pixels(30), to: .pixels(13)))
      let columns = try #require(Resampling(from: .pixels(width), to: .pixels(newWidth)))
      let expected = means(of: samples, rows, columns, width: width, bandCount: bandCount)
      for isWide in [false, Resampling.hasWideVectors] {
        var (source, result) = (samples, [UInt8](repeating: 0, count: expected.count))
        unsafe source.withUnsafeMutableBufferPointer { source in
          unsafe result.withUnsafeMutableBufferPointer { result in
            let image = { (buffer: UnsafeMutableBufferPointer<UInt8>, width: Int) in
              unsafe img_samples(
                samples: buffer.baseAddress!, row_stride: width * bandCount, width: Int32(width))
            }
            unsafe Resampling.resample(
              image(source, width), rows: rows, columns: columns, bandCount: Int32(bandCount),
              to: image(result, newWidth), inWideVectors: isWide)
          }
        }
        #expect(result == expected, "\(width) to \(newWidth), \(isWide)")
      }
    }
  }

  @Test func `the weights that were asked for last are kept, and no more`() {
    var computed: [Int] = []
    let cache = LRUCache<Int, String>(capacity: 2)
    for key in [1, 2, 1, 3, 1, 2, 0] {
      let value = cache.value(for: key) {
        computed.append(key)
        return key == 0 ? nil : "\(key)"
      }
      #expect(value == (key == 0 ? nil : "\(key)"))
    }
    // 2 made room for 3, and 3 for 2.
    #expect(computed == [1, 2, 3, 2, 0])
  }

  @Test(arguments: [(100, 401), (6_500, 100)])
  func `growing to more than four times and shrinking to less than a 64th is left to libvips`(
    source: Int, result: Int
  ) {
    #expect(Resampling(from: .pixels(source), to: .pixels(result)) == nil)
  }
}

/// JPEG to JPEG, where planes of luma and chroma are resized, against the same as PNG, where pixels
/// are.
@Suite(.timeLimit(.minutes(20))) struct PlanarPathTests {
  private let fixture = ThumbnailFixture()

  /// Soft light with a colour edge in each direction, where a shift of half a sample would show.
  private func picture(width: Int, height: Int) -> Raster {
    Raster(width: width, height: height) { x, y in
      let isRight = 5 * x > 3 * width
      let isLow = 5 * y > 2 * height
      return Raster.Pixel(
        isRight ? 220 : 60, UInt8(60 + 120 * y / height), isLow ? 200 : UInt8(40 + 80 * x / width))
    }
  }

  /// The mean squared error between the thumbnails of both paths.
  private func difference(
    _ picture: [UInt8], width: Int, height: Int, mode: ImageVariant.Mode = .fit,
    crop: ImageVariant.Crop? = nil, quality: Int = 100
  ) throws -> Double {
    let raster = { (format: ImageVariant.Format) in
      let variant = try Variant(
        ImageVariant(
          width: width, height: height, mode: mode, crop: crop, format: format,
          quality: quality))
      return try fixture.raster(of: picture, as: variant)
    }
    return try raster(.jpeg).meanSquaredError(against: raster(.png))
  }

  private func path(
    of picture: [UInt8], format: ImageVariant.Format = .auto, isLenient: Bool = false
  ) throws -> DecodePath {
    let variant = try Variant(ImageVariant(width: 64, height: 64, format: format))
    return try fixture.thumbnailer.thumbnail(of: picture, as: variant, isLenient: isLenient)
      .source.decodePath
  }

  @Test func `a JPEG in standard colours that becomes a JPEG takes the planar path`() throws {
    let plain = try fixture.maker.card(index: 1, format: .jpeg)
    #expect(try path(of: plain) == .planar)
    #expect(try path(of: plain, format: .jpeg, isLenient: true) == .planar)
    #expect(try path(of: fixture.maker.card(index: 1, format: .grayJPEG)) == .planar)
    let profiled = try fixture.maker.card(
      index: 1, format: .jpeg, profile: ColourProfile.rgb(primaries: .sRGB, curve: .sRGB))
    #expect(try path(of: profiled) == .planar)
    let wide = try fixture.maker.card(
      index: 1, format: .jpeg, profile: ColourProfile.rgb(primaries: .displayP3, curve: .sRGB))
    #expect(try path(of: wide) == .planar)
  }

  /// The eye sees less detail in colours, and the thumbnail has a quarter of their samples.
  @Test(arguments: [(500, 376, 256, 2), (1_000, 752, 256, 4), (380, 286, 256, 1)])
  func `chroma is decoded in as few samples as its thumbnail needs`(
    width: Int, height: Int, side: Int, divisor: Int
  ) throws {
    let raster = picture(width: width, height: height)
    for (sampling, isProgressive) in [
      (JPEGSampling.yuv444, false), (.yuv444, true), (.yuv420, true),
    ] {
      let bytes = fixture.maker.jpeg(
        of: raster, sampling: sampling, isProgressive: isProgressive)
      try unsafe bytes.withUnsafeBufferPointer { buffer in
        let jpeg = try JPEGPicture(unsafe PictureInput(buffer), .whole)
        let size = ThumbnailGeometry.Size(width: side, height: side * height / width)
        let chroma = ThumbnailGeometry.Size(width: size.width / 2, height: size.height / 2)
        let shape = try jpeg.planarShape(for: size, chroma: chroma)
        let columns = shape.components[1].columns.sampleCount
        #expect(columns == width / max(divisor, sampling == .yuv420 ? 2 : 1))
        #expect(
          try jpeg.planarFrame(for: size, chroma: chroma).planes[1].columns
            == shape.components[1].columns)
      }
    }
  }

  @Test func `a lossy WebP becomes a JPEG by planes that show what its pixels do`() throws {
    #expect(
      try path(of: fixture.maker.encode(picture(width: 1, height: 9), as: .webp)) == .planar)
    for (width, height) in [(401, 300), (300, 401), (900, 640)] {
      let webP = try fixture.maker.encode(picture(width: width, height: height), as: .webp)
      #expect(try path(of: webP) == .planar)
      let difference = try difference(webP, width: 200, height: 200)
      #expect(difference < 2 * Raster.fortyDecibels, "\(width) × \(height): \(difference)")
    }
  }

  @Test func `a WebP is turned as it says, and its profile obeyed, by planes and by pixels`() throws
  {
    let profile = ColourProfile.rgb(primaries: .displayP3, curve: .sRGB)
    let upright = try fixture.raster(of: fixture.maker.card(index: 2, format: .png))
    let profiled = try fixture.raster(
      of: fixture.maker.card(index: 2, format: .png, profile: profile))
    for format in [PictureFormat.webp, .losslessWebP] {
      for encoding in [ImageVariant.Format.jpeg, .png] {
        let variant = try Variant(
          ImageVariant(width: 1_000, height: 1_000, format: encoding, quality: 95))
        func error(_ picture: [UInt8], against expected: Raster) throws -> Double {
          try fixture.raster(of: picture, as: variant).meanSquaredError(against: expected)
        }
        for orientation in 1...8 {
          let card = try fixture.maker.card(index: 2, format: format, orientation: orientation)
          #expect(try error(card, against: upright) < 60, "\(format) \(encoding) \(orientation)")
        }
        let card = try fixture.maker.card(index: 2, format: format, profile: profile)
        #expect(try error(card, against: profiled) < 60, "\(format) \(encoding)")
        #expect(profiled.meanSquaredError(against: upright) > 100)
      }
    }
  }

  @Test func `all else takes the general path`() throws {
    let plain = try fixture.maker.card(index: 1, format: .jpeg)
    #expect(try path(of: plain, format: .webp) == .general)
    #expect(try path(of: fixture.maker.card(index: 1, format: .cmykJPEG)) == .general)
    #expect(try path(of: fixture.maker.card(index: 1, format: .png)) == .general)
    #expect(try path(of: fixture.maker.card(index: 1, format: .losslessWebP)) == .general)
    let profiled = try fixture.maker.card(
      index: 1, format: .jpeg, profile: ColourProfile.swappedPerceptual)
    #expect(try path(of: profiled) == .general)
    let cut = Array(plain.prefix(plain.count * 3 / 4))
    #expect(try path(of: cut, isLenient: true) == .general)
  }

  @Test(arguments: JPEGSampling.allCases, [100, 80])
  func `both paths show the same`(sampling: JPEGSampling, quality: Int) throws {
    for (width, height) in [(401, 300), (300, 401), (900, 640), (2_049, 1_537)] {
      let jpeg = fixture.maker.jpeg(of: picture(width: width, height: height), sampling: sampling)
      let difference = try difference(jpeg, width: 200, height: 200, quality: quality)
      #expect(difference < 2 * Raster.fortyDecibels, "\(width) × \(height): \(difference)")
    }
  }

  @Test(arguments: 1...8)
  func `a turned picture of an odd size is the same on both paths`(orientation: Int) throws {
    let jpeg = fixture.maker.jpeg(
      of: picture(width: 333, height: 251), sampling: .yuv420,
      orientation: orientation)
    for crop in [nil, ImageVariant.Crop.centre, .point(x: .zero, y: Thousandths(count: 900))] {
      #expect(
        try difference(jpeg, width: 101, height: 67, mode: crop == nil ? .fit : .fill, crop: crop)
          < 2 * Raster.fortyDecibels)
    }
    for mode in [ImageVariant.Mode.auto, .fillDown] {
      #expect(
        try difference(jpeg, width: 400, height: 150, mode: mode, crop: .centre)
          < 2 * Raster.fortyDecibels)
    }
  }

  @Test func `a picture that fits is not resized`() throws {
    for sampling in JPEGSampling.allCases {
      let jpeg = fixture.maker.jpeg(of: picture(width: 61, height: 43), sampling: sampling)
      let difference = try difference(jpeg, width: 256, height: 256)
      // Libjpeg repeats each sample of 4:1:1 and 4:1:0 four times, where planes are interpolated.
      let limit = ([.yuv411, .yuv410].contains(sampling) ? 5 : 2) * Raster.fortyDecibels
      #expect(difference < limit, "\(sampling): \(difference)")
    }
  }

  @Test func `a picture of a single pixel is whole`() throws {
    for sampling in JPEGSampling.allCases {
      let jpeg = fixture.maker.jpeg(of: picture(width: 1, height: 1), sampling: sampling)
      #expect(try difference(jpeg, width: 256, height: 256) < Raster.fortyDecibels)
    }
  }

  @Test(arguments: [(2_000, 10), (10, 2_000)])
  func `a thumbnail of one row or column has the right colours`(width: Int, height: Int) throws {
    // Red turns into blue across the short side.
    let stripes = Raster(width: width, height: height) { x, y in
      let share = UInt8(width > height ? 255 * y / height : 255 * x / width)
      return Raster.Pixel(255 - share, 60, share)
    }
    let jpeg = fixture.maker.jpeg(of: stripes, sampling: .yuv420)
    let difference = try difference(jpeg, width: 200, height: 200, quality: 89)
    #expect(difference < 20 * Raster.fortyDecibels, "\(difference)")
  }

  @Test func `a progressive picture is the same on both paths`() throws {
    let jpeg = fixture.maker.jpeg(
      of: picture(width: 700, height: 500), sampling: .yuv420,
      isProgressive: true)
    #expect(try difference(jpeg, width: 128, height: 128) < 2 * Raster.fortyDecibels)
  }

  @Test func `a gray picture stays gray`() throws {
    let jpeg = try fixture.maker.card(index: 2, width: 321, height: 241, format: .grayJPEG)
    #expect(try difference(jpeg, width: 200, height: 200) < Raster.fortyDecibels)
  }

  @Test func `a picture that shrinks more on one side than on the other is the same`() throws {
    let jpeg = fixture.maker.jpeg(of: picture(width: 1_900, height: 40), sampling: .yuv420)
    #expect(try difference(jpeg, width: 20, height: 40, mode: .stretch) < 2 * Raster.fortyDecibels)
  }
}

@Suite(.timeLimit(.minutes(20))) struct JPEGEncodingTests {
  private let fixture = ThumbnailFixture()

  /// Horizontal and vertical sampling factors of each component, a byte each, as the frame header of
  /// a baseline JPEG has them (ITU-T T.81 B.2.2).
  private func samplingFactors(of jpeg: [UInt8]) throws -> [UInt8] {
    let marker = try #require(
      jpeg.indices.dropLast().first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xC0 })
    let componentCount = Int(jpeg[marker + 9])
    return (0..<componentCount).map { jpeg[marker + 11 + 3 * $0] }
  }

  private func thumbnail(of format: PictureFormat, quality: Int) throws -> [UInt8] {
    let variant = try Variant(ImageVariant(width: 50, height: 50, format: .jpeg, quality: quality))
    return try fixture.thumbnailer.thumbnail(
      of: fixture.maker.card(index: 2, format: format), as: variant
    ).bytes
  }

  @Test(arguments: [PictureFormat.jpeg, .png])
  func `chroma has half the samples a side below quality 90`(source: PictureFormat) throws {
    #expect(try samplingFactors(of: thumbnail(of: source, quality: 89)) == [0x22, 0x11, 0x11])
    #expect(try samplingFactors(of: thumbnail(of: source, quality: 90)) == [0x11, 0x11, 0x11])
  }

  @Test func `a gray JPEG stays gray`() throws {
    #expect(try samplingFactors(of: thumbnail(of: .grayJPEG, quality: 80)) == [0x11])
  }

  @Test(arguments: [PictureFormat.jpeg, .png])
  func `a higher quality takes more bytes`(source: PictureFormat) throws {
    let low = try thumbnail(of: source, quality: 40)
    let high = try thumbnail(of: source, quality: 80)
    #expect(low.count < high.count)
  }
}
