/// What a decoder needs to know of a track of pictures.
package struct SequenceTrack {
  /// How the samples are encoded.
  package enum Codec: Sendable {
    case av1
    case hevc(HEVCConfiguration)
  }

  package let codec: Codec
  /// Pixels of a picture, as it is stored.
  package let width: Int
  package let height: Int
  /// How the stored pictures are turned and mirrored: 1…8 as in EXIF.
  package let orientation: Int
  /// What the file says of the colours; `nil` if only the stream does.
  package let codePoints: ColourCodePoints?
  package let profile: [UInt8]?
  /// Where the samples lie in the file, in the order in which they are decoded.
  package let samples: [Range<Int>]

  /// - Throws: also ``FactsError/unsupported(_:)`` for a codec that is not decoded.
  init(_ track: ISOMediaTrack, _ entry: VisualSampleEntry) throws(FactsError) {
    switch entry.type {
    case "av01": codec = .av1
    case "hvc1", "hev1":
      guard let box = entry.box("hvcC") else { throw .invalid("HEVC is not configured") }
      codec = .hevc(try HEVCConfiguration(box))
    default: throw .unsupported("a sequence in \(entry.type)")
    }
    guard entry.width > 0, entry.height > 0 else { throw .invalid("a track has no size") }
    (width, height) = (entry.width, entry.height)
    orientation = try track.head().orientation.number
    let image = try entry.image()
    codePoints = image.codePoints
    profile = try image.profile.flatMap { (window) throws(FactsError) in
      try window.bytes(at: 0, count: window.byteCount)
    }
    samples = try SampleTable(of: track).samples
    guard !samples.isEmpty else { throw .invalid("a track has no sample") }
  }
}
