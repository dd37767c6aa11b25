import CResample
import Glibc
import Synchronization

/// How the samples along one side of an image are computed from those of another: the Lanczos kernel
/// with three lobes, as weights in whole numbers.
struct Resampling: Sendable {
  /// The samples of the source that count for one of the result.
  let tapCount: Int
  /// For each sample of the result, the first of the source that counts.
  private(set) var starts: [Int32]
  /// For each sample of the result, `tapCount` weights with the sum ``one``, followed by zeros up to
  /// ``weightStride``.
  private(set) var weights: [Int16]
  let weightStride: Int

  static let one = 1 << Int(IMG_WEIGHT_BITS)

  /// Above it, the weights are too small for whole numbers. Below it, some other method is better.
  static let factors = 0.25...64.0

  /// Whether a side of a whole picture can become another: it neither grows nor shrinks too much.
  static func isPossible(from source: SampledSide, to result: SampledSide) -> Bool {
    factors.contains(Places(source: source, result: result, isReversed: false).factor)
  }

  /// Of the sides that were resampled last. Most pictures come in few sizes, and to compute weights takes about as
  /// long as to resample a plane of chroma.
  private static let known = LRUCache<Places, Resampling>(capacity: 64)
  /// Those of longer sides are not kept. The others take 8 MiB at most.
  private static let maximumKnownSide = 8_192

  /// The same as ``init(from:to:isReversed:)``, which is called once for the sides that were asked for last.
  static func known(
    from source: SampledSide, to result: SampledSide, isReversed: Bool = false
  ) -> Resampling? {
    guard source.sampleCount <= maximumKnownSide else {
      return Resampling(from: source, to: result, isReversed: isReversed)
    }
    return known.value(for: Places(source: source, result: result, isReversed: isReversed)) {
      Resampling(from: source, to: result, isReversed: isReversed)
    }
  }

  /// - Parameter isReversed: whether the result shows the source from its end to its start.
  /// - Returns: `nil` where ``isPossible(from:to:)`` says no.
  init?(from source: SampledSide, to result: SampledSide, isReversed: Bool = false) {
    guard Self.isPossible(from: source, to: result) else { return nil }
    let places = Places(source: source, result: result, isReversed: isReversed)
    let kernel = LanczosKernel(factor: places.factor)
    let reach = places.areThoseOfSamples ? 0 : kernel.reach
    let tapCount = min(2 * reach + 1, source.sampleCount)
    self.tapCount = tapCount
    let alignment = Int(IMG_WEIGHT_ALIGNMENT)
    weightStride = (tapCount + alignment - 1) / alignment * alignment
    starts = []
    starts.reserveCapacity(result.sampleCount)
    weights = [Int16](repeating: 0, count: weightStride * result.sampleCount)
    var shares = [Double](repeating: 0, count: tapCount)
    for index in 0..<result.sampleCount {
      let place = places[index]
      let first = Int(place.rounded()) - reach
      let start = min(max(first, 0), source.sampleCount - tapCount)
      starts.append(Int32(start))
      for share in shares.indices { shares[share] = 0 }
      for tap in first...first + 2 * reach {
        // The samples at the edge of the source count for those that would lie beyond it.
        shares[min(max(tap - start, 0), tapCount - 1)] += kernel.value(at: Double(tap) - place)
      }
      setWeights(of: index, to: shares)
    }
  }

  private mutating func setWeights(of index: Int, to shares: [Double]) {
    let scale = Double(Self.one) / shares.reduce(0, +)
    let first = index * weightStride
    var rest = Self.one
    var largest = first
    for (tap, share) in shares.enumerated() {
      // rounded() is a call on x86-64.
      let weight = Int16(share * scale + (share < 0 ? -0.5 : 0.5))
      weights[first + tap] = weight
      rest -= Int(weight)
      if weight > weights[largest] { largest = first + tap }
    }
    // The rest goes where it matters least, so that a plain area keeps its colour.
    weights[largest] += Int16(rest)
  }
}

/// Where the samples of a result lie in its source.
private struct Places: Equatable {
  let source: SampledSide
  let result: SampledSide
  let isReversed: Bool

  /// The pixels of the source for each of the result.
  private var scale: Double { Double(source.length) / Double(result.length) }

  /// The samples of the source for each of the result.
  var factor: Double { scale * result.pixelsPerSample / source.pixelsPerSample }

  subscript(index: Int) -> Double {
    let place = result.place(of: index) * scale
    return source.sample(at: isReversed ? Double(source.length) - place : place)
  }

  /// Whether each lies on a sample, so that nothing must be computed.
  var areThoseOfSamples: Bool {
    factor == 1 && (0..<result.sampleCount).allSatisfy { self[$0] == self[$0].rounded() }
  }
}

/// Weights by distance, for a result with `factor` times fewer samples.
private struct LanczosKernel {
  private static let lobeCount = 3.0
  private static let stepsPerLobe = 1024.0
  /// Computed once: the sines took longer than to encode a small picture.
  private static let values = (0...Int(lobeCount * stepsPerLobe) + 1).map { step in
    lanczos(Double(step) / stepsPerLobe)
  }

  private let scale: Double
  /// The samples on each side that count.
  let reach: Int

  init(factor: Double) {
    // Where the result has more samples, the kernel interpolates.
    scale = max(factor, 1)
    reach = Int((Self.lobeCount * scale).rounded(.up))
  }

