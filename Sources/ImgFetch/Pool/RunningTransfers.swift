internal import CCurl
import ImgFacts
package import ImgModel

/// The transfers under way, and the libcurl handles that they run on.
final class RunningTransfers {
  let multi: MultiHandle
  private var transfers: [TransferID: Transfer] = [:]
  private var idleHandles: [EasyHandle] = []

  /// How many handles are kept for reuse; more were only needed in a burst.
  private static let maximumIdleHandleCount = 64

  /// - Parameter connectionLimit: how many connections stay open, unless more transfers run at
  ///   once.
  init(connectionLimit: Int) throws(CurlError) {
    multi = try MultiHandle(connectionLimit: connectionLimit)
  }

  deinit {
    for transfer in transfers.values { multi.remove(transfer.easy) }
  }

  var count: Int { transfers.count }

  subscript(id: TransferID) -> Transfer? { transfers[id] }

  /// Starts a transfer.
  ///
  /// - Parameter make: makes it with a fresh or reset handle.
  func start(
    _ id: TransferID, _ make: (EasyHandle) throws(CurlError) -> Transfer
  ) throws(CurlError) {
    precondition(transfers[id] == nil, "the number of a transfer is in use")
    let easy = if let idle = idleHandles.popLast() { idle } else { try EasyHandle() }
    let transfer = try make(easy)
    try multi.raiseConnectionLimit(to: transfers.count + 1)
    try multi.add(easy)
    transfers[id] = transfer
  }

  /// Ends a transfer, whatever it is doing. ``recycle(_:)`` takes its handle back, which still
  /// tells of the transfer until then.
  func remove(_ id: TransferID) -> Transfer? {
    transfers.removeValue(forKey: id)
  }

  /// Takes back the handle of a transfer that was removed.
  func recycle(_ transfer: Transfer) {
    precondition(transfers[transfer.id] !== transfer, "the transfer is under way")
    multi.remove(transfer.easy)
    guard idleHandles.count < Self.maximumIdleHandleCount, (try? transfer.easy.reset()) != nil
    else { return }
    idleHandles.append(transfer.easy)
  }
}

/// The transfer that libcurl is working on.
///
/// Each change is reported at once. A worker reports it to its heartbeat page, which then still
/// names the transfer when libcurl does not return. A call for one socket is for one transfer. A
/// call for what is due by time is for any number of them: it starts without a name, and the
/// callbacks set one.
final class CurrentTransfer {
  private var id: TransferID?
  private let report: (TransferID?) -> Void

  init(report: @escaping (TransferID?) -> Void) {
    self.report = report
  }

  /// Has libcurl work for one transfer, or for those that are due where `id` is `nil`.
  func during<Result>(_ id: TransferID?, _ work: () -> Result) -> Result {
    let outer = self.id
    set(id)
    defer { set(outer) }
    return work()
  }

  /// libcurl calls back for a transfer.
  func set(_ id: TransferID?) {
    guard id != self.id else { return }
    self.id = id
    report(id)
  }
}

/// The bodies that come in and are not used, by the time at which they are cut off. A short one is
/// read to its end, because its connection can then be used again. A slow one is not worth the slot
/// that its transfer holds.
final class UnusedBodies {
  /// The most that is read of one body.
  static let maximumByteCount = 64 << 10
  /// Enough for a page that follows its head at once.
  private static let patience = Duration.milliseconds(500)

  /// The oldest first, as all have the same time.
  private var entries: [(id: TransferID, deadline: ContinuousClock.Instant)] = []

  /// The head of a response is in, and a body follows.
  ///
  /// - Returns: when it is cut off.
  func note(_ id: TransferID, at now: ContinuousClock.Instant) -> ContinuousClock.Instant {
    let deadline = now + Self.patience
    entries.append((id, deadline))
    return deadline
  }

  /// When the next body is cut off.
  var nextDeadline: ContinuousClock.Instant? { entries.first?.deadline }

  /// The transfers whose bodies are due, with their deadlines: a transfer may have ended since, and
  /// another may have its number.
  func takeDue(
    at now: ContinuousClock.Instant
  ) -> [(id: TransferID, deadline: ContinuousClock.Instant)] {
    let due = entries.prefix { $0.deadline <= now }
    entries.removeFirst(due.count)
    return Array(due)
  }
}

/// One transfer's share of the turns of the loop.
struct TurnShare {
  private let id: TransferID
  private let turns: LoopTurns
  /// How often the transfer had its part of a turn for next to nothing.
  private var wastedCount = 0

  /// By then an origin that sends chunks of a few bytes has sent 8 MiB: a read buffer each turn.
  static let maximumWastedCount = 128

  init(of id: TransferID, in turns: LoopTurns) {
    self.id = id
    self.turns = turns
  }

