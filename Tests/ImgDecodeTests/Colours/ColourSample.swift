import FoundationEssentials
import TestPictures
import Testing

/// A photograph that `Samples/make.py` has described in many ways, by tools and formulas of others.
struct ColourSample: CustomTestStringConvertible {
  let name: String

  init(_ name: String) { self.name = name }

  var testDescription: String { name }

  func bytes() throws -> [UInt8] {
    let directory = URL(filePath: #filePath).deletingLastPathComponent()
    return Array(try Data(contentsOf: directory.appending(path: "Samples/\(name)")))
  }

  /// The same in sRGB.
  static let standard = ColourSample("srgb.png")

  /// Without light brighter than white.
  static let ofScreens =
    ["p3", "bt2020", "bt709", "linear", "gamma22", "gamma28"].flatMap {
      [ColourSample("\($0).avif"), ColourSample("\($0).png")]
    }
    + ["p3.heic", "bt2020.heic", "p3.jxl", "bt2020.jxl", "bt709.jxl", "linear.jxl"].map {
      ColourSample($0)
    }

  /// With white at 203 cd/m², and nothing above it.
  static let ofHDR = ["pq", "hlg"].flatMap { way in
    ["avif", "heic", "png", "jxl"].map { ColourSample("\(way).\($0)") }
  }
}

extension Raster {
  /// The mean and the greatest difference of a channel.
  func differences(from other: Raster) -> (mean: Double, greatest: Int) {
    guard (width, height) == (other.width, other.height) else { return (255, 255) }
    let all = zip(bytes, other.bytes).map { abs(Int($0) - Int($1)) }
    return (Double(all.reduce(0, +)) / Double(width * height * 3), all.max() ?? 0)
  }
}
