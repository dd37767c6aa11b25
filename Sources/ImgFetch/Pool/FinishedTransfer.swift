internal import CCurl
package import ImgFacts
package import ImgModel

/// A body that came in whole or, of a text, as far as it is read.
package struct FetchedBody: Sendable {
  /// Of a picture never empty, of its facts always.
  package let content: BodyContent
  /// What the body counts against the pool's budgets, until it is given to
  /// ``TransferPool/releaseBody(_:)``.
  package let charge: BodyCharge
  /// The failure of a request that respects opt-outs, if the origin does not allow the picture's
  /// use.
  package let optOut: Failure?
  package let reuse: AnswerReuse
  /// Of a request for facts, whose content is empty; else `nil`.
  package let facts: FactsRecord?
  /// The length that the origin declared for the body; `nil` if it declared none.
  package let declaredByteCount: Int?
  /// The media type that the origin declares, in lower case and without parameters.
  package let mediaType: String?
}

/// How a transfer ended.
package struct FinishedTransfer: Sendable {
  /// The number the transfer was started with.
  package let id: TransferID
  package let result: Result<FetchedBody, Failure>
  /// Bytes of bodies that came in, those of an error's page among them, and those of the earlier
  /// transfers whose partial body it resumed.
  package let bytesReceived: Int
  /// Of them, those that came in now; the others were counted when their transfers ended.
  package let freshByteCount: Int
  /// Whether a redirect was followed before it ended.
  package let wasRedirected: Bool
  /// Without those of what comes after the transfer.
  package let timings: Timings
  package let leftover: Leftover
  /// Set after a 304 about the stored response. ``result`` is then a failure.
  package let notModified: NotModified?
  /// Whether the request was not sent, or not again, because its host is in its cooldown, see
  /// ``TransferPool/takeCooldowns()``.
  package var isDeferred = false
}

extension FinishedTransfer {
  /// The end of one that never began, or could not continue.
  static func refused(
    _ id: TransferID, _ failure: Failure, after history: TransferHistory = TransferHistory()
  ) -> FinishedTransfer {
    FinishedTransfer(
      id: id, result: .failure(failure), bytesReceived: history.bodyByteCount,
      freshByteCount: history.bodyByteCount - history.resumedByteCount,
      wasRedirected: history.isRedirected, timings: history.timings, leftover: .unchanged,
      notModified: nil)
  }

  /// The end of one whose host is in its cooldown.
  static func deferred(_ id: TransferID, _ request: TransferRequest) -> FinishedTransfer {
    var transfer = refused(id, .coolingDown(request.host), after: request.history)
    transfer.isDeferred = true
    return transfer
  }

  /// What of it is handed out, and is given back later.
  var charge: BodyCharge? {
    switch (result, leftover) {
    case (.success(let body), _): body.charge
    case (.failure, .partial(_, let charge)): charge
    case (.failure, .unchanged), (.failure, .obsolete): nil
    }
  }
}

extension Failure {
  /// Of a request that was not sent, because its host is in its cooldown.
  static func coolingDown(_ host: String) -> Failure {
    Failure(
      stage: .fetch, code: .httpStatus, isRetryable: true,
      detail: "\(host) sent Retry-After, and the time has not passed")
  }
}
