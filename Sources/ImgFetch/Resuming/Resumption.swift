import ImgModel

/// How far one transfer has come with resuming a partial body, and what it leaves for the next one.
struct Resumption {
  /// What the body of a response is.
  enum BodyKind {
    /// What was requested without a partial body, or is already known to be the rest or the whole.
    case expected
    /// The rest of the partial body.
    case rest
    /// The whole body, so the partial one is dropped.
    case whole
    /// Neither: the whole has to be requested by another transfer.
    case unusable
  }

  private enum Stage {
    /// There was no partial body.
    case none
    /// The rest was requested and no byte of a body has come.
    ///
    /// - from: the length of the partial body.
    case requested(ResumeState, from: Int)
    /// The rest comes in; the length of the whole is known.
    case granted(ResumeState, from: Int)
    /// The origin sends the whole body.
    case declined
    /// The body that came is neither the rest nor the whole.
    case unusable
  }

  /// A shorter partial body is not worth a range request.
  static let minimumByteCount = 64 << 10

  private var stage: Stage

  /// - Parameter start: what the URL was asked with.
  init(_ start: TransferStart) {
    stage =
      switch start {
      case .whole: .none
      case .partial(let partial):
        .requested(partial.resumeState, from: partial.content.byteCount)
      case .restart: .declined
      }
  }

  /// The body of a response begins. Later calls change nothing.
  mutating func beginBody(of head: ResponseHead) -> BodyKind {
    guard case .requested(let state, let byteCount) = stage else {
      if case .unusable = stage { return .unusable }
      return .expected
    }
    guard head.status == 206 else {
      stage = .declined
      return .whole
    }
    guard let granted = state.continued(from: byteCount, by: head) else {
      stage = .unusable
      return .unusable
    }
    stage = .granted(granted, from: byteCount)
    return .rest
  }

  /// Whether the origin sends the rest.
  var isGranted: Bool {
    if case .granted = stage { true } else { false }
  }

  /// The length of the whole body, if it is known.
  func completeByteCount(_ head: ResponseHead) -> Int? {
    if case .granted(let state, _) = stage { state.completeByteCount } else { head.decodedLength }
  }

  /// Whether the origin has only said that it does not resume, so that another transfer has to
  /// request the whole.
  ///
  /// - Parameters:
  ///   - status: of the last response; `nil` without one.
  ///   - isComplete: whether the transfer ended without an error.
  func requiresRestart(status: Int?, isComplete: Bool) -> Bool {
    switch stage {
    // A plain request may succeed, whatever the origin has against this one.
    case .requested:
      status.map(Self.isRefusalOfRequest) ?? false || isComplete && status == 206
    case .unusable: true
    case .none, .granted, .declined: false
    }
  }

  /// 416 says that there is no such part; others that the request is wrong, or too long, or lacks
  /// something. 304 answers a condition that was not sent. The excepted statuses, "come later" and
  /// "not found", would be the same for a plain request.
  private static func isRefusalOfRequest(_ status: Int) -> Bool {
    status == 304 || (400..<500).contains(status) && ![404, 408, 410, 425, 429].contains(status)
  }

  /// Whether a body that came in without an error is all of it. libcurl checks that where the
  /// response declares its length.
  func isWhole(byteCount: Int) -> Bool {
    if case .granted(let state, _) = stage { byteCount == state.completeByteCount } else { true }
  }

  // MARK: - What is left

  /// What the transfer of a picture leaves.
  ///
  /// - Parameters:
  ///   - failure: `nil` after success.
  ///   - content: the bytes of the body that are in, the partial body among them.
  ///   - receivedByteCount: bytes of bodies that the origin has sent for it, in all transfers.
  ///   - head: of the last response.
  ///   - issuer: the name of the URL as an issuer.
  func leftover(
    after failure: Failure?, content: BodyContent, charge: BodyCharge, receivedByteCount: Int,
    head: ResponseHead?, issuer: ValidatorIssuer
  ) -> Leftover {
    guard let failure else {
      if case .none = stage { return .unchanged }
      return .obsolete
    }
    if [.truncatedBody, .timeout].contains(failure.code), let head,
      content.byteCount >= Self.minimumByteCount, !head.caching.cacheControl.forbidsStoring,
      let state = nextState(
        byteCount: content.byteCount, receivedByteCount: receivedByteCount, head, issuer)
    {
      return .partial(PartialBody(content: content, resumeState: state), charge)
    }
    switch stage {
    case .none: return .unchanged
    case .declined: return .obsolete
    case .requested, .granted, .unusable: return failure.isRetryable ? .unchanged : .obsolete
    }
  }

  /// What the next transfer can request the rest with; `nil` when no byte was added, and for a
  /// response that cannot be resumed, such as an encoded one: ranges count its encoded bytes.
  private func nextState(
    byteCount: Int, receivedByteCount: Int, _ head: ResponseHead, _ issuer: ValidatorIssuer
  ) -> ResumeState? {
    switch stage {
    case .requested, .unusable: return nil
    case .granted(let state, let first):
      guard byteCount > first else { return nil }
      return ResumeState(
        validator: state.validator, issuer: state.issuer,
        completeByteCount: state.completeByteCount, receivedByteCount: receivedByteCount)
    case .none, .declined:
      guard head.status == 200, head.codings.isEmpty, head.acceptsByteRanges,
        let validator = head.strongValidator, issuer != .unnamed
      else { return nil }
      return ResumeState(
        validator: validator, issuer: issuer.redirectTarget,
        completeByteCount: head.contentLength, receivedByteCount: receivedByteCount)
    }
  }
}

extension ResumeState {
  /// The state with the length of the whole, if a response 206 is the rest to its very end; `nil`
  /// for another part, for several parts, for an encoded one, and for another body.
  ///
  /// - Parameter byteCount: the length of the partial body.
  fileprivate func continued(from byteCount: Int, by head: ResponseHead) -> ResumeState? {
    guard head.codings.isEmpty, let contentRange = head.contentRange,
      let range = contentRange.range, range.lowerBound == byteCount,
      let complete = contentRange.completeLength ?? completeByteCount,
      completeByteCount ?? complete == complete, range.upperBound == complete - 1,
      head.contentLength ?? range.count == range.count,
      head.isOfBody(validatedBy: validator)
    else { return nil }
    return ResumeState(
      validator: validator, issuer: issuer, completeByteCount: complete,
      receivedByteCount: receivedByteCount)
  }
}
