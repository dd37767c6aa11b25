internal import CCurl
internal import ImgModel

/// A transfer with which libcurl is done, and what it comes to.
struct LibcurlEnd {
  let code: CURLcode
  let url: ParsedURL
  let route: Route
  /// Why this side ended it, if it did.
  let stopReason: StopReason?
  let content: TransferContent
  let reader: HeadReader
  let body: BodySink
  let resumption: Resumption
  let connection: ConnectionAttempt
  let easy: EasyHandle

  /// The order of the checks: what the origin said comes before how the connection ended after it,
  /// and what this side refused comes before the error libcurl made of the refusal.
  ///
  /// - Parameter reuse: what the head says about the reuse of the response.
  func result(reuse: (ResponseHead) -> AnswerReuse) -> Result<FetchedBody, Failure> {
    if let failure = earlyFailure { return .failure(failure) }
    if let head = wholeText { return .success(fetchedBody(head, reuse)) }
    if let failure = limitFailure ?? transportFailure { return .failure(failure) }
    do throws(Failure) {
      return .success(fetchedBody(try headOfWholeBody(), reuse))
    } catch {
      return .failure(error)
    }
  }

  /// What the origin or this side said before the body was in.
  private var earlyFailure: Failure? {
    if let proxyFailure { return proxyFailure }
    if let status = reader.status, status >= 400 {
      return statusFailure(status, "the origin answered \(status)")
    }
    if case .rejected(let failure) = stopReason { return failure }
    return nil
  }

  /// The head of a text, if enough of the text is in.
  private var wholeText: ResponseHead? {
    guard content.isText, let head = reader.head, head.isSuccess else { return nil }
    return isBodyTooLong || code == CURLE_OK ? head : nil
  }

  private var isBodyTooLong: Bool {
    if case .bodyTooLong = stopReason { true } else { false }
  }

  /// A limit of this side that the response passed.
  private var limitFailure: Failure? {
    if isBodyTooLong || code == CURLE_FILESIZE_EXCEEDED {
      return failure(.tooLarge, "the body is longer than \(body.maximumByteCount) bytes")
    }
    if case .wasteful = stopReason {
      let words = "the body comes in pieces of a few bytes, or among too much that is not the body"
      return failure(.tooLarge, words)
    }
    if isHeadTooLong {
      return failure(.tooLarge, "the headers are longer than \(HeadReader.maximumByteCount) bytes")
    }
    if case .spoolFailed(let error) = stopReason {
      return failure(.internal, "the body cannot be kept in a file: \(error)")
    }
    return nil
  }

  /// libcurl hands over a line when it is whole. It cuts off a line that does not end after 100 KiB
  /// (CURL_MAX_HTTP_HEADER in curl/curl.h), and then says that it has no memory for it.
  var isHeadTooLong: Bool {
    if reader.isTooLong { return true }
    let hasBegunToAnswer = easy.number(CURLINFO_STARTTRANSFER_TIME_T).map { $0 > 0 } ?? false
    return code == CURLE_OUT_OF_MEMORY && hasBegunToAnswer && body.receivedByteCount == 0
  }

  private var transportFailure: Failure? {
    if code == CURLE_COULDNT_CONNECT, let blockedAddress = connection.blockedAddress {
      return failure(.blockedAddress, blockedAddress)
    }
    guard code != CURLE_OK else { return nil }
    let words = easy.errorText ?? code.text
    return Failure(
      stage: .fetch, code: code.failureCode(isAnswered: reader.status != nil, words: words),
      httpStatus: reader.status, isRetryable: code.isTLSBrokenOff(words: words) ? true : nil,
      detail: code.isWithoutTLS(words: words)
        ? "the origin does not speak TLS at this port; the URL may have to begin with http:// (\(words))"
        : words)
  }

  /// The head of a response that came without an error, if its body is that of a picture.
  private func headOfWholeBody() throws(Failure) -> ResponseHead {
    guard let status = reader.status else { throw .withoutStatus }
    guard let head = reader.head else {
      throw failure(.truncatedBody, "the answer ended before the end of its headers")
    }
    switch status {
    case 206 where !resumption.isGranted:
      // No range was requested (RFC 9110 section 15.3.7).
      throw statusFailure(status, "the origin sent a part of the body unasked")
    case 200..<300 where !resumption.isWhole(byteCount: body.byteCount):
      throw failure(.truncatedBody, "the rest of the body has another length")
    case 200..<300 where body.byteCount > 0:
      return head
    case 200 where head.framing.isEndDeclared:
      throw failure(.notAnImage, "the origin sent an empty body")
    case 200:
      throw failure(.truncatedBody, "the connection ended before the body")
    case 200..<300:
      throw statusFailure(status, "the origin answered \(status), without a body")
    default:
      throw statusFailure(status, "the origin answered \(status), leading nowhere")
    }
  }

  private func fetchedBody(
    _ head: ResponseHead, _ reuse: (ResponseHead) -> AnswerReuse
  ) -> FetchedBody {
    FetchedBody(
      content: body.bytes, charge: body.charge, optOut: head.optOutFailure, reuse: reuse(head),
      facts: nil, declaredByteCount: body.declaredByteCount, mediaType: head.mediaType)
  }

  private func statusFailure(_ status: Int, _ detail: String) -> Failure {
    Failure(stage: .fetch, code: .httpStatus, httpStatus: status, detail: detail)
  }

  private func failure(_ code: Failure.Code, _ detail: String) -> Failure {
    Failure(stage: .fetch, code: code, httpStatus: reader.status, detail: detail)
  }
}

extension Failure {
  /// libcurl takes status lines that this program does not, such as `http/1.1 200 OK`.
  static let withoutStatus = Failure(
    stage: .fetch, code: .invalidResponse, detail: "the answer has no status")
}
