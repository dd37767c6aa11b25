import CVips

/// The frames of an animation that is being made, one below the other: that is how libvips' savers
/// take them.
struct FrameStrip: ~Copyable {
  private let image: Image
  private let size: ThumbnailGeometry.Size
  private let capacity: Int
  private var count = 0

  /// - Parameters:
  ///   - size: of a frame.
  ///   - capacity: how many frames there will be.
  /// - Throws: when there is no memory for all of them.
  init(_ size: ThumbnailGeometry.Size, capacity: Int) throws(VipsError) {
    guard let height = Int32(exactly: size.height * capacity), height <= VIPS_MAX_COORD,
      let pointer = unsafe img_vips_new_pixels(
        Int32(size.width), height, Int32(FrameCanvas.bandCount), VIPS_INTERPRETATION_sRGB)
    else { throw .outOfMemory(in: "frames") }
    image = unsafe Image(owning: pointer)
    self.size = size
    self.capacity = capacity
  }

  /// Adds a copy of a frame of that size, in 8-bit sRGB.
  mutating func append(_ frame: borrowing Image) throws(VipsError) {
    precondition(count < capacity && frame.size == size, "a frame fits into the strip")
    let offset = count * size.width * size.height * FrameCanvas.bandCount
    let start = unsafe img_vips_pixels(image.pointer) + offset
    try frame.retained().withAlpha().inMemory().withSamples { samples in
      unsafe samples.withUnsafeBufferPointer { buffer in
        guard let first = buffer.baseAddress else { return }
        unsafe start.update(from: first, count: buffer.count)
      }
    }
    count += 1
  }

  /// All frames, without an alpha channel if no pixel is transparent.
  ///
  /// - Parameters:
  ///   - delays: in milliseconds, one for each frame.
  ///   - loopCount: 0 means forever.
  consuming func animation(delays: [Int], loopCount: Int) throws(VipsError) -> Image {
    precondition(count == capacity && delays.count == count, "every frame is there")
    let numbers = delays.map { Int32(clamping: $0) }
    unsafe vips_image_set_int(image.pointer, VIPS_META_PAGE_HEIGHT, Int32(size.height))
    unsafe vips_image_set_array_int(image.pointer, "delay", numbers, Int32(numbers.count))
    unsafe vips_image_set_int(image.pointer, "loop", Int32(clamping: loopCount))
    return image.isOpaque ? try image.retained().withoutAlpha() : image.retained()
  }
}
