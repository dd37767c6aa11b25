import CResample
import CVips

extension Image {
  /// Frames of more bytes are resized by libvips, which needs a few rows at a time.
  private static let maximumFrameByteCount = 64 << 20

  var isSmallEnoughForMemory: Bool {
    hasByteSamples && width * height * Int(bandCount) <= Self.maximumFrameByteCount
  }

  /// A picture in memory in another size; several times as fast as libvips does it.
  ///
  /// - Returns: `nil` for images that libvips must scale: those that are not in memory, have
  ///   transparent pixels or other samples than bytes, and those that grow or shrink very much.
  func resampled(to size: ThumbnailGeometry.Size) throws(VipsError) -> Image? {
    guard (1...4).contains(bandCount), unsafe img_vips_has_bytes_in_memory(pointer) != 0,
      // Transparent pixels have a colour, too, which must not bleed into their neighbours.
      !hasAlpha || isOpaque,
      let rows = Resampling(from: .pixels(height), to: .pixels(size.height)),
      let columns = Resampling(from: .pixels(width), to: .pixels(size.width))
    else { return nil }
    guard
      let result = unsafe img_vips_new_like(pointer, Int32(size.width), Int32(size.height))
    else { throw VipsError(operation: "resize") }
    let image = unsafe Image(owning: result)
    var scratch = [Int16](
      repeating: 0, count: img_resample_scratch_count(Int32(width), bandCount))
    unsafe rows.withPointers { rows in
      unsafe columns.withPointers { columns in
        unsafe img_resample(samples, rows, columns, bandCount, &scratch, image.samples)
      }
    }
    return image
  }

  /// A few pixels that stand for all, as rows of samples; see ``SmallPicture``. The pixels must be bytes in
  /// memory, with transparency in the last of two or four bands.
  func sampleMeans(_ size: ThumbnailGeometry.Size) -> [UInt8] {
    precondition(unsafe img_vips_has_bytes_in_memory(pointer) != 0, "the samples are not there")
    var means = [UInt8](repeating: 0, count: size.width * size.height * Int(bandCount))
    unsafe means.withUnsafeMutableBufferPointer { buffer in
      guard let first = buffer.baseAddress else { return }
      let result = unsafe img_samples(
        samples: first, row_stride: size.width * Int(bandCount), width: Int32(size.width))
      unsafe img_sample_means(
        samples, Int32(height), bandCount, hasAlpha, result, Int32(size.height))
    }
    return means
  }

  /// Whether no pixel lets the background through, of an image of bytes in memory whose last band is
  /// the alpha channel.
  var isOpaque: Bool { unsafe img_is_opaque(samples, Int32(height), bandCount) }

  /// Of an image of bytes in memory. There are no gaps between its rows.
  private var samples: img_samples {
    unsafe img_samples(
      samples: img_vips_pixels(pointer), row_stride: width * Int(bandCount), width: Int32(width))
  }
}
