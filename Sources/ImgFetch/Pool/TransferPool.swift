internal import CCurl
package import ImgModel
package import ImgSystem

/// Fetches many URLs at once with libcurl, driven by the event loop of its thread.
///
/// The pool never waits and never calls back. The loop passes it what became ready (``handle(_:)``)
/// and what is due (``handleDeadline(at:)``) and asks for results (``takeFinished()``). The caller
/// decides how many transfers run at once.
///
/// The bodies under way and those handed out share one budget of memory, and those that are too
/// long for memory one of files. A transfer whose next bytes do not fit is paused: libcurl keeps at
/// most what it has read already (one buffer of 64 KiB) and stops reading the socket, so the origin
/// has to wait. A paused transfer does not count as stalled, but its whole time runs on; one that
/// waits too long ends as a timeout. Paused transfers resume, oldest first, when a body is given
/// back or another transfer ends. The oldest under way is not paused while no body is handed out,
/// so something always makes progress, and what is held passes the budget by at most one body.
///
/// A transfer whose bytes pass a limit of bandwidth is held: it is paused, and goes on when its turn has
/// come. That time counts neither as stalled nor as a part of its whole time.
///
/// All transfers share answers of name servers and, one after the other, connections. At most as
/// many connections stay open as transfers ever ran at once, or as the limits allowed at the start.
/// Bound to the thread that made it.
package final class TransferPool {
  private let context: TransferContext
  private let running: RunningTransfers
  private var sockets: WatchedSockets
  private var redirects = PendingRedirects()
  private var finished: [FinishedTransfer] = []

  /// Bodies of the greatest length that may lie in files together.
  private static let spooledBodyCount = 8

  /// - Parameters:
  ///   - runtime: proof that libcurl is initialised.
  ///   - poller: gets the sockets, each with the token `tokenBase | UInt64(socket)`.
  ///   - bodyBudgetByteCount: what the bodies in memory may take together.
  ///   - spoolDirectories: where files without names are made for long bodies, in the first that
  ///     takes one. Without any, all bodies stay in memory.
  ///   - tokenBase: tells the pool's tokens from others; its low 32 bits are zero.
  ///   - earlyReject: ends a transfer by its first bytes; `nil` lets all bodies come in whole.
  ///   - authorityFile: certificates of the authorities to trust, as PEM; `nil` for those of the
  ///     system. Where it cannot be read, every transfer over TLS fails.
  ///   - proxies: those that origins are asked through. The address policy applies to the hosts of URLs,
  ///     and not to the proxies.
  ///   - bandwidth: the limits of bandwidth that the transfers keep; `nil` for none.
  ///   - bandwidthClock: the clock of these limits, in nanoseconds.
  ///   - onWork: gets the number of the transfer that libcurl is working on, and `nil` when it is
  ///     working on none.
  package init(
    runtime: CurlRuntime, limits: Limits, bodyBudgetByteCount: Int, addressPolicy: AddressPolicy,
    spoolDirectories: [String], poller: Poller, tokenBase: UInt64, userAgent: String,
    earlyReject: EarlyReject?, authorityFile: String? = nil, proxies: ProxySettings = .none,
    bandwidth: SharedBandwidth? = nil,
    bandwidthClock: @escaping () -> UInt64 = MonotonicClock.nanoseconds,
    onWork: @escaping (TransferID?) -> Void = { _ in }
  ) throws(CurlError) {
    context = TransferContext(
      limits: limits, addressPolicy: addressPolicy, userAgent: userAgent,
      headers: try RequestHeaders(), spoolDirectories: SpoolDirectories(spoolDirectories),
      earlyReject: earlyReject, authorityFile: authorityFile, proxies: ProxyRoutes(proxies),
      budgets: BodyBudgets(
        memoryByteCount: bodyBudgetByteCount,
        fileByteCount: Self.spooledBodyCount * Int(limits.maxBodyByteCount)),
      bandwidth: BandwidthQueue(bandwidth, clock: bandwidthClock),
      current: CurrentTransfer(report: onWork))
    running = try RunningTransfers(connectionLimit: limits.transfers)
    sockets = WatchedSockets(poller: poller, tokenBase: tokenBase)
  }

  deinit {
    sockets.unregisterAll()
  }

  // MARK: - Transfers

  /// How many transfers are under way.
  var activeCount: Int { running.count }

  /// What the bodies in memory take: those under way, and those handed out and not given back.
  package var heldBodyByteCount: Int { context.budgets.heldMemoryByteCount }

  /// The same of the bodies in files.
  package var heldFileByteCount: Int { context.budgets.heldFileByteCount }

  /// Starts to fetch `url`. Every end, also a refusal of the URL, comes out of ``takeFinished()``
  /// under the number `id`, which no other transfer under way may have. Lower numbers are older:
  /// they come first when bodies have to wait for memory. A host in its cooldown is sent nothing.
  ///
  /// A redirect comes out of ``takeRedirects()`` and is not followed before ``follow(_:excluding:)`` is
  /// called: the requests that wait for the picture have to permit it, robots.txt has to allow it, and
  /// another host has to have a slot.
  ///
  /// - Parameters:
  ///   - part: what of the picture comes in. Its facts take as few bytes as its format allows, and come
  ///     out as ``FetchedBody/facts``.
  ///   - options: what is sent, and which of the origin's rules are respected.
  ///   - partial: what an earlier transfer left; only the rest is requested. The whole body comes in
  ///     where the origin does not send the rest.
  ///   - validators: of what the store has; the origin sends nothing if that still holds. Ignored
  ///     beside a partial body.
  ///   - begunAt: since when the limit of the whole transfer counts.
  package func start(
    _ id: TransferID, url: ImageURL, part: PicturePart = .whole,
    as options: FetchOptions = .standard,
    resuming partial: PartialBody? = nil, unlessMatching validators: Validators? = nil,
    begunAt: ContinuousClock.Instant = .now
  ) {
    start(id) { () throws(Failure) in
      try TransferRequest(
        for: url, content: TransferContent(part), options: options,
        start: partial.map(TransferStart.partial) ?? .whole(unlessMatching: validators),
        history: TransferHistory(begunAt: begunAt))
    }
  }

  /// The same for the robots.txt of the URL's origin, for which a picture's limit of size does not
  /// count.
  ///
  /// - Parameter contact: of the request that asks for it.
  package func startRobots(_ id: TransferID, of url: ImageURL, contact: Contact? = nil) {
    start(id) { () throws(Failure) in
      // libcurl hands over up to 16 KiB at a time (CURL_MAX_WRITE_SIZE), and what passes the limit
      // is dropped.
      try TransferRequest(
        for: try ImageURL(parsing: "\(url.origin)/robots.txt"),
        content: .text(maximumByteCount: RobotsRules.maximumByteCount + Int(CURL_MAX_WRITE_SIZE)),
        options: FetchOptions(contact: contact))
    }
  }

  /// The same for a list of URLs, which comes in whole. Its redirects are followed without a decision.
  package func startList(_ id: TransferID, of url: ImageURL) {
    start(id) { () throws(Failure) in try TransferRequest(for: url, content: .list) }
  }

  private func start(_ id: TransferID, _ request: () throws(Failure) -> TransferRequest) {
    precondition(
      running[id] == nil && !redirects.contains(id), "the number of a transfer is in use")
    do throws(Failure) {
      send(try request(), id)
    } catch {
      finished.append(.refused(id, error))
    }
    drainCompletions()
  }

  /// Lets a transfer continue where its redirect leads. Ignores a number that is not known any
  /// more.
  ///
  /// - Parameter wait: how long it has waited for others. That does not count as its time.
  package func follow(_ id: TransferID, excluding wait: Duration = .zero) {
    guard var request = redirects.release(id) else { return }
    request.history.begunAt += wait
    send(request, id)
    drainCompletions()
  }

  /// A copy of bytes for a ``PartialBody``: in a file when they are too many for memory.
  package func content(copying bytes: Span<UInt8>) -> BodyContent {
    context.spoolDirectories.content(copying: bytes)
  }

  /// What has arrived of the picture of a transfer under way; `nil` while that is nothing.
  ///
  /// The caller drops it before the transfer goes on. Otherwise all bytes would be copied when the next
  /// ones arrive.
  package func arrivedPicture(of id: TransferID) -> BodyContent? { running[id]?.arrivedPicture }

  /// How much has arrived of the picture of a transfer under way; `nil` while that is nothing.
  package func progress(of id: TransferID) -> ImageProgress? { running[id]?.progress }

  /// How many bytes of all responses have arrived for a transfer under way, whether it is paused until
  /// there is room for more, for how long the limits of bandwidth have held it, and what it is at; `nil` for any
  /// other.
  package func arrival(
    of id: TransferID
  ) -> (byteCount: Int, isHeldUp: Bool, heldTime: Duration, phase: TransferPhase)? {
    running[id].map {
      ($0.arrivedByteCount, context.budgets.isWaiting(id), $0.heldTime, $0.easy.phase)
    }
  }

  /// The network may be another one: no connection that is open now is used again, and no address that is known now.
  package func dropConnections() { context.sockets.drop(at: .now) }

  /// Ends a transfer at once. Nothing of it comes out of ``takeFinished()`` afterwards. Ignores a
  /// number that is not known any more.
  package func cancel(_ id: TransferID) {
    for charge in finished.filter({ $0.id == id }).compactMap(\.charge) {
      context.budgets.release(charge)
    }
    finished.removeAll { $0.id == id }
    redirects.cancel(id)
    if let transfer = running.remove(id) {
      context.budgets.end(id, isHandedOut: false)
      context.turns.end(id)
      context.bandwidth.remove(id)
      running.recycle(transfer)
    }
    context.bandwidth.setUrgent(false, id)
    drainCompletions()
  }

  /// Whether a client waits for a transfer, which the limits of bandwidth then let pass first. Ignores a number
  /// that is not known, or not any more.
  package func setUrgent(_ isUrgent: Bool, _ id: TransferID) {
    if running[id] != nil || redirects.contains(id) { context.bandwidth.setUrgent(isUrgent, id) }
  }

  /// The transfers that ended since the last call, in the order in which they ended. Call it after
  /// each of the others. Give each body back to ``releaseBody(_:)``.
  package func takeFinished() -> [FinishedTransfer] {
    defer { finished = [] }
    finished.forEach { context.bandwidth.setUrgent(false, $0.id) }
    return finished
  }

  /// The redirects since the last call that wait for ``follow(_:excluding:)`` or ``cancel(_:)``.
  /// Call it before ``takeFinished()``.
  package func takeRedirects() -> [PendingRedirect] { redirects.takeUnreported() }

  /// The hosts that got more than one request for a transfer since the last call, after a redirect
  /// of a robots.txt or for a further part of a file: once for each further request.
  package func takeExtraRequests() -> [String] { redirects.takeExtraRequests() }

  /// The cooldowns that hosts have asked for since the last call.
  package func takeCooldowns() -> [HostCooldown] { context.cooldowns.takeUnreported() }

  /// Gives back a body that was handed out, now that its memory is free or its file is closed.
  /// - Parameter charge: the body's ``FetchedBody/charge``.
  package func releaseBody(_ charge: BodyCharge) {
    context.budgets.release(charge)
    drainCompletions()
  }

  // MARK: - The loop

  /// The latest moment to call ``handleDeadline(at:)``; `nil` while nothing is due by
  /// time.
  package var deadline: ContinuousClock.Instant? {
    guard !context.turns.isAnyWaiting else { return .now }
    return [
      running.multi.requests.deadline, context.unusedBodies.nextDeadline,
      context.bandwidth.deadline,
    ].compactMap(\.self).min()
  }

  /// Takes an event of one of the pool's sockets.
  package func handle(_ readiness: Poller.Readiness) {
    guard let (socket, id) = sockets.owner(of: readiness) else { return }
    work(for: id) { running.multi.work(on: socket, readiness: readiness.curlBits) }
    drainCompletions()
  }

  /// Does what is due by time. Call it in each turn of the loop, after ``handle(_:)`` for all
  /// events of the turn: the transfers that had their part of it continue in the next.
  package func handleDeadline(at now: ContinuousClock.Instant) {
    let resumed = context.turns.begin()
    let overdue = context.unusedBodies.takeDue(at: now)
    let isDue = running.multi.requests.deadline.map { $0 <= now } ?? false
    let isOpening = context.bandwidth.deadline.map { $0 <= now } ?? false
    guard isDue || isOpening || !resumed.isEmpty || !overdue.isEmpty else { return }
    if isDue { context.current.during(nil) { running.multi.workOnDeadline() } }
    endFinished()
    for (id, deadline) in overdue {
      guard let transfer = running[id], transfer.unusedBodyDeadline == deadline else { continue }
      end(transfer, with: CURLE_WRITE_ERROR)
    }
    for id in resumed {
      // libcurl works on each of them now, and not beside the next socket.
      work(for: id) {
        resume(id)
        running.multi.workOnDeadline()
      }
    }
    if isOpening { resumeHeld(at: now) }
    drainCompletions()
  }

  /// Lets the transfers go on that the limits of bandwidth let through by now.
  private func resumeHeld(at now: ContinuousClock.Instant) {
    while let id = context.bandwidth.takeNext() {
      work(for: id) {
        resume(id)
        running.multi.workOnDeadline()
      }
    }
    context.bandwidth.schedule(after: now)
  }

  /// Has libcurl work on one transfer, which is paused until the next turn if that takes too long.
  private func work(for id: TransferID, _ body: () -> Void) {
    let begin = ThreadClock.time()
    context.current.during(id, body)
    endFinished()
    guard ThreadClock.time() - begin > LoopTurns.maximumWorkTime, let transfer = running[id],
      !transfer.pauseUntilNextTurn()
    else { return }
    end(transfer, with: CURLE_WRITE_ERROR)
  }

  // MARK: - After libcurl worked

  /// Ends what libcurl has finished, resumes what has room by now, then passes on to the poller
  /// what libcurl asked for meanwhile.
  private func drainCompletions() {
    endFinished()
    while let id = context.budgets.nextToResume(), running[id] != nil { resume(id) }
    for change in running.multi.takeSocketChanges() { sockets.apply(change) }
  }

  /// Resumes a transfer that was paused.
  private func resume(_ id: TransferID) {
    guard let transfer = running[id] else { return }
    let code = context.current.during(id) { transfer.easy.resume() }
    // A callback refused what libcurl had kept; nothing else would end the transfer.
    if code != CURLE_OK { end(transfer, with: code) }
    endFinished()
  }

  private func endFinished() {
    while let (transfer, code) = running.multi.nextFinished() { end(transfer, with: code) }
  }

  private func end(_ transfer: Transfer, with code: CURLcode) {
    let id = transfer.id
    guard running.remove(id) != nil else { return }
    defer { running.recycle(transfer) }
    context.turns.end(id)
    context.bandwidth.remove(id)
    let next = transfer.nextStep(after: code)
    // Other transfers do not wait for memory behind one that waits for a decision.
    context.budgets.end(id, isHandedOut: next.handsOutBody)
    switch next {
    case .finished(let outcome): finished.append(outcome)
    case .deferred(let request): finished.append(.deferred(id, request))
    case .repeated(let request): send(request, id)
    case .redirected(let request) where !request.content.isRedirectedFreely:
      redirects.hold(id, request)
    case .continued(let request), .redirected(let request):
      redirects.recordExtraRequest(to: request.host)
      send(request, id)
    }
  }

  // MARK: - The next transfer of a request

  /// Starts the first transfer of a request, or a further one, unless its host is in its cooldown.
  private func send(_ request: TransferRequest, _ id: TransferID) {
    guard !context.cooldowns.isCoolingDown(request.origin, at: .now) else {
      // The host that sent a redirect was asked, so that a later attempt counts as one.
      return finished.append(
        request.history.isRedirected
          ? .refused(id, .coolingDown(request.host), after: request.history)
          : .deferred(id, request))
    }
    let start = affordable(request.start.sent(to: request.issuer), id)
    do throws(CurlError) {
      let request = try request.withCookieJar()
      try running.start(id) { (easy) throws(CurlError) in
        try Transfer(id: id, request: request, start: start, easy: easy, context: context)
      }
    } catch {
      context.budgets.end(id, isHandedOut: false)
      let failure = Failure(stage: .fetch, code: .internal, detail: error.description)
      finished.append(.refused(id, failure, after: request.history))
    }
  }

  /// The start for which the budgets have room: a transfer does not wait for its partial body, but
  /// requests the whole.
  private func affordable(_ start: TransferStart, _ id: TransferID) -> TransferStart {
    guard case .partial(let partial) = start else {
      context.budgets.begin(id)
      return start
    }
    return context.budgets.begin(id, with: partial.content.charge) ? start : .whole()
  }
}

