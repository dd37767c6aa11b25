import CJPEG
import CResample
import Glibc

extension PlanarFrame {
  /// The thumbnail as a JPEG.
  ///
  /// - Parameters:
  ///   - origin: of what is kept.
  ///   - conversion: to sRGB, for a frame in other colours. Its pixels are converted when they are few.
  /// - Throws: ``DecodeError/outOfMemory``.
  func thumbnail(
    to geometry: ThumbnailGeometry, at origin: ThumbnailGeometry.Point,
    from orientation: Orientation, as encoding: JPEGEncoding, _ conversion: ColourConversion?
  ) throws(DecodeError) -> [UInt8] {
    let frame = try resized(
      to: geometry, at: origin, from: orientation,
      pixelsPerChromaSample: conversion == nil ? encoding.pixelsPerChromaSample : 1)
    let bytes =
      if let conversion {
        frame.encoded(encoding, conversion)
      } else {
        frame.encoded(encoding)
      }
    guard let bytes else { throw .outOfMemory }
    return bytes
  }

  /// - Returns: `nil` if there is no memory.
  private func encoded(_ encoding: JPEGEncoding, _ conversion: ColourConversion) -> [UInt8]? {
    let (width, height) = (planes[0].columns.sampleCount, planes[0].rows.sampleCount)
    var pixels = unsafe [UInt8](unsafeUninitializedCapacity: 3 * width * height) { buffer, count in
      guard let first = buffer.baseAddress else { return }
      unsafe img_join_planes(planes.map { unsafe $0.image }, Int32(height), first)
      count = 3 * width * height
    }
    conversion.convert(&pixels, bandCount: 3)
    return unsafe pixels.withUnsafeBufferPointer { buffer in
      unsafe buffer.baseAddress.flatMap {
        unsafe encoding.bytes(ofPixels: $0, width: width, height: height)
      }
    }
  }

  /// - Returns: `nil` if there is no memory. There is no other error, as the planes are ours.
  private func encoded(_ encoding: JPEGEncoding) -> [UInt8]? {
    let blocks = unsafe planes.map { unsafe $0.blocks }
    let (width, height) = (planes[0].columns.sampleCount, planes[0].rows.sampleCount)
    return unsafe encoding.bytes { encoder in
      unsafe img_jpeg_encode_planes(
        &encoder, blocks, Int32(planes.count), Int32(width), Int32(height),
        Int32(encoding.pixelsPerChromaSample), Int32(encoding.quality))
    }
  }
}

/// A frame as luma alone, or as luma and two components of chroma, which may have fewer samples.
struct PlanarFrame {
  /// Luma first.
  let planes: [Plane]

  var shape: PlanarShape {
    PlanarShape(components: planes.map { .init(columns: $0.columns, rows: $0.rows) })
  }

  /// The whole frame in a shape that it can become.
  ///
  /// - Throws: ``DecodeError/outOfMemory``.
  func resampled(to shape: PlanarShape) throws(DecodeError) -> PlanarFrame {
    var resampled: [Plane] = []
    for (plane, component) in zip(planes, shape.components) {
      resampled.append(
        try plane.resampled(
          columns: component.columns, rows: component.rows, for: Orientation(1), blockSide: 1))
    }
    return PlanarFrame(planes: resampled)
  }

