import Glibc
package import ImgModel

/// Transparency is ignored.
extension BlurHash {
  package init(of picture: SmallPicture) {
    guard let hash = BlurHash(Self.text(of: picture)) else {
      preconditionFailure("what is computed here has the form of a BlurHash")
    }
    self = hash
  }

  private static func text(of picture: SmallPicture) -> String {
    let light = (0..<256).map { Self.light(of: Double($0) / 255) }
    let planes = (0..<3).map { channel in
      (0..<picture.pixelCount).map { light[Int(picture.samples[$0 * 4 + channel])] }
    }
    var factors: [[Double]] = []
    for row in 0..<rowCount {
      for column in 0..<columnCount {
        let basis = basis(column, row, of: picture)
        factors.append(
          planes.map { plane in
            var sum = 0.0
            for (factor, light) in zip(basis, plane) { sum += factor * light }
            return sum / Double(picture.pixelCount)
          })
      }
    }
    let details = factors.dropFirst()
    let greatest = details.joined().reduce(0) { max($0, abs($1)) }
    let step = max(0, min(82, Int((greatest * 166 - 0.5).rounded(.down))))
    let scale = Double(step + 1) / 166
    let size = columnCount - 1 + (rowCount - 1) * 9
    let average = factors[0].reduce(0) { $0 << 8 | sample(of: $1) }
    return characters(size, 1) + characters(step, 1) + characters(average, 4)
      + details.map { characters(number(of: $0, scale: scale), 2) }.joined()
  }

  private static func basis(_ column: Int, _ row: Int, of picture: SmallPicture) -> [Double] {
    let weight = column == 0 && row == 0 ? 1.0 : 2.0
    let across = (0..<picture.width).map { x in
      cos(Double.pi * Double(column) * Double(x) / Double(picture.width))
    }
    return (0..<picture.height).flatMap { y in
      let factor = cos(Double.pi * Double(row) * Double(y) / Double(picture.height))
      return across.map { weight * $0 * factor }
    }
  }

  /// Three numbers of 19 steps, finer for small ones.
  private static func number(of detail: [Double], scale: Double) -> Int {
    detail.reduce(0) { number, value in
      let part = value / scale
      let root = part < 0 ? -abs(part).squareRoot() : part.squareRoot()
      return number * 19 + max(0, min(18, Int((root * 9 + 9.5).rounded(.down))))
    }
  }

  private static func characters(_ number: Int, _ count: Int) -> String {
    var (rest, text) = (number, "")
    for _ in 0..<count {
      text = String(digits[rest % 83]) + text
      rest /= 83
    }
    return text
  }

  // MARK: - The transfer function of sRGB

  private static func light(of sample: Double) -> Double {
    sample <= 0.04045 ? sample / 12.92 : pow((sample + 0.055) / 1.055, 2.4)
  }

  private static func sample(of light: Double) -> Int {
    let light = max(0, min(1, light))
    let sample = light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
    return Int(sample * 255 + 0.5)
  }
}
