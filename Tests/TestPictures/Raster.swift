/// Pixels in memory: rows from the top, four bytes (red, green, blue, alpha) a pixel.
package struct Raster: Sendable {
  package let width: Int
  package let height: Int
  package private(set) var bytes: [UInt8]

  /// One pixel.
  package struct Pixel: Hashable, Sendable {
    package var red: UInt8
    package var green: UInt8
    package var blue: UInt8
    package var alpha: UInt8

    package init(_ red: UInt8, _ green: UInt8, _ blue: UInt8, alpha: UInt8 = 255) {
      self.red = red
      self.green = green
      self.blue = blue
      self.alpha = alpha
    }
  }

  package init(width: Int, height: Int, pixelAt: (_ x: Int, _ y: Int) -> Pixel) {
    precondition(width > 0 && height > 0, "a picture has at least one pixel")
    self.width = width
    self.height = height
    bytes = []
    bytes.reserveCapacity(width * height * 4)
    for y in 0..<height {
      for x in 0..<width {
        let pixel = pixelAt(x, y)
        bytes.append(pixel.red)
        bytes.append(pixel.green)
        bytes.append(pixel.blue)
        bytes.append(pixel.alpha)
      }
    }
  }

  package subscript(x: Int, y: Int) -> Pixel {
    let start = (y * width + x) * 4
    return Pixel(bytes[start], bytes[start + 1], bytes[start + 2], alpha: bytes[start + 3])
  }

  /// The pixels as a camera held in another way stores them: a reader that obeys EXIF
  /// `orientation` (1…8, EXIF 2.3 section 4.6.4 A) sees `self`.
  package func stored(forOrientation orientation: Int) -> Raster {
    precondition((1...8).contains(orientation), "EXIF knows the orientations 1 to 8")
    let (right, bottom) = (width - 1, height - 1)
    let isTurned = orientation >= 5
    return Raster(width: isTurned ? height : width, height: isTurned ? width : height) { x, y in
      switch orientation {
      case 1: self[x, y]
      case 2: self[right - x, y]
      case 3: self[right - x, bottom - y]
      case 4: self[x, bottom - y]
      case 5: self[y, x]
      case 6: self[right - y, x]
      case 7: self[right - y, bottom - x]
      default: self[y, bottom - x]
      }
    }
  }
}