  /// The frame as the thumbnail shows it, upright. The frame can become a whole one of that size; see
  /// ``PlanarShape/canBecome(_:)``.
  ///
  /// - Parameters:
  ///   - origin: of what is kept.
  ///   - pixelsPerChromaSample: along both sides, 1 or 2.
  /// - Throws: ``DecodeError/outOfMemory``.
  func resized(
    to geometry: ThumbnailGeometry, at origin: ThumbnailGeometry.Point,
    from orientation: Orientation, pixelsPerChromaSample: Int
  ) throws(DecodeError) -> PlanarFrame {
    var resized: [Plane] = []
    for (index, plane) in planes.enumerated() {
      let pixelsPerSample = index == 0 ? 1 : pixelsPerChromaSample
      let columns = SampledSide(
        length: geometry.scaled.width, showing: origin.left..<origin.left + geometry.kept.width,
        pixelsPerSample: pixelsPerSample)
      let rows = SampledSide(
        length: geometry.scaled.height, showing: origin.top..<origin.top + geometry.kept.height,
        pixelsPerSample: pixelsPerSample)
      // A group of blocks of an encoder has so many samples of this plane.
      let blockSide = 8 * pixelsPerChromaSample / pixelsPerSample
      guard orientation.isTransposed else {
        resized.append(
          try plane.resampled(columns: columns, rows: rows, for: orientation, blockSide: blockSide))
        continue
      }
      resized.append(
        try plane.resampled(columns: rows, rows: columns, for: orientation, blockSide: 1)
          .transposed(blockSide: blockSide))
    }
    return PlanarFrame(planes: resized)
  }
}

/// A picture whose planes of luma and chroma can become those of a JPEG.
protocol PlanarPicture: OpenPicture {
  /// Whether they can, of this one.
  var isPlanar: Bool { get }
  var hasChroma: Bool { get }
  /// To sRGB, from a profile of red, green and blue.
  var conversion: ColourConversion? { get }

  /// The shape that ``planarFrame(for:chroma:)`` is going to have. Nothing is decoded.
  func planarShape(
    for size: ThumbnailGeometry.Size, chroma: ThumbnailGeometry.Size
  ) throws(DecodeError) -> PlanarShape

  /// The frame, as much smaller as a decoder makes it for the sizes that luma and chroma will be scaled to.
  ///
  /// - Throws: also when the pixels show damage.
  func planarFrame(
    for size: ThumbnailGeometry.Size, chroma: ThumbnailGeometry.Size
  ) throws(DecodeError) -> PlanarFrame
}

/// The planes of a picture, decoded once, from which thumbnails of several sizes are resampled.
struct PlanarSource {
  /// A whole picture before it is cropped and encoded.
  struct Target {
    /// As the picture stores it.
    let size: ThumbnailGeometry.Size
    let encoding: JPEGEncoding
    /// Whether its pixels are converted before they are encoded, so that each needs a sample of chroma.
    let isConverted: Bool

    fileprivate var pixelsPerChromaSample: Int {
      isConverted ? 1 : encoding.pixelsPerChromaSample
    }

    /// Samples of chroma along each side, as they are encoded.
    fileprivate var chroma: ThumbnailGeometry.Size {
      let pixels = encoding.pixelsPerChromaSample
      return .init(
        width: (size.width + pixels - 1) / pixels, height: (size.height + pixels - 1) / pixels)
    }
  }

  /// The steps to the shape of a thumbnail.
  private enum Way {
    case atOnce
    /// By way of a frame in the size of the largest thumbnail.
    case reduced(PlanarShape)

    /// - Returns: `nil` where the planes would grow or shrink too much, so that pixels are resized.
    init?(from shape: PlanarShape, to target: Target, reducedTo largest: ThumbnailGeometry.Size) {
      let wanted = shape.scaled(
        to: target.size, pixelsPerChromaSample: target.pixelsPerChromaSample)
      let reduced = shape.scaled(to: largest)
      if shape.canBecome(wanted) {
        self = .atOnce
      } else if shape.canBecome(reduced), reduced.canBecome(wanted) {
        self = .reduced(reduced)
      } else {
        return nil
      }
    }
  }

  /// As it was decoded.
  let frame: PlanarFrame
  private let size: ThumbnailGeometry.Size
  /// In the size of the largest thumbnail, for those that are too small to be resampled at once.
  private var reduced: PlanarFrame?

  /// - Parameter size: of the largest thumbnail, as stored.
  init(
    _ picture: any PlanarPicture, for targets: [Target], decodedFor size: ThumbnailGeometry.Size
  ) throws(DecodeError) {
    self.size = size
    frame = try picture.planarFrame(for: size, chroma: Self.largestChroma(of: targets))
  }

