import CVips
import ImgModel

/// The way of one open picture to its thumbnails. Its frame is decoded once, for the largest of them.
struct FrameDecoder {
  /// Thumbnails, and how the picture became them.
  struct Made {
    let thumbnails: [EncodedThumbnail]
    let thumbHash: ThumbHash
    var path: DecodePath
  }

  let picture: any OpenPicture
  let variants: [Variant]
  /// Whether only the readable part of a damaged picture is decoded.
  let isDamaged: Bool
  /// Of each variant.
  let geometries: [ThumbnailGeometry]

  init(picture: any OpenPicture, variants: [Variant], isDamaged: Bool) {
    // A file without a notice has nothing to keep, so that a JPEG can take the short way.
    let hasNotice = variants[0].keptData.copyright && picture.copyrightNotice() != nil
    let variants = hasNotice ? variants : variants.map(\.withoutCopyright)
    self.init(
      picture: picture, variants: variants, isDamaged: isDamaged,
      geometries: variants.map { ThumbnailGeometry(of: picture.header, as: $0) })
  }

  private init(
    picture: any OpenPicture, variants: [Variant], isDamaged: Bool,
    geometries: [ThumbnailGeometry]
  ) {
    self.picture = picture
    self.variants = picture.header.hasMoreThanEightBits ? variants : variants.map(\.inEightBits)
    self.isDamaged = isDamaged
    self.geometries = geometries
  }

  /// A size that covers what each thumbnail is scaled to, upright.
  private var largest: ThumbnailGeometry.Size {
    .init(
      width: geometries.map(\.scaled.width).max() ?? 1,
      height: geometries.map(\.scaled.height).max() ?? 1)
  }

  /// From the smaller picture in the file if the variants want that, or from the picture itself.
  func thumbnails() throws(DecodeError) -> Made {
    // An embedded picture that cannot be decoded does not matter.
    if let smaller = ofEmbeddedPicture(), var made = try? smaller.ownThumbnails() {
      made.path = .embedded
      return made
    }
    return try ownThumbnails()
  }

  private func ofEmbeddedPicture() -> FrameDecoder? {
    let use = variants[0].embeddedUse
    // The preview says nothing of the rights in the picture.
    guard use != .never, !variants[0].keptData.copyright,
      use == .always || picture.trustsEmbeddedPicture,
      let embedded = picture.embeddedPicture(),
      use == .always || variants[0].depth == .eight || embedded.header.hasMoreThanEightBits
    else { return nil }
    let size = embedded.header.upright
    if size.width >= largest.width, size.height >= largest.height {
      return FrameDecoder(
        picture: embedded, variants: variants, isDamaged: isDamaged, geometries: geometries)
    }
    guard use == .always else { return nil }
    return FrameDecoder(picture: embedded, variants: variants, isDamaged: isDamaged)
  }

  private func ownThumbnails() throws(DecodeError) -> Made {
    let size = picture.header.oriented(largest)
    let plan = try DecodePlan(for: picture, decodedFor: size, to: geometries, as: variants)
    switch plan {
    case .planar(let picture, let origins):
      return try planarThumbnails(of: picture, decodedFor: size, at: origins)
    case .general: return try generalThumbnails(decodedFor: size)
    }
  }

  private func planarThumbnails(
    of picture: any PlanarPicture, decodedFor size: ThumbnailGeometry.Size,
    at origins: [ThumbnailGeometry.Point]
  ) throws(DecodeError) -> Made {
    let header = picture.header
    let targets = zip(geometries, variants).map { picture.target(of: $0, as: $1) }
    var source = try PlanarSource(picture, for: targets, decodedFor: size)
    var thumbnails: [EncodedThumbnail] = []
    for (index, geometry) in geometries.enumerated() {
      let target = targets[index]
      let bytes = try source.frame(for: target).thumbnail(
        to: geometry, at: origins[index], from: Orientation(header.orientation),
        as: target.encoding, picture.conversion)
      let thumbnail = Thumbnail(
        format: .jpeg, width: geometry.kept.width, height: geometry.kept.height,
        byteCount: bytes.count)
      thumbnails.append(EncodedThumbnail(thumbnail: thumbnail, bytes: bytes))
    }
    let small = SmallPicture(
      source.frame, showing: header.upright, orientation: header.orientation, picture.conversion)
    return Made(thumbnails: thumbnails, thumbHash: ThumbHash(of: small), path: .planar)
  }

