internal import CCurl
package import ImgSystem
package import ImgWire

/// Fetches many URLs at once with libcurl, driven by the event loop of its thread.
///
/// The pool never waits and never calls back. The loop hands it what became ready
/// (``handle(_:)``) and what is due (``handleDeadline(at:)``) and asks for results
/// (``takeFinished()``). How many transfers run at once is for the caller to decide.
///
/// The bodies under way and those handed out share one budget of memory. A transfer whose next
/// bytes do not fit is paused: libcurl keeps at most what it has read already (one buffer of 16
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
  private var idleHandles: [EasyHandle] = []
  /// The sockets the poller knows.
  private var watchedSockets: Set<CInt> = []

  /// How many handles are kept for reuse; more were only needed in a burst.
  private static let maximumIdleHandleCount = 64

  /// - Parameters:
  ///   - runtime: proof that libcurl is initialised.
  ///   - poller: gets the sockets, each with the token `tokenBase | UInt64(socket)`.
  ///   - bodyBudgetByteCount: what the bodies may take together.
  ///   - tokenBase: tells the pool's tokens from others; its low 32 bits are zero.
  ///   - screen: ends a transfer whose body it refuses; `nil` lets all bodies come in whole.
  package init(
    runtime: CurlRuntime, limits: Limits, bodyBudgetByteCount: Int, addressPolicy: AddressPolicy,
    poller: Poller, tokenBase: UInt64, userAgent: String, screen: BodyScreen?
  ) throws(CurlError) {
    precondition(UInt32(truncatingIfNeeded: tokenBase) == 0, "sockets need the low 32 bits")
    settings = TransferSettings(
      limits: limits, addressPolicy: addressPolicy, userAgent: userAgent,
      headers: try RequestHeaders(), budget: BodyBudget(byteCount: bodyBudgetByteCount),
      screen: screen)
    self.poller = poller
    self.tokenBase = tokenBase
    multi = try MultiHandle(connectionLimit: limits.transfers)
  }

  deinit {
    for transfer in active.values { multi.remove(transfer.easy) }
    for socket in watchedSockets { poller.unregister(socket) }
  }

  // MARK: Transfers

  /// How many transfers are under way.
  package var activeCount: Int { active.count }

  /// What the bodies take: those under way, and those handed out and not given back.
  package var heldBodyByteCount: Int { settings.budget.heldByteCount }

  /// Begins to fetch `url`. Whatever happens, also a refusal of the URL, comes out of
  /// ``takeFinished()`` under the number `id`, which no other transfer under way may have. Lower
  /// numbers are older: they come first when bodies have to wait for memory.
  package func start(_ id: UInt64, url: ImageURL) {
    precondition(active[id] == nil, "the number of a transfer is in use")
    do throws(Failure) {
      active[id] = try begin(id, url: ParsedURL(url))
    } catch {
      finished.append(
        FinishedTransfer(
          id: id, result: .failure(error), bytesReceived: 0, retryAfterSeconds: nil,
          wasRedirected: false))
    }
    settle()
  }

  /// Ends a transfer at once. Nothing of it comes out of ``takeFinished()`` afterwards; a number
  /// that is not known any more is fine.
  package func cancel(_ id: UInt64) {
    for case .success(let body) in finished.lazy.filter({ $0.id == id }).map(\.result) {
      settings.budget.release(byteCount: body.heldByteCount)
    }
    finished.removeAll { $0.id == id }
    if let transfer = active.removeValue(forKey: id) {
      settings.budget.end(id, isHandedOut: false)
      release(transfer)
    }
    settle()
  }

  /// What ended since the last call, in the order it ended. Call it after each of the others. Each
  /// body is to be given back to ``releaseBody(byteCount:)``.
  package func takeFinished() -> [FinishedTransfer] {
    defer { finished = [] }
    return finished
  }

  /// Gives back a body that was handed out, now that its memory is free.
  /// - Parameter byteCount: the body's ``FetchedBody/heldByteCount``.
  package func releaseBody(byteCount: Int) {
    settings.budget.release(byteCount: byteCount)
    settle()
  }

  // MARK: The loop

  /// When ``handleDeadline(at:)`` is to be called at the latest; `nil` while nothing is due by
  /// time.
  package var deadline: ContinuousClock.Instant? { multi.requests.deadline }

  /// Takes an event of one of the pool's sockets.
  package func handle(_ readiness: Poller.Readiness) {
    let socket = CInt(truncatingIfNeeded: readiness.token)
    // Handling an earlier event of the same batch may have closed the socket.
    guard watchedSockets.contains(socket) else { return }
    var bits: CInt = 0
    // After a hang-up, reading or writing finds out what happened; that error is better than the
    // one libcurl makes of CURL_CSELECT_ERR.
    if readiness.isReadable || readiness.isHungUp { bits |= CURL_CSELECT_IN }
    if readiness.isWritable || readiness.isHungUp { bits |= CURL_CSELECT_OUT }
    multi.work(on: socket, readiness: bits)
    settle()
  }

  /// Does what is due by time, if ``deadline`` has come.
  package func handleDeadline(at now: ContinuousClock.Instant) {
    guard let deadline, deadline <= now else { return }
    multi.workOnDeadline()
    settle()
  }

  // MARK: After libcurl worked

  /// Collects what ended, lets go on what has room by now, then passes on to the poller what
  /// libcurl asked for meanwhile.
  private func settle() {
    collectFinished()
    while let id = settings.budget.nextToResume(), let transfer = active[id] {
      let code = transfer.easy.resume()
      // A callback refused what libcurl had kept; nothing else would end the transfer.
      if code != CURLE_OK { end(transfer, with: code) }
      collectFinished()
    }
    let changes = multi.requests.socketChanges
    multi.requests.socketChanges = []
    for change in changes { apply(change) }
  }

  private func collectFinished() {
    while let (transfer, code) = multi.nextFinished() { end(transfer, with: code) }
  }

  private func end(_ transfer: Transfer, with code: CURLcode) {
    let outcome = transfer.finish(with: code)
    let isHandedOut = if case .success = outcome.result { true } else { false }
    settings.budget.end(transfer.id, isHandedOut: isHandedOut)
    finished.append(outcome)
    active[transfer.id] = nil
    release(transfer)
  }

  private func apply(_ change: LoopRequests.SocketChange) {
    let socket = change.socket
    guard change.poll != CURL_POLL_REMOVE else {
      if watchedSockets.remove(socket) != nil { poller.unregister(socket) }
      return
    }
    var interest: Poller.Interest = []
    if change.poll & CURL_POLL_IN != 0 { interest.insert(.read) }
    if change.poll & CURL_POLL_OUT != 0 { interest.insert(.write) }
    let token = tokenBase | UInt64(socket)
    // The kernel refuses only for lack of memory. The transfer then ends by its own time limit,
    // which needs no socket, so there is nobody to tell.
    if watchedSockets.insert(socket).inserted {
      try? poller.register(socket, interest, token: token)
    } else {
      try? poller.update(socket, interest, token: token)
    }
  }

  // MARK: Handles

  private func begin(_ id: UInt64, url: ParsedURL) throws(Failure) -> Transfer {
    do throws(CurlError) {
      let easy = if let idle = idleHandles.popLast() { idle } else { try EasyHandle() }
      let transfer = try Transfer(id: id, url: url, easy: easy, settings: settings)
      try multi.raiseConnectionLimit(to: active.count + 1)
      try multi.add(transfer.easy)
      settings.budget.begin(id)
      return transfer
    } catch {
      throw Failure(stage: .fetch, code: .internal, detail: error.description)
    }
  }

  private func release(_ transfer: Transfer) {
    multi.remove(transfer.easy)
    guard idleHandles.count < Self.maximumIdleHandleCount else { return }
    transfer.easy.reset()
    idleHandles.append(transfer.easy)
  }
}

@available(*, unavailable)
extension TransferPool: Sendable {}
