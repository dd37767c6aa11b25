/// What a transfer starts from.
enum TransferStart {
  /// Nothing. With validators, the origin sends nothing either if what they are of still holds.
  case whole(unlessMatching: Validators? = nil)
  /// A partial body of an earlier transfer: only the rest is requested.
  case partial(PartialBody)
  /// Nothing, because the origin did not resume the partial body.
  case restart

  var validators: Validators? {
    if case .whole(let validators) = self { validators } else { nil }
  }

  /// The part of it that a URL is asked with: a validator goes only to the URL that issued it.
  ///
  /// - Parameter issuer: the name of the URL as an issuer, see ``TransferRequest/issuer(_:)``.
  func sent(to issuer: ValidatorIssuer) -> TransferStart {
    switch self {
    case .whole(let validators?) where !issuer.is(validators.issuer): .whole()
    case .partial(let partial) where !issuer.is(partial.resumeState.issuer): .whole()
    case .whole, .partial, .restart: self
    }
  }

  /// Bytes of bodies that the origin has already sent for the partial body.
  var earlierByteCount: Int {
    if case .partial(let partial) = self { partial.resumeState.receivedByteCount } else { 0 }
  }

  /// The header lines that it adds to the request.
  var requestFields: [String] {
    switch self {
    case .whole(let validators): validators.map { [$0.condition] } ?? []
    case .partial(let partial):
      partial.resumeState.requestFields(from: partial.content.byteCount)
    case .restart: []
    }
  }
}
