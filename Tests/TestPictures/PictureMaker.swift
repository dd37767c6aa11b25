import CVips
package import ImgDecode

/// Makes encoded pictures in memory, so that tests and demonstrations need no files.
package struct PictureMaker: Sendable {
  package init(runtime: VipsRuntime) {}

  package static func start() throws(VipsError) -> PictureMaker {
    PictureMaker(runtime: try VipsRuntime.start())
  }

  /// A ``Card``. `width` and `height` are those of the upright picture.
  /// - Parameter orientation: with another value than 1 the pixels are stored turned or mirrored,
  ///   and the EXIF tag tells how.
  package func card(
    index: Int, width: Int = 320, height: Int = 240, format: PictureFormat = .jpeg,
    orientation: Int = 1, hasAlpha: Bool = false
  ) throws(PictureError) -> [UInt8] {
    let card = Card(index: index, width: width, height: height, hasAlpha: hasAlpha)
    return try encode(
      card.raster, as: format, orientation: orientation, hasAlpha: hasAlpha && format.hasAlpha)
  }

  /// A ``Card`` in JPEG 2000. Its decoder has known faults, so tests decode it in another process.
  package func jpeg2000Card(index: Int) throws(PictureError) -> [UInt8] {
    let raster = Card(index: index, width: 320, height: 240).raster
    return try VipsRaster(raster, as: .png, hasAlpha: false).encoded(suffix: ".jp2")
  }

  /// A ``Card`` that carries a colour profile, which says what its numbers mean; they stay as they are.
  package func card(
    index: Int, format: PictureFormat, profile: [UInt8]
  ) throws(PictureError) -> [UInt8] {
    let raster = Card(index: index, width: 320, height: 240).raster
    let image = try VipsRaster(raster, as: format, hasAlpha: false)
    image.setProfile(profile)
    return try image.encoded(as: format)
  }

  /// A JPEG XL with transparency whose samples are floating-point numbers in linear light.
  package func linearJPEGXL(_ raster: Raster) throws(PictureError) -> [UInt8] {
    try VipsRaster(inLinearLight: raster).encoded(suffix: ".jxl[lossless]")
  }

  /// A picture somewhat like a photograph: soft light, edges and some grain, so that no part of it is
  /// like another and an encoder has something to do everywhere.
  package func scene(
    width: Int, height: Int, format: PictureFormat
  ) throws(PictureError) -> [UInt8] {
    var state: UInt64 = 1
    let raster = Raster(width: width, height: height) { x, y in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let grain = Int(state >> 59)
      let isInside =
        (x - width / 3) * (x - width / 3) + (y - height / 2) * (y - height / 2)
        < height * height / 9
      let shade = isInside ? 90 : 0
      let sample = { (light: Int) in UInt8(clamping: light + grain) }
      return Raster.Pixel(
        sample(shade + 120 * x / width), sample(40 + 150 * y / height),
        sample(shade / 2 + (x * y / 97) % 80))
    }
    return try encode(raster, as: format)
  }

  /// A picture of seeded noise: hardly smaller encoded than not, so a way to a body of a wanted
  /// size.
  package func noise(
    seed: UInt64, width: Int, height: Int, format: PictureFormat = .jpeg
  ) throws(PictureError) -> [UInt8] {
    var state = seed
    let raster = Raster(width: width, height: height) { _, _ in
      // The multiplier and increment of Knuth's MMIX generator; its high bits are the good ones.
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Raster.Pixel(
        UInt8(truncatingIfNeeded: state >> 56), UInt8(truncatingIfNeeded: state >> 48),
        UInt8(truncatingIfNeeded: state >> 40))
    }
    return try encode(raster, as: format)
  }

  /// A whole PNG of few bytes and `side` × `side` pixels, all black but one.
  package func blank(side: Int) throws(PictureError) -> [UInt8] {
    let pixel = Raster(width: 1, height: 1) { _, _ in Raster.Pixel(255, 255, 255) }
    return try VipsRaster(pixel, as: .grayPNG, hasAlpha: false)
      .enlarged(width: side, height: side).encoded(suffix: ".png[bitdepth=1]")
  }

  /// An animation of `frameCount` cards that count up from `index`, 100 ms each.
  /// - Parameter format: `gif` or one of WebP.
  package func animation(
    index: Int, width: Int = 64, height: Int = 48, frameCount: Int, format: PictureFormat = .gif
  ) throws(PictureError) -> [UInt8] {
    let cards = (0..<frameCount).map {
      Card(index: index + $0, width: width, height: height).raster
    }
    return try animation(of: cards, as: format)
  }

  /// An animation of frames of one size, 100 ms each.
  /// - Parameter format: `gif` or one of WebP.
  package func animation(
    of frames: [Raster], as format: PictureFormat
  ) throws(PictureError) -> [UInt8] {
    let (width, height) = (frames[0].width, frames[0].height)
    let strip = Raster(width: width, height: height * frames.count) { x, y in
      frames[y / height][x, y % height]
    }
    let image = try VipsRaster(strip, as: format, hasAlpha: false)
    image.setFrames(height: height, count: frames.count)
    return try image.encoded(as: format)
  }

  /// A JPEG of a wanted quality.
  ///
  /// - Parameters:
  ///   - quality: 1…100.
  ///   - halvesColours: whether a colour stands for 2 × 2 pixels (4:2:0), as most cameras have it, or
  ///     for each (4:4:4).
  package func photograph(
    _ raster: Raster, quality: Int, halvesColours: Bool
  ) throws(PictureError) -> [UInt8] {
    let mode = halvesColours ? "on" : "off"
    return try VipsRaster(raster, as: .jpeg, hasAlpha: false)
      .encoded(suffix: ".jpg[Q=\(quality),subsample_mode=\(mode)]")
  }

  /// Encodes pixels.
  /// - Parameter hasAlpha: whether their transparency is kept; else it is ignored.
  package func encode(
    _ raster: Raster, as format: PictureFormat, orientation: Int = 1, hasAlpha: Bool = false
  ) throws(PictureError) -> [UInt8] {
    switch format {
    case .bmp:
      let masks: [UInt32] = [0xFF0000, 0xFF00, 0xFF, 0xFF00_0000]
      let pixels = hasAlpha ? BitmapWriter.Pixels.masks(32, masks) : .blueGreenRed
      return BitmapWriter(hasAlpha ? .version5 : .info, pixels).file(raster)
    case .ico:
      let writer = BitmapWriter(.info, .blueGreenRedAlpha)
      return IconWriter([IconWriter.Part(raster, writer)]).bytes
    default: break
    }
    let image = try VipsRaster(
      raster.stored(forOrientation: orientation), as: format, hasAlpha: hasAlpha)
    if orientation != 1 { image.setOrientation(orientation) }
    return try image.encoded(as: format)
  }
}