/// What all transfers of a pool have in common: its settings, and the state that they share.
struct TransferContext {
  let limits: Limits
  let addressPolicy: AddressPolicy
  let userAgent: String
  /// Of a request that adds none of its own.
  let headers: RequestHeaders
  let spoolDirectories: SpoolDirectories
  let earlyReject: EarlyReject?
  /// Certificates of the authorities to trust, as PEM; `nil` for those of the system.
  let authorityFile: String?
  let proxies: ProxyRoutes

  let budgets: BodyBudgets
  let bandwidth: BandwidthQueue
  let turns = LoopTurns()
  let current: CurrentTransfer
  let sockets = ConnectionSockets()
  let cooldowns = HostCooldowns()
  let unusedBodies = UnusedBodies()
}

/// How much of a turn of the event loop each transfer may take.
///
/// libcurl reads a socket that stays readable up to a hundred times before it returns (`maxloops`
/// in its transfer.c), and hands over each chunk of a body (RFC 9112 section 7.1) by a call of its
/// own, however short the chunk is: an origin could make that a million calls. It reads chunk
/// extensions without any call. A transfer that has had its part of a turn is paused until the next
/// one. libcurl then joins the bytes that are left in its read buffer, so that even chunks of one
/// byte come as one piece.
final class LoopTurns {
  /// In the largest pieces that libcurl hands over (CURL_MAX_WRITE_SIZE, 16 KiB), 1 MiB.
  static let maximumCallCount = 64
  /// How much processor time libcurl may take for one socket until its transfer is paused. The wall
  /// clock would blame the origin for a busy machine. Copying a hundred full buffers takes two to
  /// three milliseconds.
  static let maximumWorkTime = Duration.milliseconds(5)
  /// A call that brings fewer bytes of a body is a small one.
  private static let minimumByteCount = 16

