internal import CCurl
internal import ImgFacts
internal import ImgModel
internal import ImgSystem

/// One transfer of libcurl: its handle, the parts that take what comes in, and the decision what
/// follows when it ends.
///
/// The handle's callbacks point at this object, so the pool keeps it until the handle has left the
/// multi handle.
final class Transfer {
  let id: TransferID
  let request: TransferRequest
  let easy: EasyHandle
  /// Until when a body that is not used may come in; `nil` for one that is used.
  private(set) var unusedBodyDeadline: ContinuousClock.Instant?

  private let context: TransferContext
  private let route: Route
  /// What the URL is asked with.
  private let start: TransferStart
  /// libcurl reads it during the transfer.
  private let headers: RequestHeaders
  private let requestedAt = WallTime.now
  private var connection = ConnectionAttempt()
  private var reader: HeadReader
  private var body: BodySink
  /// Of a body that is encoded.
  private var decoding: ContentDecoding?
  private var resumption: Resumption
  /// Of a request for facts.
  private var facts: FactsFetch?
  private var factsCharge = BodyCharge(byteCount: 0)
  private var stopReason: StopReason?
  private var turns: TurnShare
  private let host: SharedBandwidth.Host
  private var hold = BandwidthHold()
  /// What libcurl gives it from its start on, if it is not held.
  private let time: Duration

  /// - Parameters:
  ///   - start: the part of the request's start that the URL is asked with.
  ///   - easy: a fresh or reset handle.
  init(
    id: TransferID, request: TransferRequest, start: TransferStart, easy: EasyHandle,
    context: TransferContext
  ) throws(CurlError) {
    self.id = id
    self.request = request
    self.easy = easy
    self.context = context
    route = context.proxies.route(to: request.url, at: .now)
    self.start = start
    headers = try request.headers(with: start) ?? context.headers
    reader = HeadReader(byteCount: request.history.headByteCount)
    body = BodySink(id, for: request.content, from: start, in: context)
    resumption = Resumption(start)
    facts = request.content.facts
    turns = TurnShare(of: id, in: context.turns)
    host = SharedBandwidth.Host(request.host)
    time = request.remainingTime(context.limits)
    try easy.configure(request, headers, in: context)
    try easy.configure(route, in: context)
    try easy.installCallbacks(of: self)
  }

  /// The first reason counts: what comes after it is a consequence.
  private func stop(because reason: StopReason) {
    if stopReason == nil { stopReason = reason }
  }

  // MARK: - libcurl calls

  /// Reports that libcurl is working on this transfer.
  func reportWork() {
    context.current.set(id)
  }

  /// Opens a socket when the policy permits the address. With a proxy, libcurl connects to that alone.
  func openSocket(to address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
    switch route {
    case .proxy: return unsafe connection.openSocket(to: address)
    case .nameCheck:
      unsafe connection.check(address, by: context.addressPolicy)
      return CURL_SOCKET_BAD
    case .direct:
      let isPermitted = unsafe connection.check(address, by: context.addressPolicy)
      return isPermitted ? unsafe connection.openSocket(to: address) : CURL_SOCKET_BAD
    }
  }

  /// Whether the request may be sent on a connection now. libcurl asks also before it sends a
  /// request again by itself, which it does when a connection that was used before turns out to be
  /// closed.
  func maySendRequest(on ends: ConnectionSockets.Ends) -> Bool {
    if !connection.isReused {
      context.sockets.note(ends, among: connection.sockets)
    } else if !context.sockets.isReusable(ends) {
      stop(because: .staleConnection)
      return false
    }
    guard context.cooldowns.isCoolingDown(request.origin, at: .now) else { return true }
    // The host that sent a redirect was asked, so that a later attempt counts as one.
    let isFirst = !request.history.isRedirected
    stop(because: isFirst ? .cooldown : .rejected(.coolingDown(request.host)))
    return false
  }

