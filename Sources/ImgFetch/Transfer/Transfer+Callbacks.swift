internal import CCurl
internal import Glibc
internal import ImgModel
internal import ImgSystem

/// What libcurl calls while a transfer runs. Each callback only records; none calls libcurl but to
/// ask for facts, and none lets an error out, because there is nothing in C to catch it.
extension Transfer {
  func installCallbacks() throws(CurlError) {
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    try easy.enableErrorText()
    try unsafe easy.set(CURLOPT_PRIVATE, context)
    try unsafe easy.set(CURLOPT_WRITEDATA, context)
    try unsafe easy.set(CURLOPT_HEADERDATA, context)
    try unsafe easy.set(CURLOPT_OPENSOCKETDATA, context)
    try easy.check(
      CURLOPT_WRITEFUNCTION,
      unsafe curl_easy_setopt_write_callback(easy.pointer, CURLOPT_WRITEFUNCTION) {
        start, size, count, context in
        let chunk = unsafe UnsafeRawBufferPointer(start: start, count: size * count)
        return unsafe Transfer.calledBack(context).takeBody(chunk)
      })
    try easy.check(
      CURLOPT_HEADERFUNCTION,
      unsafe curl_easy_setopt_write_callback(easy.pointer, CURLOPT_HEADERFUNCTION) {
        start, size, count, context in
        let line = unsafe UnsafeRawBufferPointer(start: start, count: size * count)
        return unsafe Transfer.calledBack(context).takeHead(line) ? line.count : 0
      })
    try easy.check(
      CURLOPT_OPENSOCKETFUNCTION,
      unsafe curl_easy_setopt_opensocket_callback(easy.pointer, CURLOPT_OPENSOCKETFUNCTION) {
        context, _, address in
        guard let address = unsafe address else { return CURL_SOCKET_BAD }
        return unsafe Transfer.calledBack(context).openSocket(to: address)
      })
    try unsafe easy.set(CURLOPT_PREREQDATA, context)
    try easy.check(
      CURLOPT_PREREQFUNCTION,
      unsafe curl_easy_setopt_prereq_callback(easy.pointer, CURLOPT_PREREQFUNCTION) {
        context, address, localAddress, port, localPort in
        let connection = ConnectionSockets.Ends(
          localAddress: unsafe localAddress.map { unsafe String(cString: $0) } ?? "",
          localPort: Int(localPort),
          address: unsafe address.map { unsafe String(cString: $0) } ?? "", port: Int(port))
        return unsafe Transfer.calledBack(context).mayBeSent(on: connection)
          ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
      })
  }

  /// The transfer whose callbacks are installed in an easy handle.
  static func owner(of easy: UnsafeMutableRawPointer) -> Transfer? {
    var context: UnsafeMutableRawPointer?
    guard unsafe curl_easy_getinfo_pointer(easy, CURLINFO_PRIVATE, &context) == CURLE_OK else {
      return nil
    }
    return unsafe context.map { unsafe from($0) }
  }

