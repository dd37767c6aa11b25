/// What a decoder needs to know of a track of pictures.
package struct SequenceTrack {
  /// How the samples are encoded.
  package enum Codec: Sendable {
    case av1
    case hevc(HEVCConfiguration)

    /// Transparency takes all values of a sample (ISO/IEC 23000-22 section 7.3.5.2). A stream of HEVC
    /// without a declared range is taken as limited, whereas one of AV1 always declares it.
    fileprivate var codePointsOfTransparency: ColourCodePoints? {
      guard case .hevc = self else { return nil }
      let unspecified = 2
      return ColourCodePoints(
        primaries: unspecified, transfer: unspecified, matrix: unspecified, isFullRange: true)
    }
  }

  package let codec: Codec
  /// Pixels of a picture, as it is decoded.
  package let width: Int
  package let height: Int
  /// The part of them that is shown; `nil` for all.
  package let shownArea: PixelArea?
  /// How the shown pixels are turned and mirrored: 1…8 as in EXIF.
  package let orientation: Int
  /// What the file says of the colours; `nil` if only the stream does.
  package let codePoints: ColourCodePoints?
  package let profile: [UInt8]?
  /// Where the samples lie in the file, in the order in which they are decoded.
  package let samples: [Range<Int>]

  /// - Parameter isTransparency: whether the samples are that of another track's pictures.
  /// - Throws: also ``FactsError/unsupported(_:)`` for a codec that is not decoded.
  init(
    _ track: ISOMediaTrack, _ entry: VisualSampleEntry, isTransparency: Bool = false
  ) throws(FactsError) {
    switch entry.type {
    case "av01": codec = .av1
    case "hvc1", "hev1":
      guard let box = entry.box("hvcC") else { throw .invalid("HEVC is not configured") }
      codec = .hevc(try HEVCConfiguration(box))
    default: throw .unsupported("a sequence in \(entry.type)")
    }
    guard entry.width > 0, entry.height > 0 else { throw .invalid("a track has no size") }
    (width, height) = (entry.width, entry.height)
    let image = try entry.image()
    shownArea = image.aperture?.area(inWidth: width, height: height)
    orientation = image.orientation.followed(by: try track.head().orientation).number
    codePoints = image.codePoints ?? (isTransparency ? codec.codePointsOfTransparency : nil)
    profile = try image.profile.flatMap { (window) throws(FactsError) in
      try window.bytes(at: 0, count: window.byteCount)
    }
    samples = try SampleTable(of: track).samples
    guard !samples.isEmpty else { throw .invalid("a track has no sample") }
  }
}