  /// - Returns: whether to continue.
  func receiveHeadLine(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let line = unsafe bytes.bindMemory(to: UInt8.self)
    context.bandwidth.take(line.count, of: host)
    switch unsafe reader.take(line: line, at: WallTime.now) {
    case .incomplete: return true
    case .tooLong: return false
    case .complete(let head): return head.isInterim || receive(head)
    }
  }

  /// - Returns: whether to continue with the body.
  private func receive(_ head: ResponseHead) -> Bool {
    recordCooldown(head)
    if let failure = request.rejection(of: head) {
      stop(because: .rejected(failure))
      return false
    }
    guard head.hasUnusedBody else { return prepareDecoding(of: head) }
    unusedBodyDeadline = context.unusedBodies.note(id, at: .now)
    return (head.contentLength ?? 0) <= UnusedBodies.maximumByteCount
  }

  /// - Returns: whether to continue with the body.
  private func prepareDecoding(of head: ResponseHead) -> Bool {
    guard !head.codings.isEmpty else { return true }
    guard head.status != 206 else { return receiveEncodedPart(of: head) }
    do throws(Failure) {
      decoding = try ContentDecoding(head, maximumByteCount: body.maximumByteCount)
      return true
    } catch {
      stop(because: .rejected(error))
      return false
    }
  }

  /// A part of an encoded body cannot be decoded. The whole is requested, if the part was.
  ///
  /// - Returns: whether to continue with the body.
  private func receiveEncodedPart(of head: ResponseHead) -> Bool {
    guard facts != nil || resumption.beginBody(of: head) == .unusable else { return true }
    stop(because: .enough)
    return false
  }

  /// Records the Retry-After before the body that explains it is in: for the origin, and for those of the
  /// same host whose redirects lead there, such as `http://` before `https://`.
  private func recordCooldown(_ head: ResponseHead) {
    // What a proxy says of itself, says nothing of the host.
    guard head.status >= 400, head.status != 407 || route.proxy == nil,
      let retryAfter = head.retryAfter
    else { return }
    for origin in request.origins {
      context.cooldowns.record(
        HostCooldown(
          host: request.host, origin: origin, seconds: retryAfter.seconds,
          httpStatus: head.status),
        at: .now)
    }
  }

