package import ImgModel

/// The tracks of a HEIF or AVIF file whose pictures follow each other in time.
package struct PictureSequence {
  package let colours: SequenceTrack
  /// The transparency of each picture, if it has any.
  package let alpha: SequenceTrack?
  /// Whether the colours were multiplied by the transparency.
  package let isPremultiplied: Bool

  package var frameCount: Int { colours.samples.count }

  init(movie: ISOMediaBox) throws(FactsError) {
    let tracks = try ISOMediaTrack.all(in: movie)
    guard let pictures = tracks.first(where: \.showsPictures),
      let entry = try pictures.firstSampleEntry()
    else { throw .unsupported("a sequence without a track of pictures") }
    colours = try SequenceTrack(pictures, VisualSampleEntry(entry))
    guard let alpha = try Self.alpha(of: pictures, in: tracks) else {
      (self.alpha, isPremultiplied) = (nil, false)
      return
    }
    self.alpha = alpha.track
    isPremultiplied = try pictures.references("prem").contains(alpha.number)
    guard (alpha.track.width, alpha.track.height) == (colours.width, colours.height) else {
      throw .invalid("the transparency has another size than the colours")
    }
    guard alpha.track.samples.count == frameCount else {
      throw .invalid("\(frameCount) pictures have \(alpha.track.samples.count) of transparency")
    }
  }

  private static func alpha(
    of pictures: ISOMediaTrack, in tracks: [ISOMediaTrack]
  ) throws(FactsError) -> (track: SequenceTrack, number: Int)? {
    let number = try pictures.head().number
    for track in tracks where track.handler == "auxv" {
      guard try track.references("auxl").contains(number), let box = try track.firstSampleEntry()
      else { continue }
      let entry = try VisualSampleEntry(box)
      guard let type = try entry.auxiliaryType(), HEIFImage.alphaTypes.contains(type) else {
        continue
      }
      return (try SequenceTrack(track, entry, isTransparency: true), try track.head().number)
    }
    return nil
  }
}

/// A HEIF or AVIF file whose pictures follow each other in time.
package struct SequenceFile {
  /// Whether it has a picture for readers that show no sequence.
  package let hasStill: Bool
  private let movie: ISOMediaBox?

  /// - Parameter source: has all bytes of the file.
  /// - Returns: `nil` for other files.
  package init?(_ source: any ByteSource, as format: ImageFormat) {
    let window = ByteWindow(source)
    guard [.avif, .heif].contains(format),
      let brand = try? window.fields(at: 8, count: 4).name(0), HEIFBrand.isSequence(brand)
    else { return nil }
    var (boxes, hasStill, movie) = (ISOMediaBoxes(window), false, ISOMediaBox?.none)
    while !hasStill || movie == nil, let box = try? boxes.next() {
      switch box.type {
      case "meta" where !hasStill: hasStill = (try? HEIFItems(meta: box, in: window)) != nil
      case "moov" where movie == nil: movie = box
      default: break
      }
    }
    (self.hasStill, self.movie) = (hasStill, movie)
  }

  /// - Throws: ``FactsError/unsupported(_:)`` for a codec that is not decoded, or another error for a
  ///   damaged file. The brand promises a movie, so that a file without one was cut before it.
  package func sequence() throws(FactsError) -> PictureSequence {
    guard let movie else {
      throw .invalid("a sequence without its moov box; its end may be missing")
    }
    return try PictureSequence(movie: movie)
  }
}

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

/// How HEVC is put into a file (ISO/IEC 14496-15 section 8.3.3).
package struct HEVCConfiguration: Sendable {
  /// More than any stream has.
  private static let maximumParameterSetCount = 64

  /// Bytes of the length that stands before each unit of a sample: 1…4.
  package let lengthByteCount: Int
  /// Units that come before those of the first sample.
  package private(set) var parameterSets: [[UInt8]] = []

  init(_ box: ISOMediaBox) throws(FactsError) {
    let head = try box.payload.fields(at: 0, count: 23)
    lengthByteCount = head.u8(21) & 3 + 1
    var offset = 23
    for _ in 0..<head.u8(22) {
      let count = try box.payload.fields(at: offset, count: 3).u16(1)
      offset += 3
      for _ in 0..<count {
        guard parameterSets.count < Self.maximumParameterSetCount else {
          throw .unsupported("HEVC with more than \(Self.maximumParameterSetCount) parameter sets")
        }
        let byteCount = try box.payload.fields(at: offset, count: 2).u16(0)
        parameterSets.append(try box.payload.fields(at: offset + 2, count: byteCount).bytes)
        offset += 2 + byteCount
      }
    }
  }
}
