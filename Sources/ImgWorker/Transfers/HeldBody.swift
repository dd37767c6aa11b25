import ImgFacts
import ImgFetch

/// What a transfer left: a body, or a part of one. It counts against the budgets of the transfer pool
/// for as long as this lives. Bound to the pool's thread.
final class HeldBody {
  private(set) var content: BodyContent
  /// What is known of a partial body; `nil` of a whole one.
  let resumeState: ResumeState?
  /// The facts of a picture, whose bytes are not held; `nil` for a body.
  let facts: FactsRecord?
  /// The media type that the origin declares.
  let mediaType: String?
  private let charge: BodyCharge
  private let pool: TransferPool

  private init(
    _ content: BodyContent, resumeState: ResumeState?, facts: FactsRecord?, mediaType: String?,
    charge: BodyCharge, pool: TransferPool
  ) {
    self.facts = facts
    self.mediaType = mediaType
    self.content = content
    self.resumeState = resumeState
    self.charge = charge
    self.pool = pool
  }

  convenience init(_ body: FetchedBody, of pool: TransferPool) {
    self.init(
      body.content, resumeState: nil, facts: body.facts, mediaType: body.mediaType,
      charge: body.charge, pool: pool)
  }

  /// - Returns: `nil` if the transfer left nothing.
  convenience init?(leftBy transfer: FinishedTransfer, of pool: TransferPool) {
    switch (transfer.result, transfer.leftover) {
    case (.success(let body), _): self.init(body, of: pool)
    case (.failure, .partial(let partial, let charge)):
      self.init(
        partial.content, resumeState: partial.resumeState, facts: nil, mediaType: nil,
        charge: charge, pool: pool)
    case (.failure, .unchanged), (.failure, .obsolete): return nil
    }
  }

  deinit {
    // Transfers that wait for room take it at once, so the bytes go first.
    content = .memory([])
    pool.releaseBody(charge)
  }
}
