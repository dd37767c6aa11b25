package import ImgModel

/// Reads facts of a file that is fetched range by range. Pure: the caller fetches.
///
/// Each range is rounded up, to 4 KiB at first, then four times as much each time up to 1 MiB. At most
/// ``maximumRangeCount`` ranges are asked for, and none behind the end of a file whose length is
/// known. Where a file ends early, or would need more, the facts of a smaller extent count; of a GIF
/// or WebP those before its end. A file that is at hand as a whole is read to its end. With all facts
/// comes a verdict on the pixels, see ``FactsRecord/Status``.
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
  private let asksForPixels: Bool
  private let maximumByteCount: Int
  private var step = firstStep
  private var mayFetch = true
  /// Whether the file has turned out to end early.
  private var toleratesCut = false
  /// What the file as a whole tells of its pixels; `nil` unless that was asked for.
  private var evidence: PixelEvidence?

  /// - Parameters:
  ///   - byteCount: of the whole file, if that is known.
  ///   - maximumByteCount: no range is asked for when so many bytes are at hand, and none that
  ///     has to be longer.
  package init(_ extent: FactsExtent, byteCount: Int? = nil, maximumByteCount: Int = 16 << 20) {
    self.extent = extent
    asksForPixels = extent == .all
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
        if asksForPixels { evidence = try pixelEvidence(of: facts) }
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

  /// - Returns: `nil` where the walk through the file has told it.
  private func pixelEvidence(of facts: PictureFacts) throws(FactsError) -> PixelEvidence? {
    guard shortfall == nil else { return shortfall == .truncated ? evidence(ofCut: facts) : nil }
    guard PixelEvidence.isSought(in: facts.format) else { return nil }
    guard let byteCount = bytes.knownByteCount else {
      let missing = bytes.missing(in: 0..<ByteWindow.maximumFileByteCount)
      let end = missing?.lowerBound ?? ByteWindow.maximumFileByteCount
      throw .needsBytes(end..<end + 1)
    }
    return try PixelEvidence(in: ByteWindow(bytes), of: facts, byteCount: byteCount)
  }

  /// A still that ends among its pixels, or behind them without its last mark, may have them all.
  private func evidence(ofCut facts: PictureFacts) -> PixelEvidence? {
    guard facts.isAnimated == false else { return nil }
    return switch facts.format {
    case .gif: .short
    case .png: PNGChunks.isCutInPixels(ByteWindow(bytes)) ? .short : nil
    default: nil
    }
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

/// What is stored and reported as the facts of a picture.
package struct FactsRecord: Hashable, Sendable, Codable {
  /// How much of what was asked for could be read.
  package enum Status: String, Sendable, Codable {
    case complete
    /// The file ends before the facts, the pixels or the last frame do.
    case truncated
    /// The file breaks the rules of its format behind its header.
    case damaged
    /// The rest would have taken more bytes or ranges than are fetched, or a decoder that refuses it.
    case limited
  }

  package let status: Status
  /// Whether ``status`` is what counts only if no decoder tells whether the pixels are there. It is not
  /// stored.
  package private(set) var awaitsDecoder = false
  package let facts: PictureFacts
  /// Bytes of the whole file; `nil` if that did not become known.
  package let byteCount: Int?
  /// The media type that the origin declares, in lower case and without parameters.
  package let declaredType: String?
  /// What was computed from the pixels, if that was asked for.
  package let pixels: PixelFacts?
  /// Why the pixels tell nothing, although that was asked for.
  package let pixelsFailure: Failure?

  package init(
    status: Status, awaitsDecoder: Bool = false, facts: PictureFacts, byteCount: Int?,
    declaredType: String? = nil, pixels: PixelFacts? = nil, pixelsFailure: Failure? = nil
  ) {
    self.awaitsDecoder = awaitsDecoder
    self.pixels = pixels
    self.pixelsFailure = pixelsFailure
    self.status = status
    self.facts = facts
    self.byteCount = byteCount
    self.declaredType = declaredType
  }

  private enum CodingKeys: String, CodingKey {
    case status, facts
    case byteCount = "byte_count"
    case declaredType = "declared_type"
    case pixels
    case pixelsFailure = "pixels_failure"
  }

  /// The same with what a decoder tells. Frames that the file tells without one stay.
  ///
  /// - Parameter showsPixels: whether what was computed from the pixels becomes a part of it.
  package func with(
    _ described: Result<PictureDescription, Failure>, showsPixels: Bool = true,
    declaredType: String?
  ) -> FactsRecord {
    let description = try? described.get()
    let reason: Failure? = if case .failure(let failure) = described { failure } else { nil }
    var facts = facts
    if let delays = description?.frameDelays, facts.isAnimated == true, facts.frameDelays == nil {
      facts.setFrames(delays: delays.map(Double.init))
    }
    return FactsRecord(
      status: status(after: described), facts: facts, byteCount: byteCount,
      declaredType: declaredType ?? self.declaredType,
      pixels: showsPixels ? description?.pixels : nil, pixelsFailure: reason)
  }

  /// The verdict of a decoder, which is the one of a thumbnail, too. It reads the first frame alone,
  /// and all of an animated JPEG XL.
  private func status(after described: Result<PictureDescription, Failure>) -> Status {
    switch described {
    case .success(let description):
      guard awaitsDecoder else { return status }
      let lacksFrames =
        facts.format == .jxl && facts.isAnimated == true && description.frameDelays == nil
      return lacksFrames ? .truncated : .complete
    case .failure(let failure) where failure.code == .corruptImage:
      if awaitsDecoder { return .truncated }
      return status == .complete ? .damaged : status
    case .failure: return status
    }
  }
}

extension FactsQuery {
  /// The facts that ``next()`` has given as a record.
  package func record(of facts: PictureFacts, declaredType: String? = nil) -> FactsRecord {
    FactsRecord(
      status: status, awaitsDecoder: evidence == .short || evidence == .unknown, facts: facts,
      byteCount: bytes.knownByteCount, declaredType: declaredType)
  }

  private var status: FactsRecord.Status {
    switch shortfall {
    case nil:
      switch evidence {
      case nil, .whole: .complete
      case .framesCut, .short: .truncated
      case .unknown: .limited
      }
    case .truncated: .truncated
    case .invalid, .notAnImage: .damaged
    case .needsBytes, .unsupported: .limited
    }
  }

  /// Reads a file that is at hand.
  ///
  /// - Parameters:
  ///   - byteCount: of the file; `nil` if that is not known.
  ///   - bytes: returns the bytes of a range, or fewer if the file ends in it or before.
  /// - Throws: a ``Failure`` if the facts cannot be told, and what `bytes` throws.
  package static func record(
    _ extent: FactsExtent, byteCount: Int?, bytes: (Range<Int>) throws(Failure) -> [UInt8]
  ) throws(Failure) -> FactsRecord {
    var query = FactsQuery(extent, byteCount: byteCount)
    while true {
      switch query.next() {
      case .fetch(let range):
        let found = try bytes(range)
        query.insert(found, at: range.lowerBound)
        if found.count < range.count { query.setByteCount(range.lowerBound + found.count) }
      case .facts(let facts, _): return query.record(of: facts)
      case .failed(let error): throw Failure(error)
      }
    }
  }
}

extension Failure {
  /// Why there are no facts of a file.
  package init(_ error: FactsError) {
    let (code, detail): (Code, String) =
      switch error {
      case .notAnImage(let detail): (.notAnImage, detail)
      case .unsupported(let detail): (.unsupportedFormat, detail)
      case .invalid(let detail): (.corruptImage, detail)
      case .truncated: (.corruptImage, "the file ends before the size of the picture")
      case .needsBytes:
        (.corruptImage, "the size of the picture is not where a reader looks for it")
      }
    self.init(stage: .decode, code: code, detail: detail)
  }
}

/// The parts of a file that have been fetched so far.
package struct PartialBytes: ByteSource, Sendable {
  private struct Part: Sendable {
    let offset: Int
    var bytes: [UInt8]
    var end: Int { offset + bytes.count }
  }

  /// Sorted by offset. Neither do they overlap, nor do they touch each other.
  private var parts: [Part] = []
  package private(set) var knownByteCount: Int?

  /// - Parameter byteCount: bytes of the whole file, if that is known.
  package init(byteCount: Int? = nil) {
    knownByteCount = byteCount.map { max(0, $0) }
  }

  /// Bytes at hand.
  package var heldByteCount: Int { parts.reduce(0) { $0 + $1.bytes.count } }

  /// Records how long the file is. What lies behind its end is removed.
  package mutating func setByteCount(_ count: Int) {
    let count = max(0, count)
    knownByteCount = count
    parts = parts.compactMap { part in
      guard part.end > count else { return part }
      guard part.offset < count else { return nil }
      return Part(offset: part.offset, bytes: Array(part.bytes.prefix(count - part.offset)))
    }
  }

  /// Adds bytes. Where some are at hand already, the earlier ones stay.
  ///
  /// - Parameter offset: of the first byte; negative ones are ignored.
  package mutating func insert(_ bytes: [UInt8], at offset: Int) {
    guard offset >= 0, offset <= ByteWindow.maximumFileByteCount else { return }
    let limit = (knownByteCount ?? ByteWindow.maximumFileByteCount) - offset
    guard limit > 0, !bytes.isEmpty else { return }
    var added = Part(offset: offset, bytes: bytes.count > limit ? Array(bytes[..<limit]) : bytes)
    // Those that overlap or touch the new part become one with it.
    let first = parts.firstIndex { $0.end >= added.offset } ?? parts.endIndex
    let last = parts.lastIndex { $0.offset <= added.end }.map { $0 + 1 } ?? 0
    guard first < last else {
      parts.insert(added, at: first)
      return
    }
    for part in parts[first..<last] { added = Self.union(part, added) }
    parts.replaceSubrange(first..<last, with: [added])
  }

  private static func union(_ earlier: Part, _ added: Part) -> Part {
    var union = earlier
    if added.offset < earlier.offset {
      union = Part(
        offset: added.offset,
        bytes: Array(added.bytes[..<(earlier.offset - added.offset)]) + earlier.bytes)
    }
    if added.end > union.end { union.bytes += added.bytes[(union.end - added.offset)...] }
    return union
  }

  package func bytes(in range: Range<Int>) -> [UInt8]? {
    guard !range.isEmpty else { return [] }
    guard let part = part(holding: range.lowerBound), range.upperBound <= part.end else {
      return nil
    }
    return Array(part.bytes[range.lowerBound - part.offset..<range.upperBound - part.offset])
  }

  /// The first bytes of a range that are missing, up to where some are at hand or the range ends; `nil`
  /// when none is missing.
  package func missing(in range: Range<Int>) -> Range<Int>? {
    let start = part(holding: range.lowerBound)?.end ?? range.lowerBound
    guard start < range.upperBound else { return nil }
    let next = parts.first { $0.offset > start }
    return start..<min(range.upperBound, next?.offset ?? range.upperBound)
  }

  private func part(holding offset: Int) -> Part? {
    var (low, high) = (0, parts.count)
    while low < high {
      let middle = (low + high) / 2
      if parts[middle].end <= offset { low = middle + 1 } else { high = middle }
    }
    guard low < parts.count, parts[low].offset <= offset else { return nil }
    return parts[low]
  }
}
