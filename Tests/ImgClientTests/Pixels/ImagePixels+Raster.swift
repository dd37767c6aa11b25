import ImgClient
import TestPictures

extension ImagePixels {
  init?(_ raster: Raster) {
    self.init(width: raster.width, height: raster.height, bytes: raster.bytes)
  }

  /// Whether a pixel has a colour, but for what a lossy encoding changes.
  func resembles(_ colour: Raster.Pixel, at x: Int, _ y: Int) -> Bool {
    let pixel = self[x, y]
    let samples = [
      (pixel.red, colour.red), (pixel.green, colour.green), (pixel.blue, colour.blue),
      (pixel.alpha, colour.alpha),
    ]
    return samples.allSatisfy { abs(Int($0) - Int($1)) <= 32 }
  }

  /// Whether the corners are those of an upright ``Card``.
  var isUprightCard: Bool {
    let (inset, right, bottom) = (min(width, height) / 10, width - 1, height - 1)
    return resembles(Card.topLeft, at: inset, inset)
      && resembles(Card.topRight, at: right - inset, inset)
      && resembles(Card.bottomLeft, at: inset, bottom - inset)
      && resembles(Card.bottomRight, at: right - inset, bottom - inset)
  }
}