  private func generalThumbnails(
    decodedFor size: ThumbnailGeometry.Size
  ) throws(DecodeError) -> Made {
    let frame = try frame(for: size)
    let largest = variants.indices.max { (one, other) in
      geometries[one].scaled.pixelCount < geometries[other].scaled.pixelCount
    }
    var thumbnails: [EncodedThumbnail] = []
    var thumbHash: ThumbHash?
    for (index, variant) in variants.enumerated() {
      let geometry = geometries[index]
      let renderer = FrameRenderer(of: picture.header, to: geometry, as: variant)
      let rendered = try renderer.rendered(frame.retained(), of: picture)
      if index == largest { thumbHash = try renderer.thumbHash(of: rendered, of: picture) }
      let encoder = ThumbnailEncoder(variant: variant, isDamaged: isDamaged)
      thumbnails.append(try encoder.encode(rendered.image.retained(), from: picture))
    }
    guard let thumbHash else { preconditionFailure("there is at least one variant") }
    return Made(thumbnails: thumbnails, thumbHash: thumbHash, path: .general)
  }

  /// One that several thumbnails are made from is decoded into memory: a loader decodes it once. A
  /// large one is scaled to the largest thumbnail on the way.
  private func frame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> Image {
    let frame = try picture.firstFrame(for: size)
    guard variants.count > 1 else { return frame }
    do throws(VipsError) {
      let reduced = try frame.preparedForScaling(variants[0].depth)
      guard reduced.isSmallEnoughForMemory else { return try reduced.scaled(to: size).inMemory() }
      return try reduced.inMemory()
    } catch {
      throw picture.reason(for: error)
    }
  }
}

/// The way of an animation to its thumbnail, frame after frame.
struct AnimationDecoder {
  /// A thumbnail, and the hash of the frame that it shows or begins with.
  struct Made {
    let thumbnail: EncodedThumbnail
    let thumbHash: ThumbHash
  }

  let frames: PictureFrames
  /// The opened file.
  let picture: any OpenPicture
  let variant: Variant
  let geometry: ThumbnailGeometry
  private let renderer: FrameRenderer

  init(frames: PictureFrames, picture: any OpenPicture, variant: Variant) {
    self.frames = frames
    self.picture = picture
    // Animations and their posters have 8 bits a sample.
    let variant = variant.inEightBits
    self.variant = variant
    geometry = ThumbnailGeometry(of: picture.header, as: variant)
    renderer = FrameRenderer(of: picture.header, to: geometry, as: variant)
  }

  /// All frames, in WebP or GIF.
  func animation() throws(DecodeError) -> Made {
    let timeline = try frames.timeline()
    let sequence = try frames.sequence()
    var strip = try picture.decoding { () throws(VipsError) in
      try FrameStrip(geometry.padded, capacity: frames.count)
    }
    var thumbHash: ThumbHash?
    for number in 0..<frames.count {
      guard let frame = try renderedFrame(of: sequence) else {
        throw .corrupt("\(number) of \(frames.count) frames can be decoded")
      }
      if thumbHash == nil { thumbHash = try renderer.thumbHash(of: frame, of: picture) }
      try picture.decoding { () throws(VipsError) in try strip.append(frame.image) }
    }
    guard let thumbHash else { throw .corrupt("it has no frame") }
    return Made(thumbnail: try encoded(strip, timeline), thumbHash: thumbHash)
  }

  private func encoded(
    _ strip: consuming FrameStrip, _ timeline: Timeline
  ) throws(DecodeError) -> EncodedThumbnail {
    let encoding = AnimationEncoding(variant.format)
    let bytes: [UInt8]
    do throws(VipsError) {
      bytes = try encoding.encode(strip, timeline, quality: variant.quality)
    } catch {
      throw error.isOutOfMemory ? .outOfMemory : .unencodable(error.description)
    }
    let thumbnail = Thumbnail(
      format: encoding.format, width: geometry.padded.width, height: geometry.padded.height,
      byteCount: bytes.count)
    return EncodedThumbnail(thumbnail: thumbnail, bytes: bytes)
  }

  /// The first frame that is not blank, or else the first frame. Frames are judged as they are shown.
  func poster() throws(DecodeError) -> Made {
    let sequence = try frames.sequence()
    let first = try renderedFrame(of: sequence)
    guard let first else { throw .corrupt("it has no frame") }
    guard first.image.isBlank else { return try encoded(first) }
    while let frame = try renderedFrame(of: sequence) {
      if !frame.image.isBlank { return try encoded(frame) }
    }
    return try encoded(first)
  }

  private func encoded(_ frame: borrowing RenderedFrame) throws(DecodeError) -> Made {
    let encoder = ThumbnailEncoder(variant: variant, isDamaged: false)
    return Made(
      thumbnail: try encoder.encode(frame.image.retained(), from: picture),
      thumbHash: try renderer.thumbHash(of: frame, of: picture))
  }

  private func renderedFrame(of sequence: any FrameSequence) throws(DecodeError) -> RenderedFrame? {
    guard let frame = try sequence.next() else { return nil }
    return try renderer.rendered(frame, of: picture)
  }
}

extension Image {
  /// See ``BlankFrame``. The pixels are those of a thumbnail, in memory.
  fileprivate var isBlank: Bool {
    var isBlank = false
    withSamples { isBlank = BlankFrame.isBlank($0, bandCount: Int(bandCount)) }
    return isBlank
  }
}
