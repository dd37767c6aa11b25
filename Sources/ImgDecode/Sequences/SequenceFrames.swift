import ImgFacts

/// The frames of an AVIF or HEIC sequence.
final class SequenceFrames: FrameSequence {
  private let size: ThumbnailGeometry.Size
  private let colours: any VideoDecoder
  private let alpha: (any VideoDecoder)?
  private let isPremultiplied: Bool
  /// The part of each frame that is shown; `nil` for all.
  private let shownArea: PixelArea?
  private let profile: [UInt8]?
  /// A sample of AV1 may show several frames, which the file does not count.
  private var remaining: Int

  /// - Parameters:
  ///   - sequence: one whose size is within the limits.
  ///   - first: the frame that comes first. Those before it are decoded, too.
  init(
    _ sequence: PictureSequence, in input: PictureInput, startingAt first: Int = 0
  ) throws(DecodeError) {
    size = .init(width: sequence.colours.width, height: sequence.colours.height)
    colours = try Self.decoder(of: sequence.colours, in: input)
    alpha = try sequence.alpha.map { (track) throws(DecodeError) in
      try Self.decoder(of: track, in: input)
    }
    isPremultiplied = sequence.isPremultiplied
    shownArea = sequence.colours.shownArea
    profile = sequence.colours.profile
    remaining = sequence.frameCount - first
    for _ in 0..<first {
      _ = try colours.next { (picture) throws(DecodeError) in try checkSize(of: picture) }
      _ = try alpha?.next { (picture) throws(DecodeError) in try checkSize(of: picture) }
    }
  }

  private static func decoder(
    of track: SequenceTrack, in input: PictureInput
  ) throws(DecodeError) -> any VideoDecoder {
    switch track.codec {
    case .av1: try AV1Decoder(track, in: input)
    case .hevc(let configuration): try HEVCDecoder(track, configuration, in: input)
    }
  }

  func next() throws(DecodeError) -> Image? {
    guard remaining > 0 else { return nil }
    remaining -= 1
    let transparency = try alpha?.next { (picture) throws(DecodeError) in
      try checkSize(of: picture)
      return picture.lumaValues()
    }
    return try colours.next { (picture) throws(DecodeError) in
      try checkSize(of: picture)
      guard alpha == nil || transparency != nil else {
        throw .corrupt("a frame lacks its transparency")
      }
      return try image(of: picture, transparency)
    }
  }

  private func image(
    of picture: VideoPicture, _ transparency: [UInt8]?
  ) throws(DecodeError) -> Image {
    let image = try picture.image(alpha: transparency)
    if let profile {
      if image.bandCount > 2 { image.setProfile(profile) }
    } else if picture.codePoints.describesColours {
      image.setColours(DescribedColours(picture.codePoints))
    }
    do throws(VipsError) {
      let shown = try cropped(image)
      guard isPremultiplied else { return shown }
      return try shown.withColoursDivided().inMemory()
    } catch {
      throw DecodeError(error)
    }
  }

  private func cropped(_ image: consuming Image) throws(VipsError) -> Image {
    guard let area = shownArea else { return image }
    return try image.cropped(
      left: area.left, top: area.top, width: area.width, height: area.height
    ).inMemory()
  }

  /// A stream may change its size in between.
  private func checkSize(of picture: VideoPicture) throws(DecodeError) {
    guard picture.size == size else {
      throw .corrupt("a frame has \(picture.size.width) × \(picture.size.height) pixels")
    }
  }
}

@available(*, unavailable)
extension SequenceFrames: Sendable {}
