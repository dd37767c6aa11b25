import Glibc

/// A colour in a space where equal distances look equal (Oklab by Björn Ottosson).
struct PerceptualColour {
  var lightness: Double
  /// From green to red.
  var a: Double
  /// From blue to yellow.
  var b: Double

  init(lightness: Double, a: Double, b: Double) {
    (self.lightness, self.a, self.b) = (lightness, a, b)
  }

  /// - Parameter samples: red, green and blue in sRGB.
  init(_ samples: [UInt8]) {
    let light = samples.map { sample in
      let value = Double(sample) / 255
      return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
    }
    let (red, green, blue) = (light[0], light[1], light[2])
    let long = cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    let middle = cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    let short = cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    lightness = 0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short
    a = 1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short
    b = 0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short
  }

  func squaredDistance(to other: PerceptualColour) -> Double {
    let (light, a, b) = (lightness - other.lightness, self.a - other.a, self.b - other.b)
    return light * light + a * a + b * b
  }
}
