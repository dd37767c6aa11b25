internal import CCurl
internal import ImgModel
internal import ImgSystem

/// What becomes of a transfer once libcurl is done with it.
extension Transfer {
  func finish(with code: CURLcode) -> FinishedTransfer {
    // An answer without a byte of body has not been looked at yet.
    if code == CURLE_OK, let status = head.status, (200..<300).contains(status) {
      _ = settleResumption()
    }
    do throws(SystemError) { try body.flush() } catch { spoolError = error }
    let result = result(of: code)
    return FinishedTransfer(
      id: id, result: result, bytesReceived: earlierByteCount + bytesReceived,
      freshByteCount: request.past.bodyByteCount - request.past.resumedByteCount + bytesReceived,
      wasRedirected: request.past.isRedirected,
      timings: request.past.timings.adding(easy.timings), remains: remains(after: result),
      notModified: code == CURLE_OK ? notModified : nil)
  }

  /// The answer to the request's condition; `nil` when there was none, or something has changed.
  private var notModified: NotModified? {
    guard let validators = start.validators, head.status == 304 else { return nil }
    return NotModified(
      validators, head.cachingFields, requestedAt: requestedAt, answeredAt: answeredAt,
      wasRedirected: request.past.isRedirected)
  }

  private var reuse: AnswerReuse {
    var fields = head.cachingFields
    fields.note(request.issuer(url))
    let freshness = Freshness(
      of: fields, requestedAt: requestedAt, answeredAt: answeredAt)
    return AnswerReuse(freshness, wasRedirected: request.past.isRedirected)
  }

  /// The order of the checks: what the origin said counts before how the connection ended after it,
  /// and what this side refused counts before the error libcurl made of the refusal.
  private func result(of code: CURLcode) -> Result<FetchedBody, Failure> {
    if let status = head.status, status >= 400 {
      return .failure(httpFailure(status, "the origin answered \(status)"))
    }
    if let optOut { return .failure(optOut) }
    if let refusal { return .failure(refusal) }
    if case .text = request.content, isOverLimit || code == CURLE_OK && head.isComplete,
      let status = head.status, (200..<300).contains(status)
    {
      return .success(fetchedBody(status))
    }
    if isOverLimit || code == CURLE_FILESIZE_EXCEEDED {
      let limit = body.maximumByteCount
      return .failure(failure(.tooLarge, "the body is longer than \(limit) bytes"))
    }
    if isWasteful {
      let words = "the body comes in pieces of a few bytes, or among too much that is not the body"
      return .failure(failure(.tooLarge, words))
    }
    if isHeadOverLimit(code) {
      let limit = Self.maximumHeadByteCount
      return .failure(failure(.tooLarge, "the headers are longer than \(limit) bytes"))
    }
    if let spoolError {
      return .failure(failure(.internal, "the body cannot be kept in a file: \(spoolError)"))
    }
    if code == CURLE_COULDNT_CONNECT, let refusedAddress, !hasPermittedAddress {
      return .failure(failure(.blockedAddress, refusedAddress))
    }
    guard code == CURLE_OK else { return .failure(failure(of: code)) }
    return resultOfWholeAnswer()
  }

  private func failure(of code: CURLcode) -> Failure {
    let words = easy.errorText ?? code.text
    return Failure(
      stage: .fetch, code: code.failureCode(isAnswered: head.status != nil, words: words),
      httpStatus: head.status, isRetryable: code.isTLSBrokenOff(words: words) ? true : nil,
      detail: words)
  }

  /// A line is handed over when it is whole. One that does not end is libcurl's to cut off, after
  /// 100 KiB (CURL_MAX_HTTP_HEADER in curl/curl.h), and in its words there is no memory for it.
  func isHeadOverLimit(_ code: CURLcode) -> Bool {
    if headByteCount > Self.maximumHeadByteCount { return true }
    let hasBegunToAnswer = easy.number(CURLINFO_STARTTRANSFER_TIME_T).map { $0 > 0 } ?? false
    return code == CURLE_OUT_OF_MEMORY && hasBegunToAnswer && bytesReceived == 0
  }

  private func resultOfWholeAnswer() -> Result<FetchedBody, Failure> {
    guard let status = head.status else {
      return .failure(failure(.invalidResponse, "the answer has no status"))
    }
    guard head.isComplete else {
      return .failure(failure(.truncatedBody, "the answer ended before the end of its headers"))
    }
    switch status {
    case 206 where !isCooldown:
      // Nobody asked for a range (RFC 9110 section 15.3.7).
      return .failure(httpFailure(status, "the origin sent a part of the body unasked"))
    case 200..<300 where !isWhole:
      return .failure(failure(.truncatedBody, "the rest of the body has another length"))
    case 200..<300 where body.byteCount > 0:
      return .success(fetchedBody(status))
    case 200 where head.framing.isEndDeclared:
      return .failure(failure(.notAnImage, "the origin sent an empty body"))
    case 200:
      return .failure(failure(.truncatedBody, "the connection ended before the body"))
    case 200..<300:
      return .failure(httpFailure(status, "the origin answered \(status), without a body"))
    default:
      return .failure(httpFailure(status, "the origin answered \(status), leading nowhere"))
    }
  }

  private func fetchedBody(_ status: Int) -> FetchedBody {
    FetchedBody(
      content: body.content, httpStatus: status,
      effectiveURL: easy.text(CURLINFO_EFFECTIVE_URL) ?? "",
      contentType: easy.text(CURLINFO_CONTENT_TYPE), charge: charge,
      optOut: head.optOutFailure, reuse: reuse)
  }

  /// A text is short and takes nothing of the budgets: it is never paused, because libcurl would have
  /// to hold all of what it inflates meanwhile.
  private var charge: BodyCharge {
    if case .text = request.content { BodyCharge(byteCount: 0) } else { body.charge }
  }

  private func httpFailure(_ status: Int, _ detail: String) -> Failure {
    Failure(stage: .fetch, code: .httpStatus, httpStatus: status, detail: detail)
  }

  func failure(_ code: Failure.Code, _ detail: String) -> Failure {
    Failure(stage: .fetch, code: code, httpStatus: head.status, detail: detail)
  }
}

extension ResponseHead {
  /// What a picture fails with whose origin does not want it used; `nil` when it says nothing of the
  /// kind, or has no picture to say it of.
  var optOutFailure: Failure? {
    guard isComplete, let optOut, let status, (200..<300).contains(status) else { return nil }
    return Failure(
      stage: .fetch, code: .optedOut, httpStatus: status,
      detail: "the origin does not want it used: X-Robots-Tag: \(optOut)")
  }
}
