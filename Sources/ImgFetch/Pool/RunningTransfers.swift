internal import CCurl

/// The transfers under way, and the libcurl handles that they run on.
final class RunningTransfers {
  private let multi: MultiHandle
  private var transfers: [UInt64: Transfer] = [:]
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

  subscript(id: UInt64) -> Transfer? { transfers[id] }

  /// Starts a transfer.
  ///
  /// - Parameter make: makes it with a fresh or reset handle.
  func start(
    _ id: UInt64, _ make: (EasyHandle) throws(CurlError) -> Transfer
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
  func remove(_ id: UInt64) -> Transfer? {
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

  // MARK: - libcurl's work

  /// When libcurl wants to be called without any socket being ready; `nil` for never.
  var deadline: ContinuousClock.Instant? { multi.requests.deadline }

  /// What libcurl wants watched differently since the last call.
  func takeSocketChanges() -> [LoopRequests.SocketChange] {
    defer { multi.requests.socketChanges = [] }
    return multi.requests.socketChanges
  }

  /// Lets libcurl work on a socket that is ready.
  func work(on socket: CInt, readiness: CInt) {
    multi.work(on: socket, readiness: readiness)
  }

  /// Lets libcurl work on what is due by time.
  func workOnDeadline() {
    multi.workOnDeadline()
  }

  /// A transfer that has ended and was not returned yet; it is still to be removed.
  func nextFinished() -> (transfer: Transfer, code: CURLcode)? {
    multi.nextFinished()
  }
}

@available(*, unavailable)
extension RunningTransfers: Sendable {}
