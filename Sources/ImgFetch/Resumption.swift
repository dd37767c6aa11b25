package import ImgModel

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
      content.byteCount >= ResumeState.minimumByteCount, !head.caching.cacheControl.forbidsStoring,
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

/// The first part of a body whose transfer broke off.
package struct PartialBody: Sendable {
  package let content: BodyContent
  package let resumeState: ResumeState

  package init(content: BodyContent, resumeState: ResumeState) {
    self.content = content
    self.resumeState = resumeState
  }
}

extension ResumeState {
  /// The header fields that request the rest.
  func requestFields(from byteCount: Int) -> [String] {
    ["Range: bytes=\(byteCount)-", "If-Range: \(validator)"]
  }
}

/// What a transfer leaves for the next one of the same picture.
package enum Leftover: Sendable {
  /// Nothing new. A partial body from before can still be resumed.
  case unchanged
  /// A partial body from before can no longer be resumed.
  case obsolete
  /// A partial body that the next transfer can resume. It is charged like a body and given back
  /// like one, see ``TransferPool/releaseBody(_:)``.
  case partial(PartialBody, BodyCharge)
}

/// What a head says about the identity of its body.
extension ResponseHead {
  /// How much older than the response a date has to be to tell one body from the next: a file may
  /// be written several times within a second, and clocks differ (RFC 9110 section 8.8.2.2).
  private static let strongDateAge = Duration.seconds(60)

  /// What `If-Range` can carry to request the rest of the body: a strong entity tag or, in a
  /// response without any tag, a date that is strong by its age (RFC 9110 section 13.1.5). `nil`
  /// when there is neither.
  var strongValidator: String? {
    guard caching[.entityTag] == nil else {
      return caching.entityTag.flatMap { $0.isWeak ? nil : $0.text }
    }
    // A control character would make it another request. No date has one.
    guard let text = caching[.lastModified], let modified = HTTPDate(text, now: receivedAt),
      let sent = caching[.date].flatMap({ HTTPDate($0, now: receivedAt) }),
      modified.moment.duration(to: sent.moment) >= Self.strongDateAge
    else { return nil }
    return text
  }

  /// Whether the response is of the body that the validator belongs to. A part of it may leave out
  /// the date, not the tag (RFC 9110 section 15.3.7).
  func isOfBody(validatedBy validator: String) -> Bool {
    validator.hasPrefix("\"")
      ? caching[.entityTag] == validator
      : caching[.lastModified] == nil || caching[.lastModified] == validator
  }
}

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