  /// - Returns: the count of `chunk` to continue, 0 to end the transfer, or `CURL_WRITEFUNC_PAUSE`
  ///   to get the same chunk again later.
  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
    let chunk = unsafe bytes.bindMemory(to: UInt8.self)
    guard let head = reader.head else {
      stop(because: .rejected(.withoutStatus))
      return 0
    }
    guard turns.permitCall(byteCount: chunk.count) else {
      return awaitTurn() ? Int(CURL_WRITEFUNC_PAUSE) : 0
    }
    guard request.content.isText || context.bandwidth.isOpen(id, of: host) else {
      awaitBandwidth()
      return Int(CURL_WRITEFUNC_PAUSE)
    }
    endHold()
    switch unsafe receive(chunk, of: head) {
    case .taken:
      countReceived(byteCount: chunk.count)
      return chunk.count
    case .wait: return Int(CURL_WRITEFUNC_PAUSE)
    case .stop(let reason):
      countReceived(byteCount: chunk.count)
      stop(because: reason)
      return 0
    }
  }

  private func countReceived(byteCount: Int) {
    body.countReceived(byteCount: byteCount)
    context.bandwidth.take(byteCount, of: host)
  }

  private func receive(
    _ chunk: UnsafeBufferPointer<UInt8>, of head: ResponseHead
  ) -> BodySink.Reception {
    if head.hasUnusedBody {
      let byteCount = body.receivedByteCount + chunk.count
      return byteCount <= UnusedBodies.maximumByteCount ? .taken : .stop(.enough)
    }
    guard let decoding else { return unsafe receiveDecoded(chunk, of: head) }
    // What comes out may be less, down to nothing: empty streams, and what follows the last one.
    guard body.receivedByteCount + chunk.count <= body.maximumByteCount else {
      return .stop(.bodyTooLong)
    }
    return unsafe decoding.receive(chunk) { piece in
      // What comes out of one chunk may be many pieces.
      guard turns.permitCall(byteCount: piece.count) else {
        return awaitTurn() ? .wait : .stop(.wasteful)
      }
      return unsafe receiveDecoded(piece, of: head)
    }
  }

  private func receiveDecoded(
    _ chunk: UnsafeBufferPointer<UInt8>, of head: ResponseHead
  ) -> BodySink.Reception {
    if facts != nil { return unsafe receiveFacts(chunk, of: head) }
    guard beginBody(of: head) else { return .stop(.enough) }
    let length = resumption.completeByteCount(head)
    return unsafe body.take(chunk.span, completeByteCount: length, of: head)
  }

  private func receiveFacts(
    _ chunk: UnsafeBufferPointer<UInt8>, of head: ResponseHead
  ) -> BodySink.Reception {
    let charge = BodyCharge(byteCount: (facts?.heldByteCount ?? 0) + chunk.count)
    guard context.budgets.grow(id, to: charge) else { return .wait }
    factsCharge = charge
    guard facts?.beginBody(of: head) == true, unsafe facts?.take(chunk) == true else {
      return .stop(.enough)
    }
    let byteCount = decoding?.decodedByteCount ?? (body.receivedByteCount + chunk.count)
    if byteCount >= body.maximumByteCount { facts?.endFetching() }
    return .taken
  }

  /// Finds out, with the first bytes of a body, whether they are those of the rest or of all.
  ///
  /// - Returns: whether they are either.
  private func beginBody(of head: ResponseHead) -> Bool {
    switch resumption.beginBody(of: head) {
    case .expected: break
    case .rest: body.skipExamination()
    case .whole: body.dropPartialBody()
    case .unusable: return false
    }
    return true
  }

  /// What has arrived of a picture; `nil` while that is nothing, and for facts and short texts.
  var arrivedPicture: BodyContent? {
    guard request.content.isWhole, facts == nil, reader.head?.isSuccess == true,
      body.receivedByteCount > 0
    else { return nil }
    return body.readableBytes
  }

  /// How much has arrived of a picture; `nil` while that is nothing, and for facts and short texts.
  var progress: ImageProgress? {
    arrivedPicture.map {
      ImageProgress(
        receivedByteCount: $0.byteCount, expectedByteCount: body.declaredByteCount)
    }
  }

  /// Bytes of heads and bodies, those of the request's earlier transfers among them.
  var arrivedByteCount: Int {
    request.history.bodyByteCount + reader.byteCount + body.receivedByteCount
  }

  // MARK: - Turns of the loop

  /// Pauses the transfer until the next turn of the loop, because libcurl took too long over it.
  ///
  /// A head is not paused: it is short, and libcurl 7.88 takes a response for whole that is paused
  /// in the middle of its head.
  ///
  /// - Returns: `false` when the transfer is to end instead.
  func pauseUntilNextTurn() -> Bool {
    guard reader.head != nil, easy.pause() == CURLE_OK else { return true }
    return awaitTurn()
  }

  /// - Returns: `false` when the transfer is to end, because it has wasted too many turns.
  private func awaitTurn() -> Bool {
    if turns.awaitNext() { return true }
    stop(because: .wasteful)
    return false
  }

  // MARK: - Bandwidth

  /// For how long the limits of bandwidth have held the request's transfers.
  var heldTime: Duration { request.history.heldTime + hold.time }

  /// The transfer is paused until its turn has come. Its time stands still: libcurl counts no stall while it
  /// is paused, and begins to count again when it goes on.
  private func awaitBandwidth() {
    // Another worker may have been faster than this one, when it was its turn.
    context.bandwidth.add(id, of: host)
    if hold.begin() { easy.changeTimeout(milliseconds: 0) }
  }

  private func endHold() {
    guard hold.end() else { return }
    context.bandwidth.remove(id)
    easy.changeTimeout(milliseconds: (time + hold.time).curlMilliseconds)
  }

  // MARK: - The end

  /// What follows, now that libcurl is done with the transfer.
  func nextStep(after code: CURLcode) -> NextStep {
    if route.isNameCheck { return stepAfterNameCheck(code) }
    if code == CURLE_OK, body.receivedByteCount > 0, let failure = decoding?.truncation {
      stop(because: .rejected(failure))
    }
    if case .cooldown = stopReason { return .deferred(request) }
    if isUnanswered { return .repeated(request.onFreshConnection(after: history)) }
    do throws(Failure) {
      if let target = try redirectTarget(after: code) {
        return .redirected(request.redirected(to: target, after: history))
      }
    } catch {
      stopReason = .rejected(error)
    }
    if let step = nextFactsStep(after: code) { return step }
    guard !resumption.requiresRestart(status: reader.status, isComplete: code == CURLE_OK) else {
      // Once only: a restarted request resumes nothing.
      return .repeated(
        request.restarted(after: history, resumedByteCount: start.earlierByteCount))
    }
    if let notModified = notModified(after: code), !notModified.matchesCondition {
      // Where the condition was sent, because the transfer has a slot at that host. Once only: what
      // follows has no condition.
      return .repeated(request.unconditional(after: history))
    }
    return .finished(finish(with: code))
  }

  /// A host is refused by any of its addresses, because the proxy chooses one.
  private func stepAfterNameCheck(_ code: CURLcode) -> NextStep {
    if let address = connection.refusedAddress {
      let failure = Failure(stage: .fetch, code: .blockedAddress, detail: address)
      return .finished(finished(.failure(failure)))
    }
    guard isNameChecked(code) else { return .finished(finish(with: code)) }
    context.proxies.recordCheck(of: request.host, at: .now)
    // The same through the proxy, now that the addresses of the host are checked.
    return .repeated(request.repeated(after: history))
  }

  /// Whether the look-up has ended, or has had its time. Any other end says nothing of the addresses.
  private func isNameChecked(_ code: CURLcode) -> Bool {
    switch code {
    // No socket was opened for any of the addresses.
    case CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_HOST: true
    // As libcurl counts: the time of the whole transfer may have ended first.
    case CURLE_OPERATION_TIMEDOUT: request.remainingTime(context.limits).milliseconds > 0
    default: false
    }
  }

  /// What follows a response that is about the facts of a picture; `nil` for any other.
  private func nextFactsStep(after code: CURLcode) -> NextStep? {
    var isComplete = code == CURLE_OK
    switch stopReason {
    case nil: break
    case .enough: isComplete = true
    default: return nil
    }
    var fetch = facts
    switch fetch?.step(after: reader.head, isComplete: isComplete) {
    case nil: return nil
    case .request(let next):
      return .continued(request.continued(with: next, after: history))
    case .found(let record, _)
    where record.awaitsDecoder && record.byteCount ?? 0 <= context.limits.maxBodyByteCount:
      return .continued(request.continuedAsWhole(after: history))
    case .found(let record, let head):
      let body = FetchedBody(
        content: .memory([]), charge: factsCharge, optOut: head.optOutFailure, reuse: reuse(head),
        facts: record, declaredByteCount: nil, mediaType: head.mediaType)
      return .finished(finished(.success(body), ending(with: code)))
    case .failed(let failure): return .finished(finished(.failure(failure), ending(with: code)))
    }
  }

  /// The request's history with this transfer.
  private var history: TransferHistory {
    var history = request.history
    history.heldTime = heldTime
    history.headByteCount = reader.byteCount
    history.bodyByteCount += body.receivedByteCount
    history.timings = history.timings.adding(easy.timings)
    return history
  }

  /// Whether the request is sent once more, because what came on a connection that was used before
  /// does not answer it. With a 408 a server closes an idle connection (RFC 9110 section 15.5.9),
  /// and a request may cross it.
  private var isUnanswered: Bool {
    guard connection.isReused, !request.usesFreshConnection else { return false }
    if case .staleConnection = stopReason { return true }
    return reader.head?.status == 408
  }

  /// Where the response leads; `nil` when it is no redirect. The body that comes with a redirect is
  /// not used, so it does not matter how that ended.
  ///
  /// - Throws: why the redirect is not followed.
  private func redirectTarget(after code: CURLcode) throws(Failure) -> TransferURL? {
    guard let location = reader.head?.redirectLocation, code != CURLE_OPERATION_TIMEDOUT,
      !ending(with: code).isHeadTooLong
    else { return nil }
    if case .rejected = stopReason { return nil }
    let limit = request.content.limits(context.limits).maxRedirects
    guard request.history.redirectCount < limit else {
      throw Failure(
        stage: .fetch, code: .tooManyRedirects, httpStatus: reader.status,
        detail: "\(limit) redirects were followed, and there are more")
    }
    return try TransferURL(redirectedTo: location, from: request.url, status: reader.status)
  }

  private func finish(with code: CURLcode) -> FinishedTransfer {
    // No callback has seen a response without a byte of body.
    if code == CURLE_OK, let head = reader.head, head.isSuccess { _ = beginBody(of: head) }
    do throws(SystemError) { try body.flush() } catch { stop(because: .spoolFailed(error)) }
    let ending = ending(with: code)
    let result = ending.result(reuse: reuse)
    var finished = finished(
      result, ending, leftover: leftover(after: result), notModified: notModified(after: code))
    if case .failure(let failure) = result, ending.isUnresolved(by: failure) {
      finished.unresolvedHost = request.host
    }
    return finished
  }

  private func finished(
    _ result: Result<FetchedBody, Failure>, _ ending: LibcurlEnd? = nil,
    leftover: Leftover = .unchanged, notModified: NotModified? = nil
  ) -> FinishedTransfer {
    let history = history
    var finished = FinishedTransfer(
      id: id, result: result, bytesReceived: start.earlierByteCount + history.bodyByteCount,
      freshByteCount: history.bodyByteCount - history.resumedByteCount,
      wasRedirected: history.isRedirected, timings: history.timings, leftover: leftover,
      notModified: notModified)
    finished.sign = ending?.sign(of: result)
    finished.peer = ending?.peer
    return finished
  }

  private func ending(with code: CURLcode) -> LibcurlEnd {
    LibcurlEnd(
      code: code, url: request.url.parsed, route: route, stopReason: stopReason,
      content: request.content, reader: reader, body: body, resumption: resumption,
      connection: connection, limits: context.limits, easy: easy)
  }

  private func reuse(_ head: ResponseHead) -> AnswerReuse {
    let freshness = Freshness(
      of: head.caching.issued(by: request.issuer), requestedAt: requestedAt,
      receivedAt: head.receivedAt)
    return AnswerReuse(freshness, wasRedirected: request.history.isRedirected)
  }

  /// The answer to the request's condition; `nil` when there was none, or something has changed.
  private func notModified(after code: CURLcode) -> NotModified? {
    guard code == CURLE_OK, let validators = start.validators, let head = reader.head,
      head.status == 304
    else { return nil }
    return NotModified(
      validators, head.caching, requestedAt: requestedAt, receivedAt: head.receivedAt,
      wasRedirected: request.history.isRedirected)
  }

  private func leftover(after result: Result<FetchedBody, Failure>) -> Leftover {
    guard request.content.isResumable else { return .unchanged }
    var failure: Failure?
    if case .failure(let error) = result { failure = error }
    return resumption.leftover(
      after: failure, content: body.bytes, charge: body.charge,
      receivedByteCount: start.earlierByteCount + history.bodyByteCount, head: reader.head,
      issuer: request.issuer)
  }
}
