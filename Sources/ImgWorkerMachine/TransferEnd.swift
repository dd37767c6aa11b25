package import ImgModel

/// How a transfer ended.
package struct TransferEnd: Hashable, Sendable {
  package enum Result: Hashable, Sendable {
    case body(BodyFacts)
    case failed(Failure)
    /// The origin answered 304, about the validators that the request named.
    case notModified
    /// Nothing was sent, because the host is in a cooldown.
    case deferred
  }

  /// What is left of a body.
  package enum Leftover: Hashable, Sendable {
    /// Nothing new: a partial body in the store stays valid.
    case unchanged
    /// Nothing, and the origin does not continue the partial body in the store.
    case obsolete
    /// A part that the next transfer can continue; the driver holds it.
    case partial
  }

  package let result: Result
  /// Bytes of bodies that came in now, as against those of earlier transfers that it continued.
  package let freshByteCount: Int
  package let wasRedirected: Bool
  package let timings: Timings
  package let leftover: Leftover
  /// What it says of the network; `nil` if that is nothing out of the ordinary.
  package var sign: NetworkSign?

  package init(
    _ result: Result, freshByteCount: Int = 0, wasRedirected: Bool = false,
    timings: Timings = Timings(), leftover: Leftover = .unchanged, sign: NetworkSign? = nil
  ) {
    self.result = result
    self.freshByteCount = freshByteCount
    self.wasRedirected = wasRedirected
    self.timings = timings
    self.leftover = leftover
    self.sign = sign
  }
}

/// What is known of a whole body.
package struct BodyFacts: Hashable, Sendable {
  package let byteCount: Int
  /// The length that the origin declared for it; `nil` if it declared none.
  package let declaredByteCount: Int?
  /// Bytes of bodies that the origin sent for it, those of redirects and of earlier transfers
  /// included.
  package let receivedByteCount: Int
  package let reuse: AnswerReuse
  /// What it fails with for requests that respect that its origin does not want it used.
  package let optOut: Failure?

  package init(
    byteCount: Int, declaredByteCount: Int? = nil, receivedByteCount: Int, reuse: AnswerReuse,
    optOut: Failure? = nil
  ) {
    self.byteCount = byteCount
    self.declaredByteCount = declaredByteCount
    self.receivedByteCount = receivedByteCount
    self.reuse = reuse
    self.optOut = optOut
  }
}
