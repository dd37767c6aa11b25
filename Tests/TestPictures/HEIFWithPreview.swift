/// A HEIF file of a picture and its preview, as cameras write it (ISO/IEC 23008-12 section 6.4.4), put
/// together from two files of one picture each.
package struct HEIFWithPreview {
  /// What the preview's clean aperture says (ISO/IEC 14496-12 section 12.1.4): which part of it is shown.
  package struct Aperture: Sendable {
    /// Fractions: numerator and denominator.
    let width, height, leftOffset: (UInt32, UInt32)

    /// - Parameter leftOffset: how far its centre lies to the right of the preview's.
    package init(
      width: (UInt32, UInt32), height: (UInt32, UInt32), leftOffset: (UInt32, UInt32) = (0, 1)
    ) {
      (self.width, self.height, self.leftOffset) = (width, height, leftOffset)
    }
  }

  /// The whole file.
  package let bytes: [UInt8]

  /// - Parameters:
  ///   - picture: a file of ``PictureFormat/heif``, as `preview` is.
  ///   - aperture: `nil` for a preview that is shown whole.
  ///   - properties: boxes that describe the picture.
  /// - Returns: `nil` when one of them has another structure.
  package init?(
    picture: [UInt8], preview: [UInt8], aperture: Aperture? = nil, properties: [[UInt8]] = []
  ) {
    let shown = aperture.map { aperture in
      let numbers = [aperture.width, aperture.height, aperture.leftOffset, (0, 1)]
      return ISOBox.box("clap", numbers.flatMap { ISOBox.long($0.0) + ISOBox.long($0.1) })
    }
    guard let picture = HEIFWriter.Item(picture, .heif, properties),
      let preview = HEIFWriter.Item(preview, .heif, shown.map { [$0] } ?? [])
    else { return nil }
    bytes = HEIFWriter([picture, preview], [.init("thmb", from: 2, to: [1])]).bytes
  }
}
