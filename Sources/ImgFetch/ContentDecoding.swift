internal import ImgModel

/// Undoes the content codings of one body (RFC 9110 section 8.4) as it comes in.
///
/// libcurl could do it, but would keep all that a chunk inflates to while its transfer is paused, and
/// lets zstd take 128 MiB. Here a piece that is not taken waits, and so does the rest of its chunk: libcurl
/// hands the chunk over again.
final class ContentDecoding {
  /// The last coding first, because it is undone first.
  private let stages: [DecodingStage]
  private let httpStatus: Int
  private let maximumByteCount: Int
  /// How much of the chunk is decoded.
  private var offset = 0

  /// - Parameters:
  ///   - head: of a response whose body is encoded.
  ///   - maximumByteCount: of the body, and of what comes out between two codings.
  /// - Throws: when there is no memory for it.
  init(_ head: ResponseHead, maximumByteCount: Int) throws(Failure) {
    httpStatus = head.status
    self.maximumByteCount = maximumByteCount
    var stages: [DecodingStage] = []
    for coding in head.codings.applied.reversed() {
      do throws(StreamError) {
        stages.append(try DecodingStage(coding))
      } catch {
        throw Self.failure(error, of: coding, httpStatus: head.status)
      }
    }
    self.stages = stages
  }

  /// Bytes of the body that came out.
  var decodedByteCount: Int { stages.last?.producedByteCount ?? 0 }

  /// The failure of a body that ended where it may not end; `nil` for any other.
  var truncation: Failure? {
    guard let stage = stages.first(where: { !$0.isAtEnd }) else { return nil }
    return Failure(
      stage: .fetch, code: .truncatedBody, httpStatus: httpStatus,
      detail: "the \(stage.coding.rawValue) data of the body ends too early")
  }

  /// Decodes a chunk.
  ///
  /// - Parameter handOn: takes each piece that comes out.
  /// - Returns: ``BodySink/Reception/wait`` if a piece was not taken: the same chunk is to come again.
  func receive(
    _ chunk: UnsafeBufferPointer<UInt8>,
    handOn: (UnsafeBufferPointer<UInt8>) -> BodySink.Reception
  ) -> BodySink.Reception {
    let last = stages.count - 1
    do throws(Failure) {
      while try unsafe fill(last, from: chunk) {
        var reception = BodySink.Reception.taken
        unsafe stages[last].takePending { piece in
          reception = unsafe handOn(piece)
          return if case .taken = reception { piece.count } else { 0 }
        }
        guard case .taken = reception else { return reception }
      }
      offset = 0
      return .taken
    } catch {
      return .stop(.rejected(error))
    }
  }

  /// Decodes until the stage has bytes to take.
  ///
  /// - Returns: `false` when the chunk is used up.
  private func fill(
    _ index: Int, from chunk: UnsafeBufferPointer<UInt8>
  ) throws(Failure) -> Bool {
    let stage = stages[index]
    while !stage.hasPending {
      if stage.mayHoldMore {
        _ = try unsafe decode(UnsafeBufferPointer(start: nil, count: 0), by: stage)
      } else if index > 0 {
        guard try unsafe fill(index - 1, from: chunk) else { return false }
        try unsafe stages[index - 1].takePending { (piece) throws(Failure) in
          try unsafe decode(piece, by: stage)
        }
      } else {
        guard offset < chunk.count else { return false }
        offset += try unsafe decode(UnsafeBufferPointer(rebasing: chunk[offset...]), by: stage)
      }
    }
    return true
  }

  /// - Returns: how many bytes of the input were used.
  private func decode(
    _ input: UnsafeBufferPointer<UInt8>, by stage: DecodingStage
  ) throws(Failure) -> Int {
    let count: Int
    do throws(StreamError) {
      count = try unsafe stage.decode(input)
    } catch {
      throw Self.failure(error, of: stage.coding, httpStatus: httpStatus)
    }
    // What takes the last stage's bytes has the same limit.
    guard stage === stages.last || stage.producedByteCount <= maximumByteCount else {
      throw Failure(
        stage: .fetch, code: .tooLarge, httpStatus: httpStatus,
        detail: "the body is longer than \(maximumByteCount) bytes between two of its codings")
    }
    return count
  }

  private static func failure(
    _ error: StreamError, of coding: ContentCoding, httpStatus: Int
  ) -> Failure {
    func invalid(_ words: String, isRetryable: Bool) -> Failure {
      Failure(
        stage: .fetch, code: .invalidResponse, httpStatus: httpStatus, isRetryable: isRetryable,
        detail: "the body cannot be decoded as \(coding.rawValue): \(words)")
    }
    return switch error {
    // It is likely to be the same the next time.
    case .foreign(let words), .unsupported(let words): invalid(words, isRetryable: false)
    case .broken(let words): invalid(words, isRetryable: true)
    case .outOfMemory:
      Failure(stage: .fetch, code: .outOfMemory, detail: "no memory to decode the body")
    }
  }
}

/// A content coding that bodies are decoded from (RFC 9110 section 8.4.1, RFC 7932, RFC 8878).
enum ContentCoding: String, CaseIterable {
  case gzip, deflate
  case brotli = "br"
  case zstd

  /// - Parameter name: in lower case.
  /// - Returns: `nil` for another coding.
  init?(name: String) {
    // RFC 9110 section 8.4.1.3.
    self.init(rawValue: name == "x-gzip" ? "gzip" : name)
  }

  /// Whether streams may follow each other in one body (RFC 1952 section 2.2, RFC 8878 section 3.1).
  var permitsSeveralStreams: Bool { self == .gzip || self == .zstd }
}

/// What a response says its body is encoded with, by all its `Content-Encoding` fields.
struct ContentCodings: Equatable {
  /// In the order in which they were applied; empty for a body that is the picture itself.
  let applied: [ContentCoding]
  /// Why the body cannot be decoded; `nil` if it can.
  let problem: String?

  /// More would be an attempt to keep this side busy.
  static let maximumCount = 3

  /// What origins write for a body that is not encoded: what RFC 9110 section 12.5.3 calls it, what
  /// libcurl takes for the same, the coding of an upload that Amazon S3 repeats after it has removed it,
  /// and names of what is no coding of a picture.
  private static let namesOfNone: Set = ["", "identity", "none", "aws-chunked", "binary", "utf-8"]

  /// - Parameter members: of all the fields, in their order.
  init(_ members: [String]) {
    let names = members.map { $0.lowercased() }.filter { !Self.namesOfNone.contains($0) }
    applied = names.compactMap(ContentCoding.init(name:))
    if let unknown = names.first(where: { ContentCoding(name: $0) == nil }) {
      let known = ContentCoding.allCases.map(\.rawValue).joined(separator: ", ")
      problem = "Content-Encoding: \(unknown) is not known; \(known) are decoded"
    } else if names.count > Self.maximumCount {
      problem = "Content-Encoding names \(names.count) codings; \(Self.maximumCount) are decoded"
    } else {
      problem = nil
    }
  }

  /// Whether the body is the picture itself.
  var isEmpty: Bool { applied.isEmpty }
}

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
