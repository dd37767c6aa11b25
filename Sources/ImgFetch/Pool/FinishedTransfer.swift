package import ImgModel

/// A body that came in whole or, of a text, as far as it is read.
package struct FetchedBody: Sendable {
  /// Of a picture never empty.
  package let content: BodyContent
  package let httpStatus: Int
  /// The URL that answered, after redirects.
  package let effectiveURL: String
  /// The header as the origin wrote it; not to be believed.
  package let contentType: String?
  /// What the body counts against the pool's budgets, until it is given to
  /// ``TransferPool/releaseBody(_:)``.
  package let charge: BodyCharge
  /// What it fails with for those who respect that the origin does not want it used; `nil` when the
  /// origin says nothing of the kind.
  package let optOut: Failure?
  package let reuse: AnswerReuse
}

/// How a transfer ended.
package struct FinishedTransfer: Sendable {
  /// The number the transfer was started with.
  package let id: UInt64
  package let result: Result<FetchedBody, Failure>
  /// Bytes of bodies that came in, those of an error's page among them, and those of the earlier
  /// transfers that it went on from.
  package let bytesReceived: Int
  /// Of them, those that came in now; the others were counted when their transfers ended.
  package let freshByteCount: Int
  /// Whether a redirect was followed before it ended.
  package let wasRedirected: Bool
  /// Without those of what comes after the transfer.
  package let timings: Timings
  package let remains: BodyRemains
  /// The answer to the condition that the transfer was started with, if it is that nothing has
  /// changed; for whoever has nothing stored, ``result`` is a failure then.
  package let notModified: NotModified?
  /// Whether nothing was sent, or not again, because the host wants to be left alone for now, see
  /// ``TransferPool/takeCooldowns()``.
  package var isHeldBack = false
}

extension FinishedTransfer {
  /// The end of one that never began, or could not go on.
  static func refused(
    _ id: UInt64, _ failure: Failure, after past: TransferPast = TransferPast()
  ) -> FinishedTransfer {
    FinishedTransfer(
      id: id, result: .failure(failure), bytesReceived: past.bodyByteCount,
      freshByteCount: past.bodyByteCount - past.resumedByteCount,
      wasRedirected: past.isRedirected, timings: past.timings, remains: .nothing,
      notModified: nil)
  }

  /// The end of one whose host wants to be left alone.
  static func heldBack(_ id: UInt64, _ request: TransferRequest) -> FinishedTransfer {
    var transfer = refused(id, .resting(request.host), after: request.past)
    transfer.isHeldBack = true
    return transfer
  }

  /// What of it is handed out, and is to be given back.
  var charge: BodyCharge? {
    switch (result, remains) {
    case (.success(let body), _): body.charge
    case (.failure, .beginning(_, let charge)): charge
    case (.failure, .nothing), (.failure, .useless): nil
    }
  }
}

extension Failure {
  /// Of a request that was not sent, because its host wants to be left alone.
  static func resting(_ host: String) -> Failure {
    Failure(
      stage: .fetch, code: .httpStatus, isRetryable: true,
      detail: "\(host) wants to be left alone for now")
  }
}
