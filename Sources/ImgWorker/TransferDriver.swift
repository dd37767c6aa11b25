import ImgFacts
import ImgFetch
import ImgModel
import ImgSystem
import ImgWire
import ImgWorkerMachine

/// The transfers of a worker, and what they leave until the machine releases it.
struct TransferDriver {
  let pool: TransferPool
  private var bodies: [TransferID: HeldBody] = [:]
  /// The origins of transfers that fetch a robots.txt.
  private var robotsOrigins: [TransferID: String] = [:]
  /// Transfers of robots.txt have numbers that no lease has.
  private var lastRobotsNumber = UInt64(1) << 63

  init(_ pool: TransferPool) {
    self.pool = pool
  }

  mutating func fetchRobots(of url: ImageURL) {
    lastRobotsNumber += 1
    let id = TransferID(rawValue: lastRobotsNumber)
    robotsOrigins[id] = url.origin
    pool.startRobots(id, of: url)
  }

  // MARK: - What has arrived

  /// How much has arrived of transfers; nothing of one that is not under way.
  func measures(of transfers: [TransferID]) -> [TransferID: TransferMeasure] {
    Dictionary(
      uniqueKeysWithValues: transfers.compactMap { id in
        pool.arrival(of: id).map {
          (id, TransferMeasure(receivedByteCount: $0.byteCount, isHeldUp: $0.isHeldUp))
        }
      })
  }

  /// What has arrived of a picture, for a decoder. Bytes in memory are copied into memory that a decoder
  /// can read.
  ///
  /// - Parameter maximumByteCount: the most that a picture may have.
  /// - Returns: `nil` if nothing has arrived, or there is no memory for it.
  func arrivedPart(of transfer: TransferID, upTo maximumByteCount: Int) -> ArrivedPart? {
    switch pool.arrivedPicture(of: transfer) {
    case .file(let file, let byteCount): return .file(file, byteCount: byteCount)
    case .memory(let bytes):
      guard let memory = try? PictureMemory(maximumByteCount: maximumByteCount),
        bytes.count <= memory.maximumByteCount
      else { return nil }
      memory.put(bytes.span)
      return .memory(memory, byteCount: bytes.count)
    case nil: return nil
    }
  }

  // MARK: - What transfers left

  /// - Precondition: the transfer left a body that is not released.
  subscript(transfer: TransferID) -> HeldBody {
    guard let body = bodies[transfer] else {
      preconditionFailure("transfer \(transfer.rawValue) left no body")
    }
    return body
  }

  mutating func release(_ transfer: TransferID) {
    bodies[transfer] = nil
  }

  /// The end of a transfer. What it left is held from here on.
  mutating func input(of transfer: FinishedTransfer) -> Input {
    if let origin = robotsOrigins.removeValue(forKey: transfer.id) {
      return Input(.robotsFetched(origin: origin, RobotsAnswer(transfer)))
    }
    bodies[transfer.id] = HeldBody(leftBy: transfer, of: pool)
    return Input(
      .transferEnded(transfer.id, TransferEnd(transfer)),
      with: transfer.notModified.map(Input.Payload.notModified) ?? .none)
  }
}

extension TransferEnd {
  init(_ transfer: FinishedTransfer) {
    let leftover: Leftover =
      switch transfer.leftover {
      case .unchanged: .unchanged
      case .obsolete: .obsolete
      case .partial: .partial
      }
    self.init(
      Result(transfer), freshByteCount: transfer.freshByteCount,
      wasRedirected: transfer.wasRedirected, timings: transfer.timings, leftover: leftover)
  }
}

extension TransferEnd.Result {
  fileprivate init(_ transfer: FinishedTransfer) {
    if transfer.isDeferred {
      self = .deferred
    } else if transfer.notModified != nil {
      self = .notModified
    } else {
      switch transfer.result {
      case .success(let body):
        self = .body(
          BodyFacts(
            byteCount: body.content.byteCount, declaredByteCount: body.declaredByteCount,
            receivedByteCount: transfer.bytesReceived, reuse: body.reuse, optOut: body.optOut))
      case .failure(let failure): self = .failed(failure)
      }
    }
  }
}

extension RobotsAnswer {
  /// What a file says, and what it means if there is none (RFC 9309 section 2.3.1): an origin that has
  /// none permits everything, one that does not answer as it should permits nothing for now.
  init(_ transfer: FinishedTransfer) {
    switch transfer.result {
    case .success(let body):
      // So short a body is in memory.
      self = .rules(RobotsRules(parsing: (try? body.content.bytes()) ?? []))
    case .failure(let failure) where failure.meansNoRobots: self = .rules(RobotsRules.none)
    case .failure(let failure): self = .unavailable(failure, isDeferred: transfer.isDeferred)
    }
  }
}

extension Failure {
  /// Whether the origin has no such file, rather than one that is not available now.
  fileprivate var meansNoRobots: Bool {
    code == .tooManyRedirects
      || (code == .httpStatus && !isRetryable && (200..<500).contains(httpStatus ?? 0))
  }
}

/// What a transfer left: a body, or a part of one. It counts against the budgets of the transfer pool
/// for as long as this lives. Bound to the pool's thread.
final class HeldBody {
  private(set) var content: BodyContent
  /// What is known of a partial body; `nil` of a whole one.
  private let resumeState: ResumeState?
  /// The facts of a picture, whose bytes are not held; `nil` for a body.
  let facts: FactsRecord?
  /// The media type that the origin declares.
  let mediaType: String?
  private let charge: BodyCharge
  private let pool: TransferPool

  /// - Returns: `nil` if the transfer left nothing.
  init?(leftBy transfer: FinishedTransfer, of pool: TransferPool) {
    self.pool = pool
    switch (transfer.result, transfer.leftover) {
    case (.success(let body), _):
      (content, charge, resumeState) = (body.content, body.charge, nil)
      (facts, mediaType) = (body.facts, body.mediaType)
    case (.failure, .partial(let partial, let charge)):
      (content, self.charge, resumeState) = (partial.content, charge, partial.resumeState)
      (facts, mediaType) = (nil, nil)
    case (.failure, .unchanged), (.failure, .obsolete): return nil
    }
  }

  /// - Precondition: it is a part of a body.
  var partial: PartialBody {
    guard let resumeState else { preconditionFailure("the body is whole") }
    return PartialBody(content: content, resumeState: resumeState)
  }

  deinit {
    // Transfers that wait for room take it at once, so the bytes go first.
    content = .memory([])
    pool.releaseBody(charge)
  }
}
