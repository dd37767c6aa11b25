internal import CCurl
internal import Glibc
package import ImgFacts
package import ImgModel
package import ImgSystem

/// A body that came in whole or, of a text, as far as it is read.
package struct FetchedBody: Sendable {
  /// Of a picture never empty, of its facts always. A list may be empty.
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
  /// What it says of the network; `nil` if that is nothing out of the ordinary.
  package var sign: NetworkSign?
  /// The host whose name could not be resolved, if that is what it failed with. libcurl does not tell why.
  package var unresolvedHost: String?
  /// Where the answer came from; `nil` if there was none, or a proxy was asked.
  package var peer: PeerAddress?
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

extension Transfer {
  /// What follows a transfer.
  enum NextStep {
    /// Nothing was sent: the host is in its cooldown.
    case deferred(TransferRequest)
    /// Another transfer for the same request, at the same URL.
    case repeated(TransferRequest)
    /// The same, for a further part of the file.
    case continued(TransferRequest)
    case redirected(TransferRequest)
    case finished(FinishedTransfer)

    /// Whether the body lives on until it is given back.
    var handsOutBody: Bool {
      if case .finished(let transfer) = self { transfer.charge != nil } else { false }
    }
  }
}

/// Why this side ended a transfer before libcurl did.
enum StopReason {
  /// Bytes had come on the connection before the request was sent on it.
  case staleConnection
  /// The host is in its cooldown, and was not asked.
  case cooldown
  /// The body passed the limit.
  case bodyTooLong
  /// The body comes in pieces of a few bytes, or among too much that is not the body.
  case wasteful
  /// The body could not be written to its file.
  case spoolFailed(SystemError)
  /// What has come is enough for the facts, or of no use.
  case enough
  /// By its head, its first bytes or its redirect.
  case rejected(Failure)
}

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
  /// Of the request.
  let limits: Limits
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

  /// What the transfer says of the network, unless a name could not be resolved.
  ///
  /// - Parameter result: of the transfer.
  func sign(of result: Result<FetchedBody, Failure>) -> NetworkSign? {
    switch result {
    case .success(let body):
      return body.isPage ? .page : nil
    case .failure(let failure) where failure.code == .proxyFailure:
      return proxyEnd?.sign
    case .failure(let failure) where failure.code == .notAnImage:
      return reader.head?.mediaType.map(FetchedBody.isPage) == true ? .page : nil
    case .failure(let failure) where failure.code == .tlsFailure:
      let verdict = easy.count(CURLINFO_SSL_VERIFYRESULT)
      return code.isCertificateForeign(verdict: verdict) ? .foreignCertificate : nil
    case .failure(let failure) where failure.code == .connectFailure:
      return NetworkSign(connectErrno: CInt(truncatingIfNeeded: easy.count(CURLINFO_OS_ERRNO)))
    case .failure(let failure) where failure.code == .timeout && isUnconnected: return .silent
    case .failure: return nil
    }
  }

  /// Whether nothing came, and the transfer had no connection, or one of an earlier transfer.
  private var isUnconnected: Bool {
    reader.status == nil && route.proxy == nil
      && (connection.isReused || easy.number(CURLINFO_CONNECT_TIME_T) == 0)
  }

  /// Whether the name of the host was still looked up when the time was over.
  ///
  /// - Parameter failure: of the transfer.
  func isUnresolved(by failure: Failure) -> Bool {
    failure.code == .dnsFailure
      || failure.code == .timeout && isUnconnected && easy.number(CURLINFO_NAMELOOKUP_TIME_T) == 0
  }

  /// Where the answer came from; `nil` if there was none, or a proxy was asked.
  var peer: PeerAddress? {
    guard reader.status != nil, route.proxy == nil, let address = easy.text(CURLINFO_PRIMARY_IP)
    else { return nil }
    return PeerAddress(address: address, port: easy.count(CURLINFO_PRIMARY_PORT))
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
    let words = code.words(easy.errorText)
    return Failure(
      stage: .fetch, code: code.failureCode(isAnswered: reader.status != nil, words: words),
      httpStatus: reader.status, isRetryable: code.isTLSBrokenOff(words: words) ? true : nil,
      detail: code.isWithoutTLS(words: words)
        ? "the origin does not speak TLS at this port; the URL may have to begin with http:// (\(words))"
        : timeoutText(words) ?? refusalText(words) ?? words)
  }

  /// What has happened if a setting has ended the transfer; `nil` if none has.
  private func timeoutText(_ words: String) -> String? {
    guard code == CURLE_OPERATION_TIMEDOUT else { return nil }
    let isSilent = reader.byteCount + body.receivedByteCount == 0
    // That is how libcurl tells a stall from the end of the whole time.
    if words.hasPrefix("Operation too slow") {
      let seconds = limits.stallTimeout.curlSeconds
      return isSilent ? Failure.silence(seconds: seconds) : Failure.tooSlow(seconds: seconds)
    }
    // A text has less time than `--transfer-timeout`.
    guard words.hasPrefix("Operation timed out"), !content.isText else { return nil }
    return isSilent
      ? Failure.silence(within: limits.transferTimeout)
      : Failure.cutOff(
        after: limits.transferTimeout, receivedByteCount: body.receivedByteCount,
        of: body.declaredByteCount)
  }

  /// The same of a connection that did not come about, with the system's reason: libcurl tells after how many
  /// milliseconds, and not why.
  private func refusalText(_ words: String) -> String? {
    let number = CInt(truncatingIfNeeded: easy.count(CURLINFO_OS_ERRNO))
    guard code == CURLE_COULDNT_CONNECT, number != 0, let time = words.firstRange(of: " after ")
    else { return nil }
    return SystemError(operation: String(words[..<time.lowerBound]), code: number).description
  }

  /// The head of a response that came without an error, if its body is that of a picture or a list.
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
    case 200 where head.framing.isEndDeclared && content.isList:
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

extension FetchedBody {
  /// Whether the origin declares the body to be a web page.
  package var isPage: Bool { mediaType.map(Self.isPage) ?? false }

  fileprivate static func isPage(_ mediaType: String) -> Bool {
    mediaType == "text/html" || mediaType == "application/xhtml+xml"
  }
}

extension NetworkSign {
  /// What it says that a host cannot be connected to (connect(2)); `nil` if that is unknown.
  fileprivate init?(connectErrno: CInt) {
    switch connectErrno {
    case ENETUNREACH, EHOSTUNREACH, ENETDOWN, ETIMEDOUT: self = .silent
    case ECONNREFUSED, ECONNRESET: self = .answered
    default: return nil
    }
  }
}

extension Failure {
  /// libcurl takes status lines that this program does not, such as `http/1.1 200 OK`.
  static let withoutStatus = Failure(
    stage: .fetch, code: .invalidResponse, detail: "the answer has no status")
}
