import ImgDecode

/// A picture that shows itself coarsely before its end.
package struct ArrivingPicture: Sendable {
  package enum Form: String, CaseIterable, Sendable {
    case progressiveJPEG, interlacedPNG, interlacedGIF
  }

  package let bytes: [UInt8]
  /// Byte counts at which a preview shows more than at the one before.
  package let steps: [Int]

  package init(_ form: Form, width: Int = 320, height: Int = 240) throws {
    let runtime = try VipsRuntime.start()
    let maker = PictureMaker(runtime: runtime)
    let bytes: [UInt8]
    switch form {
    case .progressiveJPEG:
      bytes = try maker.scene(width: width, height: height, format: .progressiveJPEG)
      // The first scan is complete at the second one's marker, and so on.
      let scans = bytes.indices.dropLast().filter { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xDA }
      steps = [scans[1], scans[4], scans[7]].map { $0 + 2 }
    case .interlacedPNG:
      bytes = try maker.scene(width: width, height: height, format: .interlacedPNG)
      steps = Self.parts(of: bytes)
    case .interlacedGIF:
      let scene = try PictureReader(runtime: runtime).raster(
        of: maker.scene(width: width, height: height, format: .png))
      bytes = InterlacedGIF.file(scene)
      steps = Self.parts(of: bytes)
    }
    self.bytes = bytes
  }

  private static func parts(of bytes: [UInt8]) -> [Int] {
    [25, 45, 70].map { bytes.count * $0 / 100 }
  }

  /// The first bytes, up to one of the steps.
  package func part(_ step: Int) -> [UInt8] { Array(bytes[..<steps[step]]) }
}

extension Raster {
  /// The mean absolute difference of the three colours of all pixels.
  package func meanDifference(from other: Raster) -> Double {
    precondition((width, height) == (other.width, other.height), "pictures of one size")
    var sum = 0
    for index in bytes.indices where index % 4 != 3 {
      sum += abs(Int(bytes[index]) - Int(other.bytes[index]))
    }
    return Double(sum) / Double(width * height * 3)
  }

  package var isOpaque: Bool {
    stride(from: 3, to: bytes.count, by: 4).allSatisfy { bytes[$0] == 255 }
  }
}