  /// What a transfer has had of the turn.
  private struct Part {
    var callCount = 0
    var smallCallCount = 0
  }

  private var parts: [TransferID: Part] = [:]
  /// Those paused until the next turn.
  private var waiting: Set<TransferID> = []

  var isAnyWaiting: Bool { !waiting.isEmpty }

  /// Counts one call that brings bytes of a body.
  ///
  /// - Returns: `false` when the transfer has had its part, and has to take them in the next turn.
  func permitsCall(of id: TransferID, byteCount: Int) -> Bool {
    guard parts[id, default: Part()].callCount < Self.maximumCallCount else { return false }
    parts[id, default: Part()].callCount += 1
    if byteCount < Self.minimumByteCount { parts[id, default: Part()].smallCallCount += 1 }
    return true
  }

  /// A transfer that has had its part is paused until ``begin()`` names it.
  ///
  /// - Returns: whether its part was wasted: on small calls by half, or without any call.
  func wait(_ id: TransferID) -> Bool {
    waiting.insert(id)
    let part = parts[id, default: Part()]
    return 2 * part.smallCallCount >= part.callCount
  }

  /// The next turn begins.
  ///
  /// - Returns: the transfers that no longer have to wait, the oldest first.
  func begin() -> [TransferID] {
    parts.removeAll(keepingCapacity: true)
    defer { waiting.removeAll(keepingCapacity: true) }
    return waiting.sorted()
  }

  /// The transfer is no longer under way.
  func end(_ id: TransferID) {
    parts[id] = nil
    waiting.remove(id)
  }
}
