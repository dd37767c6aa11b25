import Glibc
import ImgModel

/// The colours that make up most of a picture.
package struct ColourPalette: Hashable, Sendable {
  package struct Colour: Hashable, Sendable {
    /// In sRGB.
    package let red, green, blue: UInt8
    /// Of the opaque pixels, above 0 and up to 1.
    package let share: Double
  }

  private static let maximumColourCount = PixelFacts.maximumColourCount
  /// Steps of k-means, after which the colours hardly move.
  private static let maximumStepCount = 12
  /// Colours that are nearer to each other look alike.
  private static let smallestDistance = 0.05
  /// Pixels that are more transparent are not seen.
  private static let smallestAlpha = 128

  /// The greatest share first; empty for a transparent picture.
  package let colours: [Colour]

  package var dominant: Colour? { colours.first }

  /// Pixels that differ only in their lowest three bits count as one colour at their average.
  package init(_ picture: SmallPicture) {
    var sums: [Int: (count: Int, samples: [Int])] = [:]
    for start in stride(from: 0, to: picture.samples.count, by: 4)
    where picture.samples[start + 3] >= Self.smallestAlpha {
      let samples = picture.samples[start..<start + 3].map { Int($0) }
      let key = samples.reduce(0) { $0 << 5 | $1 >> 3 }
      var sum = sums[key] ?? (0, [0, 0, 0])
      sum.count += 1
      for channel in 0..<3 { sum.samples[channel] += samples[channel] }
      sums[key] = sum
    }
    // The order makes equal pictures have equal palettes.
    let points = sums.sorted { $0.key < $1.key }.map {
      Point(count: $0.value.count, $0.value.samples)
    }
    colours = Self.colours(of: points)
  }

  private struct Point {
    let count: Int
    /// Of all its pixels.
    let sums: [Int]
    let colour: PerceptualColour

    init(count: Int, _ sums: [Int]) {
      (self.count, self.sums) = (count, sums)
      colour = PerceptualColour(sums.map { UInt8($0 / count) })
    }
  }

  private static func colours(of points: [Point]) -> [Colour] {
    var centres = starts(points)
    guard !centres.isEmpty else { return [] }
    var groups = groups(points, around: centres)
    for _ in 0..<maximumStepCount {
      let next = groups.map { centre(of: $0) }
      let moved = zip(next, centres).contains { $0.squaredDistance(to: $1) > 1e-6 }
      centres = next
      groups = self.groups(points, around: centres)
      if !moved { break }
    }
    let total = points.reduce(0) { $0 + $1.count }
    return groups.map { group in
      let count = group.reduce(0) { $0 + $1.count }
      let samples = (0..<3).map { channel in
        UInt8((group.reduce(0) { $0 + $1.sums[channel] } + count / 2) / count)
      }
      return Colour(
        red: samples[0], green: samples[1], blue: samples[2],
        share: Double(count) / Double(total))
    }.sorted { $0.share > $1.share }
  }

  /// The most frequent colour, then those that are frequent and far from all before.
  private static func starts(_ points: [Point]) -> [PerceptualColour] {
    guard let first = points.max(by: { $0.count < $1.count }) else { return [] }
    var starts = [first.colour]
    while starts.count < maximumColourCount {
      let distances = points.map { point in
        starts.map { point.colour.squaredDistance(to: $0) }.min() ?? 0
      }
      let weights = zip(points, distances).map { Double($0.count) * $1 }
      guard let index = weights.indices.max(by: { weights[$0] < weights[$1] }),
        distances[index] >= smallestDistance * smallestDistance
      else { break }
      starts.append(points[index].colour)
    }
    return starts
  }

  /// Groups without points are left out.
  private static func groups(_ points: [Point], around centres: [PerceptualColour]) -> [[Point]] {
    var groups = [[Point]](repeating: [], count: centres.count)
    for point in points {
      let distances = centres.map { point.colour.squaredDistance(to: $0) }
      let nearest = distances.indices.min { distances[$0] < distances[$1] } ?? 0
      groups[nearest].append(point)
    }
    return groups.filter { !$0.isEmpty }
  }

  private static func centre(of group: [Point]) -> PerceptualColour {
    let count = Double(group.reduce(0) { $0 + $1.count })
    let mean = { (part: KeyPath<PerceptualColour, Double>) in
      group.reduce(0) { $0 + Double($1.count) * $1.colour[keyPath: part] } / count
    }
    return PerceptualColour(lightness: mean(\.lightness), a: mean(\.a), b: mean(\.b))
  }
}

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

extension PixelFacts {
  /// Parts of a share that are told.
  private static let shareStep = 10_000.0

  /// - Parameters:
  ///   - picture: of at most ``SmallPicture/maximumSide`` pixels a side.
  ///   - thumbHash: as thumbnails have it.
  init(_ picture: SmallPicture, thumbHash: ThumbHash) {
    let palette = ColourPalette(picture).colours.compactMap { colour -> Colour? in
      let share = (colour.share * Self.shareStep).rounded() / Self.shareStep
      guard share > 0 else { return nil }
      return Colour(
        RGBColour(red: colour.red, green: colour.green, blue: colour.blue), share: share)
    }
    let facts = PixelFacts(
      thumbHash: thumbHash, blurHash: BlurHash(of: picture), palette: palette)
    guard let facts else { preconditionFailure("what is computed here has the form of facts") }
    self = facts
  }
}
