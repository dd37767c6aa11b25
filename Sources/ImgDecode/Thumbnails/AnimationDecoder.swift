import ImgModel

/// The way of an animation to its thumbnail, frame after frame.
struct AnimationDecoder {
  /// A thumbnail, and the hash of the frame that it shows or begins with.
  struct Made {
    let thumbnail: EncodedThumbnail
    let thumbHash: ThumbHash
  }

  /// A frame as the thumbnail shows it, and before it was cropped.
  private struct RenderedFrame: ~Copyable {
    let image: Image
    let scaled: Image
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
    self.variant = variant
    geometry = ThumbnailGeometry(of: picture.header, as: variant)
    renderer = FrameRenderer(of: picture.header, to: geometry, as: variant)
  }

  /// All frames, in WebP or GIF.
  func animation() throws(DecodeError) -> Made {
    let timeline = try frames.timeline()
    let sequence = try frames.sequence()
    var strip = try decoding { () throws(VipsError) in
      try FrameStrip(geometry.kept, capacity: frames.count)
    }
    var thumbHash: ThumbHash?
    for number in 0..<frames.count {
      guard let frame = try renderedFrame(of: sequence) else {
        throw .corrupt("\(number) of \(frames.count) frames can be decoded")
      }
      if thumbHash == nil { thumbHash = try self.thumbHash(of: frame) }
      try decoding { () throws(VipsError) in try strip.append(frame.image) }
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
      format: encoding.format, width: geometry.kept.width, height: geometry.kept.height,
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
      thumbHash: try thumbHash(of: frame))
  }

  private func thumbHash(of frame: borrowing RenderedFrame) throws(DecodeError) -> ThumbHash {
    do throws(VipsError) {
      return try renderer.thumbHash(of: frame.scaled)
    } catch {
      throw picture.reason(for: error)
    }
  }

  private func renderedFrame(of sequence: any FrameSequence) throws(DecodeError) -> RenderedFrame? {
    guard let frame = try sequence.next() else { return nil }
    let size = picture.header.oriented(geometry.scaled)
    do throws(VipsError) {
      let scaled = try renderer.scaled(frame, to: size)
      return RenderedFrame(image: try renderer.finished(scaled), scaled: scaled)
    } catch {
      throw picture.reason(for: error)
    }
  }

  private func decoding<Result: ~Copyable>(
    _ body: () throws(VipsError) -> Result
  ) throws(DecodeError) -> Result {
    do throws(VipsError) {
      return try body()
    } catch {
      throw picture.reason(for: error)
    }
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
