/// The part of a picture that is shown (ISO/IEC 14496-12 section 12.1.4).
struct CleanAperture {
  private static let byteCount = 32

  let width: Int
  let height: Int
  /// How far its centre lies to the right of that of the picture, and below it.
  private let offset: (x: Double, y: Double)

  /// - Returns: `nil` for a part without a pixel.
  init?(_ payload: ByteWindow) throws(FactsError) {
    let fields = try payload.fields(at: 0, count: Self.byteCount)
    let numbers = stride(from: 0, to: Self.byteCount, by: 8).map { start in
      (
        numerator: Int(Int32(truncatingIfNeeded: fields.u32(start))),
        denominator: fields.u32(start + 4)
      )
    }
    guard numbers.allSatisfy({ $0.denominator > 0 }) else { return nil }
    width = numbers[0].numerator / numbers[0].denominator
    height = numbers[1].numerator / numbers[1].denominator
    guard width > 0, height > 0 else { return nil }
    let offsets = numbers[2...].map { Double($0.numerator) / Double($0.denominator) }
    offset = (offsets[0], offsets[1])
  }

  /// - Returns: `nil` unless all of it lies in the picture.
  func area(inWidth pictureWidth: Int, height pictureHeight: Int) -> PixelArea? {
    let left = (Double(pictureWidth - width) / 2 + offset.x).rounded(.down)
    let top = (Double(pictureHeight - height) / 2 + offset.y).rounded(.down)
    guard left >= 0, top >= 0, left <= Double(pictureWidth - width),
      top <= Double(pictureHeight - height)
    else { return nil }
    return PixelArea(left: Int(left), top: Int(top), width: width, height: height)
  }
}

/// A rectangle of pixels in a picture.
package struct PixelArea: Equatable, Sendable {
  package let left: Int
  package let top: Int
  package let width: Int
  package let height: Int
}