  /// Whether all thumbnails can be resampled from planes that are decoded for `largest`, as stored.
  static func canGive(
    _ targets: [Target], of picture: any PlanarPicture, decodedFor largest: ThumbnailGeometry.Size
  ) throws(DecodeError) -> Bool {
    let shape = try picture.planarShape(for: largest, chroma: largestChroma(of: targets))
    return targets.allSatisfy { Way(from: shape, to: $0, reducedTo: largest) != nil }
  }

  private static func largestChroma(of targets: [Target]) -> ThumbnailGeometry.Size {
    .init(
      width: targets.map(\.chroma.width).max() ?? 1,
      height: targets.map(\.chroma.height).max() ?? 1)
  }

  /// The planes for a thumbnail that ``canGive(_:of:decodedFor:)`` was asked about.
  mutating func frame(for target: Target) throws(DecodeError) -> PlanarFrame {
    switch Way(from: frame.shape, to: target, reducedTo: size) {
    case .atOnce: return frame
    case .reduced(let shape):
      let reduced = if let reduced { reduced } else { try frame.resampled(to: shape) }
      self.reduced = reduced
      return reduced
    case nil: preconditionFailure("such a picture does not stay in planes, see DecodePlan")
    }
  }
}

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

  /// From the range of video to that of JFIF.
  func widenRange(isLuma: Bool) {
    unsafe img_widen_range(image, Int32(rows.sampleCount), isLuma)
  }

  /// For libjpeg.
  var blocks: img_jpeg_plane {
    unsafe img_jpeg_plane(samples: samples, row_stride: rowStride)
  }

  var image: img_samples {
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
      let horizontal = Resampling.known(
        from: columns, to: newColumns, isReversed: orientation.reversesColumns),
      let vertical = Resampling.known(from: rows, to: newRows, isReversed: orientation.reversesRows)
    else { preconditionFailure("such a picture does not stay in planes, see DecodePlan") }
    let result = try Plane(columns: newColumns, rows: newRows, blockSide: blockSide)
    unsafe Resampling.resample(image, rows: vertical, columns: horizontal, to: result.image)
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

/// The samples of each component of a whole frame, luma first.
struct PlanarShape {
  /// The samples of one component.
  struct Component {
    let columns: SampledSide
    let rows: SampledSide
  }

  let components: [Component]

  /// Whether each component can be resampled to that of a frame of another shape.
  func canBecome(_ other: PlanarShape) -> Bool {
    zip(components, other.components).allSatisfy { one, other in
      Resampling.isPossible(from: one.columns, to: other.columns)
        && Resampling.isPossible(from: one.rows, to: other.rows)
    }
  }

  /// The frame in another size.
  ///
  /// - Parameters:
  ///   - pixelsPerChromaSample: along both sides, 1 or 2.
  func scaled(to size: ThumbnailGeometry.Size, pixelsPerChromaSample: Int) -> PlanarShape {
    scaled(to: size) { $0 == 0 ? 1 : pixelsPerChromaSample }
  }

  /// The frame in another size, with about as many samples of chroma for those of luma.
  func scaled(to size: ThumbnailGeometry.Size) -> PlanarShape {
    scaled(to: size) {
      components[$0].columns.sampleCount < components[0].columns.sampleCount ? 2 : 1
    }
  }

  private func scaled(
    to size: ThumbnailGeometry.Size, pixelsPerSample: (Int) -> Int
  ) -> PlanarShape {
    PlanarShape(
      components: components.indices.map { index in
        let pixelsPerSample = pixelsPerSample(index)
        let side = { (length: Int) in
          SampledSide(length: length, showing: 0..<length, pixelsPerSample: pixelsPerSample)
        }
        return Component(columns: side(size.width), rows: side(size.height))
      })
  }
}
