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