  /// Counts one call that brings bytes of a body.
  ///
  /// - Returns: `false` when the transfer has had its part of this turn.
  func permitCall(byteCount: Int) -> Bool {
    turns.permitsCall(of: id, byteCount: byteCount)
  }

  /// The transfer is paused until the next turn.
  ///
  /// - Returns: `false` when it is to end instead, because it has wasted too many turns.
  mutating func awaitNext() -> Bool {
    if turns.wait(id) { wastedCount += 1 }
    return wastedCount <= Self.maximumWastedCount
  }
}

/// The origins that sent Retry-After (RFC 9110 section 10.2.3) to the transfers of one pool, and
/// until when they get no requests. The coordinator, which assigns the transfers, hears of it a
/// moment later; until then the pool itself sends them nothing, and never for longer than the coordinator
/// keeps any request back.
final class HostCooldowns {
  private var ends: [String: ContinuousClock.Instant] = [:]
  /// With so many origins those whose cooldown is over are removed: twice as many as were left the
  /// last time, so that each costs little however many there are.
  private var pruningCount = minimumPruningCount
  private var unreported: [HostCooldown] = []

  private static let minimumPruningCount = 1_024

  /// A shorter cooldown does not replace a longer one.
  func record(_ cooldown: HostCooldown, at now: ContinuousClock.Instant) {
    if ends.count >= pruningCount {
      ends = ends.filter { $0.value > now }
      pruningCount = max(2 * ends.count, Self.minimumPruningCount)
    }
    let end = now + min(cooldown.duration, HostCooldown.maximumForViewers)
    ends[cooldown.origin] = max(ends[cooldown.origin] ?? end, end)
    unreported.append(cooldown)
  }

  func isCoolingDown(_ origin: String, at now: ContinuousClock.Instant) -> Bool {
    ends[origin].map { now < $0 } ?? false
  }

  /// Those that were recorded since the last call.
  func takeUnreported() -> [HostCooldown] {
    defer { unreported = [] }
    return unreported
  }
}

/// A redirect that waits for ``TransferPool/follow(_:excluding:)``.
package struct PendingRedirect {
  /// The transfer's number.
  package let id: TransferID
  /// Where it leads.
  package let url: ImageURL
}

/// The redirects of a pool: those that wait for a decision, and what the pool's owner has not been
/// told.
struct PendingRedirects {
  private var requests: [TransferID: TransferRequest] = [:]
  private var unreported: [PendingRedirect] = []
  private var unreportedExtraHosts: [String] = []

  func contains(_ id: TransferID) -> Bool { requests[id] != nil }

  /// A redirect waits for a decision.
  ///
  /// - Parameter request: to where it leads.
  mutating func hold(_ id: TransferID, _ request: TransferRequest) {
    precondition(requests[id] == nil, "a transfer has two redirects")
    requests[id] = request
    unreported.append(PendingRedirect(id: id, url: request.url.image))
  }

  /// A host gets another request at once, after a redirect of a robots.txt or for a further part of a file.
  mutating func recordExtraRequest(to host: String) {
    unreportedExtraHosts.append(host)
  }

  /// - Returns: the request that follows the redirect; `nil` when none waits.
  mutating func release(_ id: TransferID) -> TransferRequest? {
    requests.removeValue(forKey: id)
  }

  mutating func cancel(_ id: TransferID) {
    requests[id] = nil
    unreported.removeAll { $0.id == id }
  }

  /// The redirects that wait for a decision since the last call.
  mutating func takeUnreported() -> [PendingRedirect] {
    defer { unreported = [] }
    return unreported
  }

  /// The hosts that got more requests since the last call, once for each request.
  mutating func takeExtraRequests() -> [String] {
    defer { unreportedExtraHosts = [] }
    return unreportedExtraHosts
  }
}

/// One libcurl multi handle: the connections of all transfers and their name look-ups.
///
/// Invariant: every easy handle was removed before the multi handle ends (curl_multi_cleanup(3)).
@safe
final class MultiHandle {
  private let pointer: UnsafeMutableRawPointer
  /// The callbacks' only context; lives as long as the multi handle.
  let requests = LoopRequests()
  private var connectionLimit = 0

