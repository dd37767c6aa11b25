import TestPictures

@testable import ImgDecode

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
      return Raster.Pixel(
        bytes[start], bytes[start + 1], bytes[start + 2], alpha: bytes[start + 3])
    }
  }
}
