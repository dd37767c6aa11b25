import ImgModel

/// Reads facts of a file that is fetched range by range. Pure: the caller fetches.
///
/// Each range is rounded up, to 4 KiB at first, then four times as much each time up to 1 MiB. At most
/// ``maximumRangeCount`` ranges are asked for, and none behind the end of a file whose length is
/// known. Where a file ends early, or would need more, the facts of a smaller extent count; of a GIF
/// or WebP those before its end. A file that is at hand as a whole is read to its end.
package struct FactsQuery: Sendable {
  package enum Step: Sendable, Equatable {
    /// The caller adds the bytes of this range with ``insert(_:at:)`` as far as the file has them,
    /// and the length of the file if it has learnt it.
    case fetch(Range<Int>)
    /// The facts, and the extent that was reached.
    case facts(PictureFacts, FactsExtent)
    /// Never ``FactsError/needsBytes(_:)`` unless the caller may fetch no more.
    case failed(FactsError)
  }

  package static let maximumRangeCount = 64
  private static let firstStep = 4 << 10
  private static let largestStep = 1 << 20

  package private(set) var bytes: PartialBytes
  /// Ranges asked for.
  package private(set) var rangeCount = 0
  /// Why the facts are of a smaller extent than was asked for; `nil` if they are not.
  package private(set) var shortfall: FactsError?
  private var extent: FactsExtent
  private let maximumByteCount: Int
  private var step = firstStep
  private var mayFetch = true
  /// Whether the file has turned out to end early.
  private var toleratesCut = false

  /// - Parameters:
  ///   - byteCount: of the whole file, if that is known.
  ///   - maximumByteCount: no range is asked for when so many bytes are at hand, and none that
  ///     has to be longer.
  package init(_ extent: FactsExtent, byteCount: Int? = nil, maximumByteCount: Int = 16 << 20) {
    self.extent = extent
    self.maximumByteCount = maximumByteCount
    bytes = PartialBytes(byteCount: byteCount)
  }

  package mutating func setByteCount(_ count: Int) {
    bytes.setByteCount(count)
  }

  package mutating func insert(_ found: [UInt8], at offset: Int) {
    bytes.insert(found, at: offset)
  }

  /// No more ranges are asked for: the facts are those of what is at hand.
  package mutating func endFetching() {
    mayFetch = false
  }

  package mutating func next() -> Step {
    while true {
      do throws(FactsError) {
        let facts = try PictureFacts.reading(bytes, extent, toleratesCut: toleratesCut)
        if shortfall == nil, isShorterThanDeclared(facts) { shortfall = .truncated }
        if let whole = wholeFacts { return .facts(whole, .all) }
        return .facts(facts, extent)
      } catch {
        if case .needsBytes(let range) = error, let larger = rangeToFetch(for: range) {
          return .fetch(larger)
        }
        if shortfall == nil { shortfall = error }
        if error == .truncated, !toleratesCut {
          toleratesCut = true
          continue
        }
        guard let smaller = FactsExtent(rawValue: extent.rawValue - 1) else {
          return .failed(error)
        }
        extent = smaller
      }
    }
  }

  /// The pixels of a WebP are passed over, so that no read notices that they are cut.
  private func isShorterThanDeclared(_ facts: PictureFacts) -> Bool {
    guard facts.format == .webp, let byteCount = bytes.knownByteCount,
      let chunks = try? WebPChunks(file: ByteWindow(bytes))
    else { return false }
    return byteCount < chunks.end
  }

  /// The facts of a file that is at hand as a whole: they cost no range.
  private var wholeFacts: PictureFacts? {
    guard extent == .metadata, shortfall == nil, bytes.heldByteCount == bytes.knownByteCount
    else { return nil }
    return try? PictureFacts.reading(bytes, .all)
  }

  private mutating func rangeToFetch(for needed: Range<Int>) -> Range<Int>? {
    guard mayFetch, rangeCount < Self.maximumRangeCount, bytes.heldByteCount < maximumByteCount,
      let missing = bytes.missing(in: needed), missing.count <= maximumByteCount
    else { return nil }
    let end = max(missing.upperBound, missing.lowerBound + step)
    rangeCount += 1
    step = min(step * 4, Self.largestStep)
    return bytes.missing(in: missing.lowerBound..<min(end, bytes.knownByteCount ?? end))
  }
}
