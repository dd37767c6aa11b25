import CJPEG
import CResample
import Glibc

/// The samples of one component of a picture, 8 bits each.
@safe final class Plane {
  let columns: SampledSide
  let rows: SampledSide
  private let samples: UnsafeMutablePointer<UInt8>
  private let rowStride: Int
  private let rowCount: Int

  /// Memory whose content is yet to be written.
  ///
  /// - Parameters:
  ///   - rowStride: the bytes from one row to the next, at least one for each column.
  ///   - rowCount: the rows in memory, at least those of the picture.
  /// - Throws: ``DecodeError/outOfMemory``.
  init(columns: SampledSide, rows: SampledSide, rowStride: Int, rowCount: Int) throws(DecodeError) {
    guard let memory = unsafe malloc(rowStride * rowCount) else { throw .outOfMemory }
    unsafe samples = memory.bindMemory(to: UInt8.self, capacity: rowStride * rowCount)
    self.columns = columns
    self.rows = rows
    self.rowStride = rowStride
    self.rowCount = rowCount
  }

  deinit {
    unsafe free(samples)
  }

  /// For libjpeg.
  var blocks: img_jpeg_plane {
    unsafe img_jpeg_plane(samples: samples, row_stride: rowStride)
  }

  private var image: img_samples {
    unsafe img_samples(samples: samples, row_stride: rowStride, width: Int32(columns.sampleCount))
  }

  /// The part and the number of samples that are asked for; ``Resampling/isPossible(from:to:)`` both ways.
  ///
  /// - Parameters:
  ///   - orientation: which sides the result shows from their end to their start.
  ///   - blockSide: the rows and columns in memory become a multiple of it; what is beyond the picture
  ///     repeats its edge.
  /// - Throws: ``DecodeError/outOfMemory``.
  func resampled(
    columns newColumns: SampledSide, rows newRows: SampledSide, for orientation: Orientation,
    blockSide: Int
  ) throws(DecodeError) -> Plane {
    guard
      let horizontal = Resampling(
        from: columns, to: newColumns, isReversed: orientation.reversesColumns),
      let vertical = Resampling(from: rows, to: newRows, isReversed: orientation.reversesRows)
    else { preconditionFailure("such a picture does not stay in planes, see DecodePlan") }
    let result = try Plane(columns: newColumns, rows: newRows, blockSide: blockSide)
    var scratch = [Int16](
      repeating: 0, count: img_resample_scratch_count(Int32(columns.sampleCount), 1))
    unsafe vertical.withPointers { rows in
      unsafe horizontal.withPointers { columns in
        unsafe img_resample(image, rows, columns, 1, &scratch, result.image)
      }
    }
    result.repeatEdges()
    return result
  }

  /// A few samples that stand for all; see ``SmallPicture``.
  func sampleMeans(_ size: ThumbnailGeometry.Size) -> [UInt8] {
    var means = [UInt8](repeating: 0, count: size.width * size.height)
    unsafe means.withUnsafeMutableBufferPointer { buffer in
      guard let first = buffer.baseAddress else { return }
      let result = unsafe img_samples(
        samples: first, row_stride: size.width, width: Int32(size.width))
      unsafe img_sample_means(
        image, Int32(rows.sampleCount), 1, false, result, Int32(size.height))
    }
    return means
  }

  /// With rows in place of columns. Rows and columns in memory stay multiples of `blockSide`.
  ///
  /// - Throws: ``DecodeError/outOfMemory``.
  func transposed(blockSide: Int) throws(DecodeError) -> Plane {
    let result = try Plane(columns: rows, rows: columns, blockSide: blockSide)
    unsafe img_transpose(image, Int32(rows.sampleCount), result.image)
    result.repeatEdges()
    return result
  }

  private convenience init(
    columns: SampledSide, rows: SampledSide, blockSide: Int
  ) throws(DecodeError) {
    let whole = { (count: Int) in (count + blockSide - 1) / blockSide * blockSide }
    try self.init(
      columns: columns, rows: rows, rowStride: whole(columns.sampleCount),
      rowCount: whole(rows.sampleCount))
  }

  private func repeatEdges() {
    unsafe img_repeat_edges(image, Int32(rows.sampleCount), Int32(rowCount))
  }
}

@available(*, unavailable)
extension Plane: Sendable {}
