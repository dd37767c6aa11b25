internal import CCurl
internal import ImgModel

/// How a transfer goes on with a body, and what it leaves of one.
extension Transfer {
  /// A beginning that is shorter is not worth a request of its own kind.
  static let minimumBeginningByteCount = 64 << 10

  /// Finds out, with the first bytes of an answer, whether they are those of the rest or of all.
  ///
  /// - Returns: whether they are either.
  func settleResumption() -> Bool {
    guard case .asked(let mark, let byteCount) = resumption else { return true }
    guard head.status == 206 else {
      resumption = .declined
      // Forgets the beginning, in memory or in its file.
      settings.budgets.end(id, isHandedOut: false)
      settings.budgets.begin(id)
      body = BodyBuffer(maximumByteCount: body.maximumByteCount)
      return true
    }
    guard let granted = mark.continued(from: byteCount, by: head) else {
      isAnswerUseless = true
      return false
    }
    resumption = .granted(granted, from: byteCount)
    // The first bytes were judged when they came in.
    isScreened = true
    return true
  }

  var isCooldown: Bool {
    if case .granted = resumption { true } else { false }
  }

  /// The length of the whole body, as far as it is known.
  var declaredByteCount: Int? {
    if case .granted(let mark, _) = resumption {
      mark.completeByteCount
    } else {
      head.contentLength
    }
  }

  /// Whether the origin has only said what it does not go on with: the body is to be fetched from
  /// its beginning, by another transfer.
  func isToBeginAnew(after code: CURLcode) -> Bool {
    switch resumption {
    // Whatever it has against the request, a plain one may do.
    case .asked:
      isAnswerUseless || head.status.map(Self.isRefusalOfRequest) ?? false
        || code == CURLE_OK && head.status == 206
    case .none, .granted, .declined: false
    }
  }

  /// 416 says that there is no such part; others that the request is wrong or too long, or what it
  /// does not say. 304 answers a condition that was not sent. Who is to come later, or finds nothing,
  /// hears the same of a plain request.
  private static func isRefusalOfRequest(_ status: Int) -> Bool {
    status == 304 || (400..<500).contains(status) && ![404, 408, 410, 425, 429].contains(status)
  }

  /// Whether a body that came in without an error is all of it. libcurl sees to it where the answer
  /// declares its length.
  var isWhole: Bool {
    if case .granted(let mark, _) = resumption {
      body.byteCount == mark.completeByteCount
    } else {
      true
    }
  }

  /// What is left when the transfer has ended so.
  func remains(after result: Result<FetchedBody, Failure>) -> BodyRemains {
    guard case .failure(let failure) = result else {
      if case .none = resumption { return .nothing }
      return .useless
    }
    if [.truncatedBody, .timeout].contains(failure.code), let mark = markOfBeginning {
      return .beginning(BodyBeginning(content: body.content, mark: mark), body.charge)
    }
    switch resumption {
    case .none: return .nothing
    case .declined: return .useless
    case .asked, .granted: return failure.isRetryable ? .nothing : .useless
    }
  }

  /// What the next transfer can ask for the rest with; `nil` where what came in is too little, no more
  /// than there was, or of an answer that is not to be gone on with.
  private var markOfBeginning: BodyMark? {
    guard case .picture = request.content, body.byteCount >= Self.minimumBeginningByteCount,
      !head.range.forbidsStoring
    else { return nil }
    let receivedByteCount = earlierByteCount + bytesReceived
    switch resumption {
    case .asked: return nil
    case .granted(let mark, let byteCount):
      guard body.byteCount > byteCount else { return nil }
      return BodyMark(
        validator: mark.validator, issuer: mark.issuer,
        completeByteCount: mark.completeByteCount, receivedByteCount: receivedByteCount)
    case .none, .declined:
      guard head.status == 200, head.range.acceptsRanges,
        let validator = head.range.strongValidator
      else { return nil }
      let issuer = request.issuer(url)
      guard issuer != .unnamed else { return nil }
      return BodyMark(
        validator: validator, issuer: issuer.redirectTarget,
        completeByteCount: head.contentLength, receivedByteCount: receivedByteCount)
    }
  }
}