  /// The transfer that libcurl is working on now.
  private static func calledBack(_ context: UnsafeMutableRawPointer?) -> Transfer {
    let transfer = unsafe from(context)
    transfer.settings.current.set(transfer.id)
    return transfer
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> Transfer {
    guard let context = unsafe context else {
      preconditionFailure("libcurl lost a transfer's context")
    }
    return unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
  }

  /// The most that is read of a body that nobody wants; reading a short one to its end lets the
  /// connection be used again.
  private static let maximumUnusedByteCount = 64 << 10

  /// - Returns: the count of `chunk` to go on, another count to end the transfer, or
  ///   `CURL_WRITEFUNC_PAUSE` to get the same chunk again later.
  private func takeBody(_ chunk: UnsafeRawBufferPointer) -> Int {
    let refusalCount = 0
    guard hasPartOfTurn(for: chunk.count) else {
      awaitTurn()
      return isWasteful ? refusalCount : Int(CURL_WRITEFUNC_PAUSE)
    }
    if head.hasUnusedBody {
      bytesReceived += chunk.count
      return bytesReceived <= Self.maximumUnusedByteCount ? chunk.count : refusalCount
    }
    guard settleResumption() else {
      bytesReceived += chunk.count
      return refusalCount
    }
    guard body.hasRoom(for: chunk.count) else {
      bytesReceived += chunk.count
      isOverLimit = true
      return refusalCount
    }
    body.declaredByteCount = declaredByteCount
    do throws(SystemError) {
      guard try makeRoom(for: chunk.count) else { return Int(CURL_WRITEFUNC_PAUSE) }
      bytesReceived += chunk.count
      try body.append(unsafe chunk.bindMemory(to: UInt8.self).span)
    } catch {
      spoolError = error
      return refusalCount
    }
    screenBody()
    return refusal == nil ? chunk.count : refusalCount
  }

  /// A text is short, and never paused: libcurl decodes its compression, and would have to keep what a
  /// paused transfer does not take.
  private func hasPartOfTurn(for byteCount: Int) -> Bool {
    if case .text = request.content { return true }
    return settings.turns.permitsCall(of: id, byteCount: byteCount)
  }

  /// An origin that sends chunks of a few bytes has sent 8 MiB by then: a read buffer each turn.
  private static let maximumWastedTurnCount = 128

  /// It is paused, because it has had its part of a turn of the loop.
  func awaitTurn() {
    if settings.turns.wait(id) { wastedTurnCount += 1 }
  }

  /// Whether the origin sends so many chunks of a few bytes, or so much beside the body, that the
  /// transfer is to end.
  var isWasteful: Bool { wastedTurnCount > Self.maximumWastedTurnCount }

  /// Has the body grow by so many bytes, in a file once it is too long for memory. Its first bytes
  /// are judged before: a file is not made for what nobody wants.
  ///
  /// - Returns: whether there is room for them; else the transfer has to wait.
  private func makeRoom(for byteCount: Int) throws(SystemError) -> Bool {
    let capacity = body.capacity(toFit: byteCount)
    if case .text = request.content {
      body.grow(to: capacity)
      return true
    }
    if body.byteCount >= settings.screen?.byteCount ?? 0, body.isDueForFile(adding: byteCount) {
      let charge = BodyCharge(byteCount: capacity, isOfFile: true)
      guard settings.budgets.grow(id, to: charge) else { return false }
      if let file = settings.spoolFile() {
        try body.move(to: file, capacity: capacity)
        settings.budgets.leaveMemory(id)
        return true
      }
      body.stayInMemory()
      settings.budgets.leaveFiles(id)
    }
    guard capacity > body.capacity else { return true }
    let charge = BodyCharge(byteCount: capacity, isOfFile: body.charge.isOfFile)
    guard settings.budgets.grow(id, to: charge) else { return false }
    body.grow(to: capacity)
    return true
  }

  /// Judges the body once, when as many bytes are in as that takes. A shorter one costs nothing to
  /// read to its end; and what comes with another status is no picture, whatever it looks like.
  private func screenBody() {
    guard case .picture = request.content, let screen = settings.screen, !isScreened,
      body.byteCount >= screen.byteCount,
      let status = head.status, (200..<300).contains(status)
    else { return }
    isScreened = true
    refusal = screen.refusal(of: body.bytes)
    // Compressed bytes are those of no format: the reason is named.
    if let refused = refusal, refused.code == .notAnImage, let coding = head.contentEncoding {
      refusal = Failure(
        stage: refused.stage, code: refused.code, httpStatus: refused.httpStatus,
        detail: "\(refused.detail); Content-Encoding: \(coding) was not asked for")
    }
  }

  /// The most that the heads of all answers to a request may take together: redirects and interim
  /// answers (RFC 9110 section 15.2) would else be a way around it.
  static let maximumHeadByteCount = 64 << 10

  /// - Returns: whether to go on.
  private func takeHead(_ line: UnsafeRawBufferPointer) -> Bool {
    headByteCount += line.count
    let wasComplete = head.isComplete
    if unsafe head.take(line: line.bindMemory(to: UInt8.self)) {
      answeredAt = WallTime(rawValue: WallClock.milliseconds())
    }
    guard headByteCount <= Self.maximumHeadByteCount else { return false }
    return wasComplete || !head.isComplete || takeWholeHead()
  }

  /// - Returns: whether to go on with the body.
  private func takeWholeHead() -> Bool {
    noteCooldown()
    if let problem = head.framing.problem, !head.isInterim {
      refusal = Failure(
        stage: .fetch, code: .invalidResponse, httpStatus: head.status,
        isRetryable: !problem.isLasting, detail: problem.detail)
      return false
    }
    if case .text = request.content, let refused = head.refusedTextEncoding {
      refusal = failure(
        .invalidResponse, "Content-Encoding: \(refused) was not asked for; only gzip is taken")
      return false
    }
    if head.hasUnusedBody {
      unusedBodyDeadline = settings.unusedBodies.note(id, at: .now)
      return (head.contentLength ?? 0) <= Self.maximumUnusedByteCount
    }
    return optOut == nil
  }

  /// Takes down that the host wants to be left alone, before the body that explains it is in.
  private func noteCooldown() {
    guard let status = head.status, status >= 400,
      let seconds = head.retryAfterSeconds(at: answeredAt)
    else { return }
    settings.cooldowns.note(HostCooldown(host: request.host, seconds: seconds), at: .now)
  }

  /// Why the answer, whose head is whole, is not to be used; `nil` when it may be, or when who asked
  /// does not mind.
  var optOut: Failure? { request.options.respectsOptOut ? head.optOutFailure : nil }

  /// Whether the request that a connection stands for may be sent now. libcurl asks also before it
  /// sends one again by itself, which it does when a connection that was used before turns out to
  /// be closed.
  private func mayBeSent(on connection: ConnectionSockets.Ends) -> Bool {
    if !openedSockets.isEmpty {
      settings.sockets.note(connection, among: openedSockets)
    } else if !settings.sockets.isReusable(connection) {
      isConnectionSpoilt = true
      return false
    }
    guard settings.cooldowns.isCoolingDown(request.host, at: .now) else { return true }
    if request.past.redirectCount == 0 {
      isHeldBack = true
    } else {
      refusal = .resting(request.host)
    }
    return false
  }

  /// Opens a socket when the policy permits the address. This is the very address libcurl connects
  /// it to next, so an answer of the name servers that changes in between makes no difference.
  private func openSocket(to address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
    var bytes = [UInt8](repeating: 0, count: 16)
    bytes.removeLast(bytes.count - Int(unsafe curl_sockaddr_address(address, &bytes)))
    if let reason = settings.addressPolicy.reasonForRefusing(bytes) {
      refusedAddress =
        "\(IPAddress.text(bytes) ?? "the address") is refused: \(reason); "
        + "imgctl stop, then imgctl start --allow-network CIDR allows a network"
      return CURL_SOCKET_BAD
    }
    hasPermittedAddress = true
    let type = unsafe address.pointee.socktype | CInt(SOCK_CLOEXEC.rawValue)
    let socket = unsafe Glibc.socket(address.pointee.family, type, address.pointee.protocol)
    openedSockets.append(socket)
    return socket
  }
}
