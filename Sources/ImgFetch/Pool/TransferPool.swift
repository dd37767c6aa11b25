internal import CCurl
package import ImgModel
package import ImgSystem

/// Fetches many URLs at once with libcurl, driven by the event loop of its thread.
///
/// The pool never waits and never calls back. The loop hands it what became ready
/// (``handle(_:)``) and what is due (``handleDeadline(at:)``) and asks for results
/// (``takeFinished()``). How many transfers run at once is for the caller to decide.
///
/// The bodies under way and those handed out share one budget of memory, and those that are too long
/// for memory one of files. A transfer whose next bytes do not fit is paused: libcurl keeps at most what it has read already (one buffer of 64
/// KiB) and stops reading the socket, so the origin has to wait. A paused transfer does not count
/// as stalled, but its whole time goes on; one that waits too long ends as a timeout. Paused
/// transfers go on, oldest first, when a body is given back or another transfer ends. The oldest
/// under way is not paused while no body is handed out, so something always goes on, and what is
/// held passes the budget by at most one body.
///
/// All transfers share answers of name servers and, one after the other, connections. At most as
/// many connections stay open as transfers ever ran at once, or as the limits allowed at the start.
/// Bound to the thread that made it.
package final class TransferPool {
  private let settings: TransferSettings
  private let poller: Poller
  private let tokenBase: UInt64
  private let multi: MultiHandle

  private var active: [UInt64: Transfer] = [:]
  private var finished: [FinishedTransfer] = []
  /// Requests that go on where a redirect leads, if they may.
  private var redirected: [UInt64: (url: ParsedURL, request: TransferRequest)] = [:]
  private var untoldRedirects: [Redirect] = []
  private var untoldHops: [String] = []
  private var idleHandles: [EasyHandle] = []
  /// The sockets the poller knows, with the transfers that they serve.
  private var watchedSockets: [CInt: UInt64] = [:]

  /// How many handles are kept for reuse; more were only needed in a burst.
  private static let maximumIdleHandleCount = 64
  /// Bodies of the greatest length that may lie in files together.
  private static let spooledBodyCount = 8

  /// - Parameters:
  ///   - runtime: proof that libcurl is initialised.
  ///   - poller: gets the sockets, each with the token `tokenBase | UInt64(socket)`.
  ///   - bodyBudgetByteCount: what the bodies in memory may take together.
  ///   - spoolDirectories: where files without names are made for long bodies, in the first that
  ///     takes one. Without any, all bodies come to lie in memory.
  ///   - tokenBase: tells the pool's tokens from others; its low 32 bits are zero.
  ///   - screen: ends a transfer whose body it refuses; `nil` lets all bodies come in whole.
  ///   - authorityFile: certificates of the authorities to trust, as PEM; `nil` for those of the
  ///     system. Where it cannot be read, every transfer over TLS fails.
  ///   - onWork: gets the number of the transfer that libcurl is working on, and `nil` when it is
  ///     working on none.
  package init(
    runtime: CurlRuntime, limits: Limits, bodyBudgetByteCount: Int, addressPolicy: AddressPolicy,
    spoolDirectories: [String], poller: Poller, tokenBase: UInt64, userAgent: String,
    screen: BodyScreen?, authorityFile: String? = nil,
    onWork: @escaping (UInt64?) -> Void = { _ in }
  ) throws(CurlError) {
    precondition(UInt32(truncatingIfNeeded: tokenBase) == 0, "sockets need the low 32 bits")
    settings = TransferSettings(
      limits: limits, addressPolicy: addressPolicy, userAgent: userAgent,
      headers: try RequestHeaders(),
      budgets: BodyBudgets(
        memoryByteCount: bodyBudgetByteCount,
        fileByteCount: Self.spooledBodyCount * Int(limits.maxBodyByteCount)),
      current: CurrentTransfer(report: onWork), cooldowns: HostCooldowns(),
      spoolDirectories: spoolDirectories, screen: screen, authorityFile: authorityFile)
    self.poller = poller
    self.tokenBase = tokenBase
    multi = try MultiHandle(connectionLimit: limits.transfers)
  }

  deinit {
    for transfer in active.values { multi.remove(transfer.easy) }
    for socket in watchedSockets.keys { poller.unregister(socket) }
  }

  // MARK: Transfers

  /// How many transfers are under way.
  package var activeCount: Int { active.count }

  /// What the bodies in memory take: those under way, and those handed out and not given back.
  package var heldBodyByteCount: Int { settings.budgets.heldMemoryByteCount }

  /// The same of the bodies in files.
  package var heldFileByteCount: Int { settings.budgets.heldFileByteCount }

  /// Begins to fetch `url`. Whatever happens, also a refusal of the URL, comes out of
  /// ``takeFinished()`` under the number `id`, which no other transfer under way may have. Lower
  /// numbers are older: they come first when bodies have to wait for memory. A host that has said
  /// that it wants to be left alone is sent nothing.
  ///
  /// A redirect that somebody else has to decide on (``awaitsDecision(_:leavesHost:)``) comes out of
  /// ``takeRedirects()`` and is not followed before ``follow(_:excluding:)`` says so.
  ///
  /// - Parameters:
  ///   - options: what is sent, and what of the origin's wishes is respected.
  ///   - beginning: what an earlier transfer left; only the rest is asked for. Where the origin does
  ///     not send that, the whole body comes in all the same.
  ///   - validators: of what the store has; the origin is asked to send nothing if that still holds.
  ///     Of no account beside a beginning.
  ///   - begunAt: since when the limit of the whole transfer counts.
  package func start(
    _ id: UInt64, url: ImageURL, as options: FetchOptions = .standard,
    from beginning: BodyBeginning? = nil, unlessMatching validators: Validators? = nil,
    begunAt: ContinuousClock.Instant = .now
  ) {
    start(
      id, url: url,
      TransferRequest(
        host: url.host, options: options,
        start: beginning.map(TransferStart.beginning) ?? .zero(unlessMatching: validators),
        past: TransferPast(begunAt: begunAt)))
  }

  /// The same for the robots.txt of the URL's origin, of which a picture's limit of size does not
  /// matter.
  package func startRobots(_ id: UInt64, of url: ImageURL) {
    do throws(Failure) {
      // libcurl hands over up to 16 KiB at a time (CURL_MAX_WRITE_SIZE), and what passes the limit is
      // dropped.
      let byteCount = RobotsRules.maximumByteCount + Int(CURL_MAX_WRITE_SIZE)
      start(
        id, url: try ImageURL(parsing: "\(url.origin)/robots.txt"),
        TransferRequest(host: url.host, content: .text(maximumByteCount: byteCount)))
    } catch {
      finished.append(.refused(id, error))
    }
  }

  private func start(_ id: UInt64, url: ImageURL, _ request: TransferRequest) {
    precondition(
      active[id] == nil && redirected[id] == nil, "the number of a transfer is in use")
    do throws(Failure) {
      goOn(id, try ParsedURL(url), request)
    } catch {
      finished.append(.refused(id, error))
    }
    settle()
  }

  /// Lets a transfer go on where its redirect leads; a number that is not known any more is fine.
  ///
  /// - Parameter wait: for how long it has waited for others. That does not count as its time.
  package func follow(_ id: UInt64, excluding wait: Duration = .zero) {
    guard let (url, suspended) = redirected.removeValue(forKey: id) else { return }
    var request = suspended
    request.past.begunAt += wait
    goOn(id, url, request)
    settle()
  }

  /// A copy of bytes for a ``BodyBeginning``: in a file when they are too many for memory.
  package func content(copying bytes: Span<UInt8>) -> BodyContent {
    if bytes.count > BodyBuffer.maximumMemoryByteCount, let file = settings.spoolFile(),
      (try? file.append(bytes)) != nil
    {
      return .file(file, byteCount: bytes.count)
    }
    return .memory(unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) })
  }

  /// Ends a transfer at once. Nothing of it comes out of ``takeFinished()`` afterwards; a number
  /// that is not known any more is fine.
  package func cancel(_ id: UInt64) {
    for charge in finished.filter({ $0.id == id }).compactMap(\.charge) {
      settings.budgets.release(charge)
    }
    finished.removeAll { $0.id == id }
    untoldRedirects.removeAll { $0.id == id }
    redirected[id] = nil
    if let transfer = active.removeValue(forKey: id) {
      settings.budgets.end(id, isHandedOut: false)
      settings.turns.end(id)
      release(transfer)
    }
    settle()
  }

  /// What ended since the last call, in the order it ended. Call it after each of the others. Each
  /// body is to be given back to ``releaseBody(_:)``.
  package func takeFinished() -> [FinishedTransfer] {
    defer { finished = [] }
    return finished
  }

  /// The redirects since the last call that wait for ``follow(_:excluding:)`` or ``cancel(_:)``.
  /// Call it before ``takeFinished()``.
  package func takeRedirects() -> [Redirect] {
    defer { untoldRedirects = [] }
    return untoldRedirects
  }

  /// The hosts that have redirected requests to themselves since the last call, once for each request
  /// that followed.
  package func takeHops() -> [String] {
    defer { untoldHops = [] }
    return untoldHops
  }

  /// What hosts have said since the last call of how long they want to be left alone.
  package func takeCooldowns() -> [HostCooldown] { settings.cooldowns.takeUntold() }

  /// Gives back a body that was handed out, now that its memory is free or its file is closed.
  /// - Parameter charge: the body's ``FetchedBody/charge``.
  package func releaseBody(_ charge: BodyCharge) {
    settings.budgets.release(charge)
    settle()
  }

  // MARK: The loop

  /// When ``handleDeadline(at:)`` is to be called at the latest; `nil` while nothing is due by
  /// time.
  package var deadline: ContinuousClock.Instant? {
    guard !settings.turns.isAnyWaiting else { return .now }
    return [multi.requests.deadline, settings.unusedBodies.nextDeadline].compactMap(\.self).min()
  }

  /// Takes an event of one of the pool's sockets.
  package func handle(_ readiness: Poller.Readiness) {
    let socket = CInt(truncatingIfNeeded: readiness.token)
    // Handling an earlier event of the same batch may have closed the socket.
    guard let id = watchedSockets[socket] else { return }
    var bits: CInt = 0
    // After a hang-up, reading or writing finds out what happened; that error is better than the
    // one libcurl makes of CURL_CSELECT_ERR.
    if readiness.isReadable || readiness.isHungUp { bits |= CURL_CSELECT_IN }
    if readiness.isWritable || readiness.isHungUp { bits |= CURL_CSELECT_OUT }
    work(for: id) { multi.work(on: socket, readiness: bits) }
    settle()
  }

  /// Does what is due by time. To be called in each turn of the loop, after ``handle(_:)`` for all
  /// events of the turn: the transfers that had their part of it go on in the next.
  package func handleDeadline(at now: ContinuousClock.Instant) {
    let resumed = settings.turns.begin()
    let overdue = settings.unusedBodies.takeDue(at: now)
    let isDue = multi.requests.deadline.map { $0 <= now } ?? false
    guard isDue || !resumed.isEmpty || !overdue.isEmpty else { return }
    if isDue { settings.current.during(nil) { multi.workOnDeadline() } }
    collectFinished()
    for (id, deadline) in overdue {
      guard let transfer = active[id], transfer.unusedBodyDeadline == deadline else { continue }
      end(transfer, with: CURLE_WRITE_ERROR)
    }
    for id in resumed {
      // libcurl works on each of them now, and not beside the next socket.
      work(for: id) {
        resume(id)
        multi.workOnDeadline()
      }
    }
    settle()
  }

  /// Has libcurl work on one transfer, which is paused until the next turn if that takes too long.
  private func work(for id: UInt64, _ body: () -> Void) {
    let begin = ThreadClock.time()
    settings.current.during(id, body)
    collectFinished()
    // A head is short (``Transfer/maximumHeadByteCount``), and libcurl 7.88 takes an answer for whole that
    // is paused in the middle of it.
    guard ThreadClock.time() - begin > LoopTurns.maximumWorkTime, let transfer = active[id],
      transfer.head.isComplete, transfer.easy.pause() == CURLE_OK
    else { return }
    transfer.awaitTurn()
    if transfer.isWasteful { end(transfer, with: CURLE_WRITE_ERROR) }
  }

  // MARK: After libcurl worked

  /// Collects what ended, lets go on what has room by now, then passes on to the poller what
  /// libcurl asked for meanwhile.
  private func settle() {
    collectFinished()
    while let id = settings.budgets.nextToResume(), active[id] != nil { resume(id) }
    let changes = multi.requests.socketChanges
    multi.requests.socketChanges = []
    for change in changes { apply(change) }
  }

  /// Lets a transfer go on that was paused.
  private func resume(_ id: UInt64) {
    guard let transfer = active[id] else { return }
    let code = settings.current.during(id) { transfer.easy.resume() }
    // A callback refused what libcurl had kept; nothing else would end the transfer.
    if code != CURLE_OK { end(transfer, with: code) }
    collectFinished()
  }

  private func collectFinished() {
    while let (transfer, code) = multi.nextFinished() { end(transfer, with: code) }
  }

  private func end(_ transfer: Transfer, with code: CURLcode) {
    let id = transfer.id
    active[id] = nil
    defer { release(transfer) }
    settings.turns.end(id)
    if transfer.isHeldBack {
      settings.budgets.end(id, isHandedOut: false)
      return finished.append(.heldBack(id, transfer.request))
    }
    if transfer.isUnanswered {
      settings.budgets.end(id, isHandedOut: false)
      return goOn(id, transfer.url, transfer.requestOnFreshConnection)
    }
    if redirect(transfer, after: code) { return }
    guard !transfer.isToBeginAnew(after: code) else {
      settings.budgets.end(id, isHandedOut: false)
      // Once only: what begins anew has nothing to go on from.
      return goOn(id, transfer.url, transfer.requestForWhole)
    }
    let outcome = transfer.finish(with: code)
    settings.budgets.end(id, isHandedOut: outcome.charge != nil)
    finished.append(outcome)
  }

  /// Goes on where the answer leads, or has that decided.
  ///
  /// - Returns: whether it leads anywhere.
  private func redirect(_ transfer: Transfer, after code: CURLcode) -> Bool {
    do throws(Failure) {
      guard let target = try transfer.redirectTarget(after: code) else { return false }
      // Other transfers do not wait for memory behind one that waits for a decision.
      settings.budgets.end(transfer.id, isHandedOut: false)
      let request = transfer.request(following: target)
      let leavesHost = request.host != transfer.request.host
      if awaitsDecision(request, leavesHost: leavesHost) {
        untoldRedirects.append(
          Redirect(id: transfer.id, url: target.url, leavesHost: leavesHost))
        redirected[transfer.id] = (target.parsedURL, request)
      } else {
        untoldHops.append(request.host)
        goOn(transfer.id, target.parsedURL, request)
      }
      return true
    } catch {
      transfer.refusal = error
      return false
    }
  }

  /// Whether a request that a redirect has led to waits for ``follow(_:excluding:)``: robots.txt has
  /// to allow it, or another host has to have a slot. A robots.txt itself needs neither.
  private func awaitsDecision(_ request: TransferRequest, leavesHost: Bool) -> Bool {
    guard case .picture = request.content else { return false }
    return request.options.respectsRobots || leavesHost
  }

  /// Begins the first transfer for a request, or one more.
  private func goOn(_ id: UInt64, _ url: ParsedURL, _ request: TransferRequest) {
    guard !settings.cooldowns.isCoolingDown(request.host, at: .now) else {
      // The host that sent a redirect was asked, so that to come again is another attempt.
      return finished.append(
        request.past.isRedirected
          ? .refused(id, .resting(request.host), after: request.past) : .heldBack(id, request))
    }
    do throws(Failure) {
      try begin(id, url: url, request)
    } catch {
      finished.append(.refused(id, error, after: request.past))
    }
  }

  private func apply(_ change: LoopRequests.SocketChange) {
    let socket = change.socket
    guard change.poll != CURL_POLL_REMOVE else {
      if watchedSockets.removeValue(forKey: socket) != nil { poller.unregister(socket) }
      return
    }
    guard let id = change.transferID else { return }
    var interest: Poller.Interest = []
    if change.poll & CURL_POLL_IN != 0 { interest.insert(.read) }
    if change.poll & CURL_POLL_OUT != 0 { interest.insert(.write) }
    let token = tokenBase | UInt64(socket)
    // The kernel refuses only for lack of memory. The transfer then ends by its own time limit,
    // which needs no socket, so there is nobody to tell.
    if watchedSockets.updateValue(id, forKey: socket) == nil {
      try? poller.register(socket, interest, token: token)
    } else {
      try? poller.update(socket, interest, token: token)
    }
  }

  // MARK: Handles

  private func begin(
    _ id: UInt64, url: ParsedURL, _ request: TransferRequest
  ) throws(Failure) {
    settings.budgets.begin(id)
    do throws(CurlError) {
      let easy = if let idle = idleHandles.popLast() { idle } else { try EasyHandle() }
      let start = affordable(request.start.asked(of: request.issuer(url)), id)
      let transfer = try Transfer(
        id: id, url: url, request: request, start: start, easy: easy, settings: settings)
      try multi.raiseConnectionLimit(to: active.count + 1)
      try multi.add(transfer.easy)
      active[id] = transfer
    } catch {
      settings.budgets.end(id, isHandedOut: false)
      throw Failure(stage: .fetch, code: .internal, detail: error.description)
    }
  }

  /// A transfer does not wait for room for what it goes on from: it leaves that where it is.
  private func affordable(_ start: TransferStart, _ id: UInt64) -> TransferStart {
    guard case .beginning(let beginning) = start else { return start }
    let charge = beginning.content.charge
    guard settings.budgets.grow(id, to: charge) else {
      settings.budgets.end(id, isHandedOut: false)
      settings.budgets.begin(id)
      return .zero()
    }
    if charge.isOfFile { settings.budgets.leaveMemory(id) }
    return start
  }

  private func release(_ transfer: Transfer) {
    multi.remove(transfer.easy)
    guard idleHandles.count < Self.maximumIdleHandleCount, (try? transfer.easy.reset()) != nil
    else { return }
    idleHandles.append(transfer.easy)
  }
}

/// A redirect that waits for ``TransferPool/follow(_:excluding:)``.
package struct Redirect {
  /// The transfer's number.
  package let id: UInt64
  /// Where it leads.
  package let url: ImageURL
  /// Whether that is another host.
  package let leavesHost: Bool
}

@available(*, unavailable)
extension TransferPool: Sendable {}
