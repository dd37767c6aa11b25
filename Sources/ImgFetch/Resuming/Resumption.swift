/// What a transfer begins with.
enum TransferStart {
  /// Nothing; or all there is, if the origin says that it still holds what these are of.
  case zero(unlessMatching: Validators? = nil)
  /// What an earlier one left.
  case beginning(BodyBeginning)
  /// Nothing, because the origin would not go on from what there was, or is not to be asked to.
  case anew

  var resumption: Resumption {
    switch self {
    case .zero: .none
    case .beginning(let beginning): .asked(beginning.mark, from: beginning.content.byteCount)
    case .anew: .declined
    }
  }

  var validators: Validators? {
    if case .zero(let validators) = self { validators } else { nil }
  }

  /// What of it a URL is asked with: a validator goes to the URL that issued it, and to no other.
  ///
  /// - Parameter issuer: what the URL is called as an issuer, see ``TransferRequest/issuer(_:)``.
  func asked(of issuer: ValidatorIssuer) -> TransferStart {
    switch self {
    case .zero(let validators?) where !issuer.is(validators.issuer): .zero()
    case .beginning(let beginning) where !issuer.is(beginning.mark.issuer): .zero()
    case .zero, .beginning, .anew: self
    }
  }

  /// Bytes of bodies that the origin has sent for what it begins with.
  var earlierByteCount: Int {
    switch self {
    case .zero, .anew: 0
    case .beginning(let beginning): beginning.mark.receivedByteCount
    }
  }
}

/// How a transfer stands to what an earlier one left.
enum Resumption {
  /// There was nothing; the whole body is asked for.
  case none
  /// The rest was asked for, and is not answered yet.
  ///
  /// - from: the length of the beginning.
  case asked(BodyMark, from: Int)
  /// The rest comes in; the length of the whole is known.
  case granted(BodyMark, from: Int)
  /// The origin sends the whole body, for whatever reason: the beginning is of no use any more.
  case declined
}

extension BodyMark {
  /// The mark with the length of the whole, if an answer 206 is that of the rest to its very end;
  /// `nil` for one of any other part, of several, or of another body.
  ///
  /// - Parameter byteCount: of the beginning.
  func continued(from byteCount: Int, by head: ResponseHead) -> BodyMark? {
    guard let contentRange = head.range.contentRange, let range = contentRange.range,
      range.lowerBound == byteCount,
      let complete = contentRange.completeLength ?? completeByteCount,
      completeByteCount ?? complete == complete, range.upperBound == complete - 1,
      head.contentLength ?? range.count == range.count,
      head.range.isOfBody(validatedBy: validator)
    else { return nil }
    return BodyMark(
      validator: validator, issuer: issuer, completeByteCount: complete,
      receivedByteCount: receivedByteCount)
  }
}
