internal import ImgFacts
internal import ImgModel

/// How far a request for the facts of a picture has come. It takes one or more transfers of one URL,
/// each for one range of the file, until the facts are known.
///
/// An origin that sends the whole file instead is read only as far as the facts need it.
struct FactsFetch {
  /// What follows a response.
  enum Step {
    /// Another request.
    case request(FactsFetch)
    /// - head: of the first response, because the later ones may leave out fields.
    case found(FactsRecord, head: ResponseHead)
    case failed(Failure)
  }

  /// Memory that the parts of a file take at most. Few files have so much besides their pixels.
  private static let maximumHeldByteCount = 4 << 20

  private let extent: FactsExtent
  private var query: FactsQuery
  /// What is fetched now.
  private var range = 0..<0
  /// The facts, or why there are none; `nil` as long as ``range`` is needed.
  private var end: FactsQuery.Step?
  private var version: FileVersion?
  private var response: ResponsePart?
  private var hasRestarted = false
  /// Whether parts are asked for. An origin that cannot send them is asked for the whole.
  private var usesRanges = true

  init(_ extent: FactsExtent) {
    self.extent = extent
    query = FactsQuery(extent, maximumByteCount: Self.maximumHeldByteCount)
    advance()
  }

  /// The lines that request the range.
  var requestFields: [String] {
    guard usesRanges else { return [] }
    let condition = version?.head.strongValidator.map { ["If-Range: \($0)"] } ?? []
    return ["Range: bytes=\(range.lowerBound)-\(range.upperBound - 1)"] + condition
  }

  /// What the parts take in memory.
  var heldByteCount: Int { query.bytes.heldByteCount + (response?.pending.count ?? 0) }

  private mutating func advance() {
    let wanted = query.next()
    if case .fetch(let next) = wanted { range = next } else { end = wanted }
  }

  // MARK: - A response

  /// The body of a response begins. Later calls change nothing.
  ///
  /// - Returns: whether it is of use: the range, or the whole file.
  mutating func beginBody(of head: ResponseHead) -> Bool {
    guard response == nil else { return true }
    guard head.status == 206 else {
      // The origin sends no parts, or the file has changed since the first one.
      if version != nil { restart() }
      version = FileVersion(head: head, byteCount: head.decodedLength)
      if let length = head.decodedLength { query.setByteCount(length) }
      response = ResponsePart(offset: 0, end: head.decodedLength, isWhole: true)
      return true
    }
    guard let part = requestedPart(of: head), !isChanged(head) else { return false }
    let length = head.contentRange?.completeLength
    if let length { query.setByteCount(length) }
    version = version ?? FileVersion(head: head, byteCount: length)
    response = ResponsePart(offset: part.lowerBound, end: part.upperBound + 1, isWhole: false)
    return true
  }

  /// The part that a response holds; `nil` for another than was asked for, for several, and for one of
  /// an encoded file: its range counts encoded bytes.
  private func requestedPart(of head: ResponseHead) -> ClosedRange<Int>? {
    guard usesRanges, head.codings.isEmpty, let part = head.contentRange?.range,
      part.lowerBound == range.lowerBound,
      part.upperBound < range.upperBound, head.contentLength ?? part.count == part.count
    else { return nil }
    return part
  }

  private func isChanged(_ head: ResponseHead) -> Bool {
    version.map { !$0.isOf(head, byteCount: head.contentRange?.completeLength) } ?? false
  }

  /// Takes a chunk of the body.
  ///
  /// - Returns: whether to go on. The end of a part is waited for, so that its connection serves the
  ///   next request.
  mutating func take(_ chunk: UnsafeBufferPointer<UInt8>) -> Bool {
    unsafe response?.append(chunk, from: range.lowerBound)
    while let response, end == nil, response.offset >= range.upperBound {
      flush()
      advance()
      guard response.isWhole else { break }
      // What was passed over is not sent again.
      if end == nil, range.lowerBound < response.offset { endFetching() }
    }
    return end == nil || response.map { $0.offset == $0.end } ?? false
  }

  /// No more of the file is fetched.
  mutating func endFetching() {
    guard end == nil else { return }
    flush()
    query.endFetching()
    advance()
  }

  /// The query gets what has come.
  private mutating func flush() {
    guard let response, !response.pending.isEmpty else { return }
    query.insert(response.pending, at: response.offset - response.pending.count)
    self.response?.pending = []
  }

