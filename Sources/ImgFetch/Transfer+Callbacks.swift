internal import CCurl
internal import Glibc
internal import ImgSystem

/// What libcurl calls while a transfer runs. Each callback only records; none calls libcurl, and
/// none lets an error out, because there is nothing in C to catch it.
extension Transfer {
  func installCallbacks() throws(CurlError) {
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    try easy.enableErrorText()
    try unsafe easy.set(CURLOPT_PRIVATE, context)
    try unsafe easy.set(CURLOPT_WRITEDATA, context)
    try unsafe easy.set(CURLOPT_HEADERDATA, context)
    try unsafe easy.set(CURLOPT_OPENSOCKETDATA, context)
    try unsafe easy.set(CURLOPT_XFERINFODATA, context)
    try easy.check(
      CURLOPT_WRITEFUNCTION,
      unsafe curl_easy_setopt_write_callback(easy.pointer, CURLOPT_WRITEFUNCTION) {
        start, size, count, context in
        let chunk = unsafe UnsafeRawBufferPointer(start: start, count: size * count)
        return unsafe Transfer.from(context).takeBody(chunk)
      })
    try easy.check(
      CURLOPT_HEADERFUNCTION,
      unsafe curl_easy_setopt_write_callback(easy.pointer, CURLOPT_HEADERFUNCTION) {
        start, size, count, context in
        let line = unsafe UnsafeRawBufferPointer(start: start, count: size * count)
        return unsafe Transfer.from(context).takeHead(line) ? line.count : 0
      })
    try easy.check(
      CURLOPT_OPENSOCKETFUNCTION,
      unsafe curl_easy_setopt_opensocket_callback(easy.pointer, CURLOPT_OPENSOCKETFUNCTION) {
        context, _, address in
        guard let address = unsafe address else { return CURL_SOCKET_BAD }
        return unsafe Transfer.from(context).openSocket(to: address)
      })
    try easy.check(
      CURLOPT_XFERINFOFUNCTION,
      unsafe curl_easy_setopt_xferinfo_callback(easy.pointer, CURLOPT_XFERINFOFUNCTION) {
        context, _, received, _, _ in
        unsafe Transfer.from(context).isProgressPermitted(byteCount: Int(received)) ? 0 : 1
      })
    try easy.set(CURLOPT_NOPROGRESS, 0)
  }

  /// The transfer whose callbacks are installed in an easy handle.
  static func owner(of easy: UnsafeMutableRawPointer) -> Transfer? {
    var context: UnsafeMutableRawPointer?
    guard unsafe curl_easy_getinfo_pointer(easy, CURLINFO_PRIVATE, &context) == CURLE_OK else {
      return nil
    }
    return unsafe context.map { unsafe from($0) }
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> Transfer {
    guard let context = unsafe context else {
      preconditionFailure("libcurl lost a transfer's context")
    }
    return unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
  }

  /// The most that is read of an error's page; reading a short one to its end lets the connection
  /// be used again.
  private static let maximumErrorPageByteCount = 64 << 10

  /// - Returns: the count of `chunk` to go on, another count to end the transfer, or
  ///   `CURL_WRITEFUNC_PAUSE` to get the same chunk again later.
  private func takeBody(_ chunk: UnsafeRawBufferPointer) -> Int {
    let refusalCount = 0
    if let status = head.status, status >= 400 {
      bytesReceived += chunk.count
      return bytesReceived <= Self.maximumErrorPageByteCount ? chunk.count : refusalCount
    }
    guard body.hasRoom(for: chunk.count) else {
      bytesReceived += chunk.count
      isOverLimit = true
      return refusalCount
    }
    body.declaredByteCount = head.contentLength
    let capacity = body.capacity(toFit: chunk.count)
    if capacity > body.capacity {
      guard settings.budget.grow(id, to: capacity) else {
        return Int(CURL_WRITEFUNC_PAUSE)
      }
      body.grow(to: capacity)
    }
    bytesReceived += chunk.count
    unsafe body.append(chunk)
    screenBody()
    return refusal == nil ? chunk.count : refusalCount
  }

  /// Judges the body once, when as many bytes are in as that takes. A shorter one costs nothing to
  /// read to its end; and what comes with another status is no picture, whatever it looks like.
  private func screenBody() {
    guard let screen = settings.screen, !isScreened, body.bytes.count >= screen.byteCount,
      let status = head.status, (200..<300).contains(status)
    else { return }
    isScreened = true
    refusal = screen.refusal(of: body.bytes)
  }

  /// The most that the heads of all answers of a transfer may take together: redirects and interim
  /// answers (RFC 9110 section 15.2) would else be a way around it.
  static let maximumHeadByteCount = 64 << 10

  /// - Returns: whether to go on.
  private func takeHead(_ line: UnsafeRawBufferPointer) -> Bool {
    headByteCount += line.count
    if unsafe head.take(line: line) {
      refusedAddress = nil
      hasPermittedAddress = false
    }
    return headByteCount <= Self.maximumHeadByteCount
  }

  /// Opens a socket when the policy permits the address. This is the very address libcurl connects
  /// it to next, so an answer of the name servers that changes in between makes no difference.
  private func openSocket(to address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
    // The answer before, a redirect's, is over: a failure from here on is the new host's.
    head = ResponseHead()
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
    return unsafe socket(address.pointee.family, type, address.pointee.protocol)
  }

  /// Holds the limit for bodies that are not handed over: libcurl reads that of a redirect to its
  /// end, however long it is, before it follows.
  /// - Parameter byteCount: of the body under way.
  private func isProgressPermitted(byteCount: Int) -> Bool {
    if byteCount > body.maximumByteCount { isOverLimit = true }
    return !isOverLimit
  }
}