  /// - Parameter connectionLimit: see ``raiseConnectionLimit(to:)``.
  init(connectionLimit: Int) throws(CurlError) {
    guard let pointer = unsafe curl_multi_init() else {
      throw CurlError(operation: "curl_multi_init", reason: CURLE_OUT_OF_MEMORY.text)
    }
    unsafe self.pointer = pointer
    let context = unsafe Unmanaged.passUnretained(requests).toOpaque()
    try check(unsafe curl_multi_setopt_pointer(pointer, CURLMOPT_SOCKETDATA, context))
    try check(unsafe curl_multi_setopt_pointer(pointer, CURLMOPT_TIMERDATA, context))
    try check(
      unsafe curl_multi_setopt_socket_callback(pointer, CURLMOPT_SOCKETFUNCTION) {
        easy, socket, poll, context, _ in
        if let context = unsafe context {
          let id = unsafe easy.flatMap { unsafe Transfer.owner(of: $0) }?.id
          unsafe Unmanaged<LoopRequests>.fromOpaque(context).takeUnretainedValue()
            .socketChanges.append(
              LoopRequests.SocketChange(socket: socket, transferID: id, poll: poll))
        }
        return 0
      })
    try check(
      unsafe curl_multi_setopt_timer_callback(pointer, CURLMOPT_TIMERFUNCTION) {
        _, milliseconds, context in
        if let context = unsafe context {
          unsafe Unmanaged<LoopRequests>.fromOpaque(context).takeUnretainedValue()
            .deadline = milliseconds < 0 ? nil : .now + .milliseconds(milliseconds)
        }
        return 0
      })
    try raiseConnectionLimit(to: max(connectionLimit, 1))
  }

  deinit {
    unsafe curl_multi_cleanup(pointer)
  }

  /// Keeps up to so many connections open, if that is more than before.
  ///
  /// Whenever a transfer ends and there are more, those in use counted, libcurl closes the one that
  /// lay idle longest (CURLMOPT_MAXCONNECTS(3)). So a limit below the number of transfers under way
  /// would close every connection after one use. No transfer ever waits for it.
  func raiseConnectionLimit(to limit: Int) throws(CurlError) {
    guard limit > connectionLimit else { return }
    try check(unsafe curl_multi_setopt_long(pointer, CURLMOPT_MAXCONNECTS, limit))
    connectionLimit = limit
  }

  func add(_ easy: EasyHandle) throws(CurlError) {
    let code = unsafe curl_multi_add_handle(pointer, easy.pointer)
    guard code == CURLM_OK else { throw CurlError(operation: "curl_multi_add_handle", code: code) }
  }

  /// Takes a handle out, whatever its transfer is doing; a connection in the middle of something
  /// is closed.
  func remove(_ easy: EasyHandle) {
    require(unsafe curl_multi_remove_handle(pointer, easy.pointer))
  }

  /// Lets libcurl work on a socket that is ready.
  /// - Parameter readiness: `CURL_CSELECT_` bits.
  func work(on socket: CInt, readiness: CInt) {
    var runningCount: CInt = 0
    require(unsafe curl_multi_socket_action(pointer, socket, readiness, &runningCount))
  }

  /// Lets libcurl work on what is due by time.
  func workOnDeadline() {
    // libcurl asks again when there is more to come.
    requests.deadline = nil
    work(on: CURL_SOCKET_BAD, readiness: 0)
  }

  /// What libcurl wants watched differently since the last call.
  func takeSocketChanges() -> [LoopRequests.SocketChange] {
    defer { requests.socketChanges = [] }
    return requests.socketChanges
  }

  /// A transfer that has ended and was not returned yet; the caller removes its handle.
  func nextFinished() -> (transfer: Transfer, code: CURLcode)? {
    var remainingCount: CInt = 0
    while let message = unsafe curl_multi_info_read(pointer, &remainingCount) {
      guard unsafe message.pointee.msg == CURLMSG_DONE,
        let easy = unsafe message.pointee.easy_handle,
        let transfer = unsafe Transfer.owner(of: easy)
      else { continue }
      return (transfer, unsafe message.pointee.data.result)
    }
    return nil
  }

  private func check(_ code: CURLMcode) throws(CurlError) {
    guard code == CURLM_OK else { throw CurlError(operation: "curl_multi_setopt", code: code) }
  }

  /// Other results of these calls than OK mean misuse, or too little memory to continue.
  private func require(_ code: CURLMcode) {
    precondition(code == CURLM_OK, "libcurl's multi handle is unusable")
  }
}

/// What libcurl has asked of the event loop since the pool last looked.
///
/// libcurl calls back in the middle of its work, where it may not be called itself
/// (CURLMOPT_TIMERFUNCTION(3)). So the callbacks only write here, and the pool acts afterwards.
final class LoopRequests {
  /// One socket libcurl wants watched differently.
  struct SocketChange {
    let socket: CInt
    /// The transfer that the connection serves.
    let transferID: TransferID?
    /// A `CURL_POLL_` constant.
    let poll: CInt
  }

  /// In the order they were asked. The order matters: a number removed and then added again is
  /// another socket, which the poller does not know yet.
  var socketChanges: [SocketChange] = []
  /// When libcurl wants to be called without any socket being ready; `nil` for never.
  var deadline: ContinuousClock.Instant?
}