  // MARK: - After a response

  /// What follows a response; `nil` if its end has nothing to do with ranges.
  ///
  /// - Parameters:
  ///   - head: the last one; `nil` without one.
  ///   - isComplete: whether the transfer ended without an error.
  mutating func step(after head: ResponseHead?, isComplete: Bool) -> Step? {
    if end != nil { return conclusion }
    guard let head, isComplete else { return nil }
    switch head.status {
    case 416: return rangeRefused(head)
    case 206 where response == nil && isChanged(head): return restarted
    case 206 where response == nil: return unranged
    case 200..<300: return bodyEnded(head)
    default: return nil
    }
  }

  private mutating func bodyEnded(_ head: ResponseHead) -> Step? {
    // No callback has seen a body without a byte.
    guard beginBody(of: head), let response, response.offset >= response.end ?? 0 else {
      return restarted
    }
    guard response.offset > 0 else {
      return .failed(
        Failure(
          stage: .fetch, code: .notAnImage, httpStatus: head.status,
          detail: "the origin sent an empty body"))
    }
    if response.isWhole {
      query.setByteCount(response.offset)
      endFetching()
    } else if !response.pending.isEmpty {
      flush()
      advance()
    }
    return conclusion
  }

  /// The range lies behind the end of the file (RFC 9110 section 15.5.17).
  private mutating func rangeRefused(_ head: ResponseHead) -> Step? {
    guard version != nil else { return unranged }
    let length = head.contentRange?.completeLength ?? range.lowerBound
    guard length <= range.lowerBound else { return restarted }
    query.setByteCount(length)
    advance()
    return conclusion
  }

  private var conclusion: Step {
    switch end {
    case .facts(let facts, _):
      guard let version else { preconditionFailure("facts come from a response") }
      return .found(
        query.record(of: facts, declaredType: version.head.mediaType), head: version.head)
    case .failed(let error): return .failed(Failure(error))
    case .fetch, nil:
      var next = self
      next.response = nil
      return .request(next)
    }
  }

  /// The file has changed between two ranges: once more from its beginning.
  private var restarted: Step {
    guard !hasRestarted else {
      return .failed(
        Failure(
          stage: .fetch, code: .invalidResponse, isRetryable: true,
          detail: "the file changes while it is read, or its parts do not fit together"))
    }
    var next = self
    next.restart()
    return .request(next)
  }

  /// The origin does not send the part that was asked for: the whole is. `nil` if it was already.
  private var unranged: Step? {
    guard usesRanges else { return nil }
    var next = self
    next.restart()
    next.usesRanges = false
    return .request(next)
  }

  private mutating func restart() {
    query = FactsQuery(extent, maximumByteCount: Self.maximumHeldByteCount)
    (version, response, end) = (nil, nil, nil)
    hasRestarted = true
    advance()
  }
}

/// The state of a file whose parts are fetched one after the other.
struct FileVersion {
  /// Of the response with the first part.
  let head: ResponseHead
  /// Bytes of the whole file, if they are known.
  let byteCount: Int?

  /// Whether a later part is of the same state. A part may leave out fields (RFC 9110 section
  /// 15.3.7), so only what both say is compared.
  func isOf(_ later: ResponseHead, byteCount laterByteCount: Int?) -> Bool {
    if let byteCount, let laterByteCount, byteCount != laterByteCount { return false }
    if let validator = head.strongValidator { return later.isOfBody(validatedBy: validator) }
    return [HeadField.Name.entityTag, .lastModified].allSatisfy { name in
      guard let own = head.caching[name], let other = later.caching[name] else { return true }
      return own == other
    }
  }
}

/// The part of a file that a response holds, and how far it has come.
struct ResponsePart {
  /// Where the next byte lies in the file.
  private(set) var offset: Int
  /// Where the part ends; `nil` if the response does not say so.
  let end: Int?
  /// Whether it is the whole file.
  let isWhole: Bool
  /// The bytes before ``offset`` that are not used yet.
  var pending: [UInt8] = []

  /// - Parameter start: what lies before it is passed over.
  mutating func append(_ chunk: UnsafeBufferPointer<UInt8>, from start: Int) {
    let skipped = min(chunk.count, max(0, start - offset))
    unsafe pending.append(contentsOf: UnsafeBufferPointer(rebasing: chunk[skipped...]))
    offset += chunk.count
  }
}
