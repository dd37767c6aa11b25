package import ImgModel

/// What is stored and reported as the facts of a picture.
package struct FactsRecord: Hashable, Sendable, Codable {
  /// How much of what was asked for could be read.
  package enum Status: String, Sendable, Codable {
    case complete
    /// The file ends before the facts do.
    case truncated
    /// The file breaks the rules of its format behind its header.
    case damaged
    /// The rest would have taken more bytes or ranges than are fetched.
    case limited
  }

  package let status: Status
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
    status: Status, facts: PictureFacts, byteCount: Int?, declaredType: String? = nil,
    pixels: PixelFacts? = nil, pixelsFailure: Failure? = nil
  ) {
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
  package func with(
    _ described: Result<PictureDescription, Failure>, declaredType: String?
  ) -> FactsRecord {
    let description = try? described.get()
    let reason: Failure? = if case .failure(let failure) = described { failure } else { nil }
    var facts = facts
    if let delays = description?.frameDelays, facts.isAnimated == true, facts.frameDelays == nil {
      facts.setFrames(delays: delays.map(Double.init))
    }
    return FactsRecord(
      status: status, facts: facts, byteCount: byteCount,
      declaredType: declaredType ?? self.declaredType, pixels: description?.pixels,
      pixelsFailure: reason)
  }
}

extension FactsQuery {
  /// The facts that ``next()`` has given as a record.
  package func record(of facts: PictureFacts, declaredType: String? = nil) -> FactsRecord {
    FactsRecord(
      status: status, facts: facts, byteCount: bytes.knownByteCount, declaredType: declaredType)
  }

  private var status: FactsRecord.Status {
    switch shortfall {
    case nil: .complete
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