  func value(at distance: Double) -> Double {
    let step = abs(distance) / scale * Self.stepsPerLobe
    guard step < Self.lobeCount * Self.stepsPerLobe else { return 0 }
    let index = Int(step)
    let share = step - Double(index)
    return Self.values[index] * (1 - share) + Self.values[index + 1] * share
  }

  private static func lanczos(_ x: Double) -> Double {
    guard x != 0 else { return 1 }
    guard abs(x) < lobeCount else { return 0 }
    return lobeCount * sin(.pi * x) * sin(.pi * x / lobeCount) / (.pi * .pi * x * x)
  }
}

extension Resampling {
  static let hasWideVectors = img_has_wide_vectors()

  /// Computes all samples of a result.
  ///
  /// - Parameters:
  ///   - bandCount: the samples of a pixel, 1 to 4.
  ///   - result: as large as `rows` and `columns` say.
  static func resample(
    _ source: img_samples, rows: Resampling, columns: Resampling, bandCount: Int32 = 1,
    to result: img_samples, inWideVectors: Bool = hasWideVectors
  ) {
    var scratch = [Int16](
      repeating: 0, count: unsafe img_resample_scratch_count(source.width, bandCount))
    unsafe rows.withPointers { rows in
      unsafe columns.withPointers { columns in
        unsafe img_resample(source, rows, columns, bandCount, inWideVectors, &scratch, result)
      }
    }
  }

  /// For the duration of a call, in the form that the loops in C read.
  private func withPointers(_ body: (img_resampling) -> Void) {
    unsafe starts.withUnsafeBufferPointer { starts in
      unsafe weights.withUnsafeBufferPointer { weights in
        guard let first = starts.baseAddress, let weight = weights.baseAddress else { return }
        unsafe body(
          img_resampling(
            starts: first, weights: weight, tap_count: Int32(tapCount),
            weight_stride: Int32(weightStride), count: Int32(starts.count)))
      }
    }
  }
}

/// The upper left corner of a rectangle, cut by a quarter of a circle.
struct RoundCorner {
  let radius: Int

  /// How much of a pixel is inside, from 0 to 1: by the distance of its middle from the circle, which
  /// differs from the area by less than the eye sees.
  func coverage(row: Int, column: Int) -> Double {
    let x = Double(radius) - Double(column) - 0.5
    let y = Double(radius) - Double(row) - 0.5
    let distance = (x * x + y * y).squareRoot()
    return min(max(Double(radius) - distance + 0.5, 0), 1)
  }
}

/// The samples along one side of a picture: rows or columns, of pixels or of a component that has
/// fewer of them.
struct SampledSide: Equatable {
  /// Of the whole picture, in pixels.
  let length: Int
  /// The pixels that the samples show.
  let shown: Range<Int>
  let sampleCount: Int
  /// The pixels that a sample stands for. The last sample may reach beyond those that are shown.
  let pixelsPerSample: Double

  /// A part of a picture in as many samples as it needs.
  init(length: Int, showing shown: Range<Int>, pixelsPerSample: Int = 1) {
    self.init(
      length: length, showing: shown,
      sampleCount: (shown.count + pixelsPerSample - 1) / pixelsPerSample,
      pixelsPerSample: Double(pixelsPerSample))
  }

  /// A whole picture in that number of samples.
  init(length: Int, sampleCount: Int, pixelsPerSample: Double) {
    self.init(
      length: length, showing: 0..<length, sampleCount: sampleCount,
      pixelsPerSample: pixelsPerSample)
  }

  private init(length: Int, showing shown: Range<Int>, sampleCount: Int, pixelsPerSample: Double) {
    self.length = length
    self.shown = shown
    self.sampleCount = sampleCount
    self.pixelsPerSample = pixelsPerSample
  }

  /// A whole picture, one sample a pixel.
  static func pixels(_ length: Int) -> SampledSide { .init(length: length, showing: 0..<length) }

  /// The place of a sample, in pixels: the middle of those that it stands for and that are shown.
  func place(of index: Int) -> Double {
    let first = Double(shown.lowerBound) + Double(index) * pixelsPerSample
    return (first + min(first + pixelsPerSample, Double(shown.upperBound))) / 2
  }

  /// The sample at a place of a whole picture, as a fraction between two.
  func sample(at place: Double) -> Double {
    let last = sampleCount - 1
    guard last > 0 else { return 0 }
    let placeBefore = self.place(of: last - 1)
    guard place > placeBefore else { return place / pixelsPerSample - 0.5 }
    return Double(last - 1) + (place - placeBefore) / (self.place(of: last) - placeBefore)
  }
}

/// The values that were computed last, by their keys. The one that was not asked for longest makes room.
struct LRUCache<Key: Equatable & Sendable, Value: Sendable>: ~Copyable {
  private let capacity: Int
  /// The one that was asked for last comes first. They are few: each is compared.
  private let entries = Mutex<[(key: Key, value: Value)]>([])

  init(capacity: Int) { self.capacity = capacity }

  /// - Parameter compute: may be called by several threads for the same key.
  func value(for key: Key, _ compute: () -> Value?) -> Value? {
    let known = entries.withLock { entries -> Value? in
      guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
      if index > 0 { entries.insert(entries.remove(at: index), at: 0) }
      return entries[0].value
    }
    if let known { return known }
    guard let value = compute() else { return nil }
    entries.withLock { entries in
      if entries.count >= capacity { entries.removeLast() }
      entries.insert((key, value), at: 0)
    }
    return value
  }
}
