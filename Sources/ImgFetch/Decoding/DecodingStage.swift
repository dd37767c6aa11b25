/// One coding of a body, undone piece by piece.
final class DecodingStage {
  /// The largest piece, as long as the largest that libcurl hands over (CURL_MAX_WRITE_SIZE).
  static let pieceByteCount = 16 << 10

  /// Of a stream that may follow another one, at least (RFC 1952 section 2.3, RFC 8878 section 3.1.1).
  private static let signatureByteCount = 4

  private enum Position {
    case betweenStreams, inStream
    /// The last stream has ended. What follows it is passed over, as browsers do.
    case behindStreams
  }

  let coding: ContentCoding
  /// Bytes that came out.
  private(set) var producedByteCount = 0
  private let decoder: any StreamDecoder
  private var position = Position.betweenStreams
  private var streamCount = 0
  /// How much of the stream that is being read has been used.
  private var usedByteCount = 0
  private var piece = [UInt8](repeating: 0, count: pieceByteCount)
  /// The bytes of the piece that are not taken yet.
  private var pending = 0..<0
  /// Whether more may come out without any input, because the piece was full.
  private(set) var mayHoldMore = false

  /// - Throws: when there is no memory for it.
  init(_ coding: ContentCoding) throws(StreamError) {
    self.coding = coding
    decoder = try coding.makeDecoder()
  }

  /// Whether the input so far ends where it may end. A few bytes behind a stream need not be the beginning of
  /// another one.
  var isAtEnd: Bool {
    streamCount > 0 && (position != .inStream || usedByteCount < Self.signatureByteCount)
  }

  var hasPending: Bool { !pending.isEmpty }

  /// Hands over the bytes that are not taken yet.
  ///
  /// - Parameter take: returns how many of them it has taken.
  func takePending<Failure: Error>(
    _ take: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Int
  ) throws(Failure) {
    let count = try unsafe piece.withUnsafeBufferPointer { (all) throws(Failure) in
      try unsafe take(UnsafeBufferPointer(rebasing: all[pending]))
    }
    pending = (pending.lowerBound + count)..<pending.upperBound
  }

  /// Decodes a part of the input.
  ///
  /// - Precondition: nothing is pending.
  /// - Returns: how many bytes of the input were used.
  func decode(_ input: UnsafeBufferPointer<UInt8>) throws(StreamError) -> Int {
    guard position != .behindStreams else { return input.count }
    if position == .betweenStreams, !input.isEmpty { beginStream() }
    let step: DecodingStep
    do throws(StreamError) {
      step = try unsafe piece.withUnsafeMutableBufferPointer { (output) throws(StreamError) in
        try unsafe decoder.decode(input, into: output)
      }
    } catch {
      // What follows a stream need not be another one.
      guard case .foreign = error, streamCount > 0 else { throw error }
      position = .behindStreams
      return input.count
    }
    guard step.isEnd || step.consumedByteCount + step.producedByteCount > 0 || input.isEmpty else {
      throw .broken("it does not go on")
    }
    pending = 0..<step.producedByteCount
    producedByteCount += step.producedByteCount
    usedByteCount += step.consumedByteCount
    mayHoldMore = step.producedByteCount == piece.count
    if step.isEnd { endStream() }
    return step.consumedByteCount
  }

  private func beginStream() {
    if streamCount > 0 { decoder.restart() }
    usedByteCount = 0
    position = .inStream
  }

  private func endStream() {
    streamCount += 1
    position = coding.permitsSeveralStreams ? .betweenStreams : .behindStreams
    mayHoldMore = false
  }
}
