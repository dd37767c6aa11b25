internal import CCurl
internal import ImgModel

/// One libcurl easy handle and the buffer for its error texts.
///
/// A handle belongs to one transfer at a time and is reused after ``reset()``. Not `Sendable`:
/// libcurl forbids two threads in one handle (libcurl-thread(3)).
///
/// The size of the read buffer is the handle's own option, because it cannot be set for every
/// transfer, see ``reset()``.
@safe
final class EasyHandle {
  let pointer: UnsafeMutableRawPointer
  private let errorBuffer: UnsafeMutablePointer<CChar>
  private var cookieJar: CookieJar?

  /// How many bytes one call reads from a socket. libcurl's default of 16 KiB takes seven calls for
  /// a body of 100 KB.
  static let readBufferByteCount = 64 << 10

  init() throws(CurlError) {
    guard let pointer = unsafe curl_easy_init() else {
      throw CurlError(operation: "curl_easy_init", reason: CURLE_OUT_OF_MEMORY.text)
    }
    unsafe self.pointer = pointer
    unsafe errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    try set(CURLOPT_BUFFERSIZE, Self.readBufferByteCount)
  }

  deinit {
    unsafe curl_easy_cleanup(pointer)
    unsafe errorBuffer.deallocate()
  }

  /// Restores the options of a new handle, and leaves its cookie jar. Connections stay: they belong to the
  /// multi handle.
  ///
  /// libcurl 7.88 frees the read buffer together with the transfer's connection. It keeps the
  /// buffer of a transfer that ended without one, for example because the name has no address, and
  /// refuses to change the size while there is a buffer.
  ///
  /// - Throws: when the handle cannot be used for another transfer.
  func reset() throws(CurlError) {
    unsafe curl_easy_reset(pointer)
    try check(CURLOPT_SHARE, unsafe curl_easy_setopt_share(pointer, nil))
    cookieJar = nil
    try set(CURLOPT_BUFFERSIZE, Self.readBufferByteCount)
  }

  /// Has a transfer read nothing until ``resume()``. A callback must not call it, and can return
  /// `CURL_WRITEFUNC_PAUSE` instead.
  ///
  /// - Returns: an error when it has no connection.
  func pause() -> CURLcode {
    unsafe curl_easy_pause(pointer, CURLPAUSE_RECV)
  }

  /// Resumes a transfer that was paused. libcurl hands over what it kept meanwhile before this
  /// returns (curl_easy_pause(3)), so a callback must not call it.
  func resume() -> CURLcode {
    unsafe curl_easy_pause(pointer, CURLPAUSE_CONT)
  }

  /// Changes how long a transfer under way may take from its start on; 0 for no limit. libcurl compares with it
  /// whenever it works on a transfer, at least once a second.
  func changeTimeout(milliseconds: Int) {
    let code = unsafe curl_easy_setopt_long(pointer, CURLOPT_TIMEOUT_MS, milliseconds)
    precondition(code == CURLE_OK, "a number of milliseconds is refused")
  }

  // MARK: Options

  func set(_ option: CURLoption, _ value: Int) throws(CurlError) {
    try check(option, unsafe curl_easy_setopt_long(pointer, option, value))
  }

  /// For the options whose names end in `LARGE`, which take a `curl_off_t`.
  func setLarge(_ option: CURLoption, _ value: Int64) throws(CurlError) {
    try check(option, unsafe curl_easy_setopt_off_t(pointer, option, curl_off_t(value)))
  }

  func set(_ option: CURLoption, _ value: String) throws(CurlError) {
    try check(option, unsafe curl_easy_setopt_string(pointer, option, value))
  }

  /// - Parameter value: must outlive the transfer.
  func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer) throws(CurlError) {
    try unsafe check(option, curl_easy_setopt_pointer(pointer, option, value))
  }

  /// - Parameter url: must outlive the transfer.
  func set(_ url: ParsedURL) throws(CurlError) {
    try unsafe set(CURLOPT_CURLU, UnsafeMutableRawPointer(url.pointer))
  }

  /// - Parameter headers: must outlive the transfer.
  func set(_ headers: RequestHeaders) throws(CurlError) {
    try unsafe set(CURLOPT_HTTPHEADER, UnsafeMutableRawPointer(headers.pointer))
  }

  /// Has the transfer use the cookies of a jar.
  func set(_ jar: CookieJar) throws(CurlError) {
    cookieJar = jar
    try check(CURLOPT_SHARE, unsafe curl_easy_setopt_share(pointer, jar.share))
    // The empty name starts the engine without reading a file (CURLOPT_COOKIEFILE(3)).
    try set(CURLOPT_COOKIEFILE, "")
    for line in jar.takeLines() { try set(CURLOPT_COOKIELIST, line) }
  }

  /// Makes ``errorText`` tell of the next transfer.
  func enableErrorText() throws(CurlError) {
    unsafe errorBuffer[0] = 0
    try unsafe set(CURLOPT_ERRORBUFFER, UnsafeMutableRawPointer(errorBuffer))
  }

  /// Turns the result of setting an option into an error that names the option by its number.
  func check(_ option: CURLoption, _ code: CURLcode) throws(CurlError) {
    guard code == CURLE_OK else {
      throw CurlError(operation: "curl_easy_setopt(\(option.rawValue))", code: code)
    }
  }

  // MARK: Facts

  /// libcurl's words on what went wrong; `nil` when it found none.
  var errorText: String? {
    let text = unsafe String(cString: errorBuffer)
    return text.isEmpty ? nil : text
  }

  /// For the facts that are a C `long`.
  func count(_ info: CURLINFO) -> Int {
    var value = 0
    guard unsafe curl_easy_getinfo_long(pointer, info, &value) == CURLE_OK else { return 0 }
    return value
  }

  /// For the facts that are text; `nil` where there is none.
  func text(_ info: CURLINFO) -> String? {
    var value: UnsafeMutableRawPointer?
    guard unsafe curl_easy_getinfo_pointer(pointer, info, &value) == CURLE_OK,
      let start = unsafe value
    else { return nil }
    let text = unsafe String(cString: start.assumingMemoryBound(to: CChar.self))
    return text.isEmpty ? nil : text
  }

  func number(_ info: CURLINFO) -> Int64? {
    var value: curl_off_t = 0
    guard unsafe curl_easy_getinfo_off_t(pointer, info, &value) == CURLE_OK else { return nil }
    return Int64(value)
  }
}

extension EasyHandle {
  /// What the transfer is at. A connection that is used again needs no look-up.
  var phase: TransferPhase {
    func isReached(_ info: CURLINFO) -> Bool { number(info).map { $0 > 0 } ?? false }
    if isReached(CURLINFO_STARTTRANSFER_TIME_T) { return .receiving }
    if isReached(CURLINFO_PRETRANSFER_TIME_T) { return .awaitingAnswer }
    return isReached(CURLINFO_NAMELOOKUP_TIME_T) ? .connecting : .resolving
  }

  /// What the parts of the transfer took. libcurl's clocks all begin with the transfer
  /// (curl_easy_getinfo(3), "TIMES"); they show 0 for what was not reached.
  var timings: Timings {
    func moment(_ info: CURLINFO) -> Int64 { max(number(info) ?? 0, 0) }
    let named = moment(CURLINFO_NAMELOOKUP_TIME_T)
    let connected = moment(CURLINFO_CONNECT_TIME_T)
    let secured = moment(CURLINFO_APPCONNECT_TIME_T)
    let answered = moment(CURLINFO_STARTTRANSFER_TIME_T)
    let ended = moment(CURLINFO_TOTAL_TIME_T)
    var timings = Timings()
    // Without a new connection these are the moments at which one was found.
    let isReused = answered > 0 && count(CURLINFO_NUM_CONNECTS) == 0
    if !isReused {
      timings.dns = Self.duration(from: 0, to: named)
      timings.connect = Self.duration(from: named, to: connected)
      timings.tls = Self.duration(from: connected, to: secured)
    }
    timings.ttfb = Self.duration(from: max(named, connected, secured), to: answered)
    if answered > 0 { timings.download = Self.duration(from: answered, to: ended) }
    return timings
  }

  /// - Parameters:
  ///   - begin: in microseconds.
  ///   - end: in microseconds, too.
  /// - Returns: `nil` for an end that was not reached.
  private static func duration(from begin: Int64, to end: Int64) -> Duration? {
    end > 0 ? .microseconds(max(end - begin, 0)) : nil
  }
}

extension Timings {
  /// The sum of the parts of two transfers, one after the other.
  func adding(_ later: Timings) -> Timings {
    var sum = self
    for part in [\Timings.dns, \.connect, \.tls, \.ttfb, \.download] {
      guard let duration = later[keyPath: part] else { continue }
      sum[keyPath: part] = (sum[keyPath: part] ?? .zero) + duration
    }
    return sum
  }
}

/// Time limits in the units of libcurl. 0 would mean "no limit", so the least value is 1; the
/// greatest is that of an `Int32`, which every option of libcurl takes.
extension Duration {
  /// For the options whose names end in `_MS`.
  var curlMilliseconds: Int { Self.curlLimit(milliseconds) }

  /// For `CURLOPT_LOW_SPEED_TIME`, rounded up.
  var curlSeconds: Int { Self.curlLimit(secondsRoundedUp) }

  private static func curlLimit(_ count: Int64) -> Int {
    Int(min(max(count, 1), Int64(Int32.max)))
  }
}

/// The header fields a request carries beside those libcurl writes by itself.
@safe
final class RequestHeaders {
  let pointer: UnsafeMutablePointer<curl_slist>

  /// The kinds of pictures that are taken. Origins that negotiate send the first kinds they have;
  /// the last entry is for those that would otherwise answer 406.
  static let accept = "Accept: image/avif,image/webp,image/*,*/*;q=0.8"
  /// Pictures are compressed already, and ranges of an encoded body cannot be decoded. Without the field
  /// an origin may choose any coding (RFC 9110 section 12.5.3).
  private static let acceptEncoding = "Accept-Encoding: identity"

  /// - Parameters:
  ///   - fields: the client's, which replace the default ones of the same name.
  ///   - conditions: those that the transfer adds, as lines without their ends.
  init(_ fields: HeaderFields = .none, conditions: [String] = []) throws(CurlError) {
    let lines = fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
    let accept = fields.contains { $0.name == "accept" } ? [] : [Self.accept]
    var list: UnsafeMutablePointer<curl_slist>?
    for line in accept + [Self.acceptEncoding] + lines + conditions {
      // On failure the list is as it was (curl_slist_append(3)).
      guard let longer = unsafe curl_slist_append(list, line) else {
        unsafe curl_slist_free_all(list)
        throw CurlError(operation: "curl_slist_append", reason: CURLE_OUT_OF_MEMORY.text)
      }
      unsafe list = longer
    }
    guard let pointer = unsafe list else { preconditionFailure("some Accept is always sent") }
    unsafe self.pointer = pointer
  }

  deinit {
    unsafe curl_slist_free_all(pointer)
  }
}

/// What libcurl calls while a transfer runs. No callback lets an error out, because there is
/// nothing in C to catch it.
extension EasyHandle {
  /// Has libcurl call that transfer, which must stay until the handle has left the multi handle.
  func installCallbacks(of transfer: Transfer) throws(CurlError) {
    let context = unsafe Unmanaged.passUnretained(transfer).toOpaque()
    try enableErrorText()
    try unsafe set(CURLOPT_PRIVATE, context)
    try unsafe set(CURLOPT_WRITEDATA, context)
    try unsafe set(CURLOPT_HEADERDATA, context)
    try unsafe set(CURLOPT_OPENSOCKETDATA, context)
    try unsafe set(CURLOPT_PREREQDATA, context)
    try check(
      CURLOPT_WRITEFUNCTION,
      unsafe curl_easy_setopt_write_callback(pointer, CURLOPT_WRITEFUNCTION) {
        start, size, count, context in
        let chunk = unsafe UnsafeRawBufferPointer(start: start, count: size * count)
        return unsafe Transfer.calledBack(context).receiveBody(chunk)
      })
    try check(
      CURLOPT_HEADERFUNCTION,
      unsafe curl_easy_setopt_write_callback(pointer, CURLOPT_HEADERFUNCTION) {
        start, size, count, context in
        let line = unsafe UnsafeRawBufferPointer(start: start, count: size * count)
        return unsafe Transfer.calledBack(context).receiveHeadLine(line) ? line.count : 0
      })
    try check(
      CURLOPT_OPENSOCKETFUNCTION,
      unsafe curl_easy_setopt_opensocket_callback(pointer, CURLOPT_OPENSOCKETFUNCTION) {
        context, _, address in
        guard let address = unsafe address else { return CURL_SOCKET_BAD }
        return unsafe Transfer.calledBack(context).openSocket(to: address)
      })
    try check(
      CURLOPT_PREREQFUNCTION,
      unsafe curl_easy_setopt_prereq_callback(pointer, CURLOPT_PREREQFUNCTION) {
        context, address, localAddress, port, localPort in
        let connection = ConnectionSockets.Ends(
          localAddress: unsafe localAddress.map { unsafe String(cString: $0) } ?? "",
          localPort: Int(localPort),
          address: unsafe address.map { unsafe String(cString: $0) } ?? "", port: Int(port))
        return unsafe Transfer.calledBack(context).maySendRequest(on: connection)
          ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
      })
  }
}

extension Transfer {
  /// The transfer whose callbacks are installed in an easy handle.
  static func owner(of easy: UnsafeMutableRawPointer) -> Transfer? {
    var context: UnsafeMutableRawPointer?
    guard unsafe curl_easy_getinfo_pointer(easy, CURLINFO_PRIVATE, &context) == CURLE_OK else {
      return nil
    }
    return unsafe context.map { unsafe from($0) }
  }

  /// The transfer that libcurl is working on now.
  fileprivate static func calledBack(_ context: UnsafeMutableRawPointer?) -> Transfer {
    let transfer = unsafe from(context)
    transfer.reportWork()
    return transfer
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> Transfer {
    guard let context = unsafe context else {
      preconditionFailure("libcurl lost a transfer's context")
    }
    return unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
  }
}

extension EasyHandle {
  /// Sets what is sent, and to which URL. These defaults of libcurl stay: no .netrc, no redirects followed
  /// (``TransferURL``), certificates are verified, and a Content-Encoding is left as it is, because
  /// ``ContentDecoding`` undoes it. libcurl undoes a compressed Transfer-Encoding without being asked, so it
  /// is refused (``BodyFraming``).
  ///
  /// - Parameters:
  ///   - url: must outlive the transfer.
  ///   - headers: must outlive the transfer.
  func configure(
    _ request: TransferRequest, _ headers: RequestHeaders,
    in context: TransferContext
  ) throws(CurlError) {
    try set(request.url.parsed)
    try set(headers)
    if let jar = request.cookieJar { try set(jar) }
    let contact = request.options.contact
    try set(CURLOPT_USERAGENT, contact.map(Contact.userAgent) ?? context.userAgent)
    try set(CURLOPT_PROTOCOLS_STR, "http,https")
    try set(CURLOPT_NOSIGNAL, 1)
    try set(CURLOPT_FRESH_CONNECT, request.usesFreshConnection ? 1 : 0)
    try set(CURLOPT_DNS_CACHE_TIMEOUT, context.sockets.addressSeconds(at: .now))
    // In HTTP/2 libcurl 7.88 reads frames without content, such as empty DATA frames, in a loop
    // that ends only when nothing more comes (cf_h2_recv in its http2.c), not even at the
    // transfer's time limit. A connection serves one transfer at a time here, so HTTP/2 would save
    // nothing but bytes of heads.
    try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    if let file = context.authorityFile {
      try set(CURLOPT_CAINFO, file)
      try set(CURLOPT_PROXY_CAINFO, file)
    }
    // A look-up runs in a thread of its own. Without this, libcurl waits for that thread to end
    // when a transfer is cancelled or times out, and with it the whole loop waits.
    try set(CURLOPT_QUICK_EXIT, 1)
    try configureLimits(of: request, in: context)
  }

  /// Sets how the host of the URL is reached. Call it after the request is set.
  func configure(_ route: Route, in context: TransferContext) throws(CurlError) {
    // The empty name is libcurl's for "no proxy, whatever the environment says", and the empty list
    // for "no host is asked directly".
    try set(CURLOPT_PROXY, route.proxy?.text ?? "")
    try set(CURLOPT_NOPROXY, "")
    switch route {
    case .direct: break
    case .nameCheck:
      try set(CURLOPT_FRESH_CONNECT, 1)
      let time = min(context.limits.connectTimeout, ProxyRoutes.checkTimeout)
      try set(CURLOPT_CONNECTTIMEOUT_MS, time.curlMilliseconds)
    // Otherwise the answer to CONNECT would pass for the origin's.
    case .proxy: try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    }
  }

  private func configureLimits(
    of request: TransferRequest, in context: TransferContext
  ) throws(CurlError) {
    let limits = request.content.limits(context.limits)
    try set(CURLOPT_CONNECTTIMEOUT_MS, limits.connectTimeout.curlMilliseconds)
    let remainingTime = request.remainingTime(context.limits)
    try set(CURLOPT_TIMEOUT_MS, remainingTime.curlMilliseconds)
    // libcurl counts a stall in whole seconds, and none while a transfer is paused.
    try set(CURLOPT_LOW_SPEED_LIMIT, 1_024)
    try set(CURLOPT_LOW_SPEED_TIME, limits.stallTimeout.curlSeconds)
    // Refuses by Content-Length alone; the callbacks hold the limit where none is declared.
    if request.content.isWhole {
      try setLarge(CURLOPT_MAXFILESIZE_LARGE, limits.maxBodyByteCount)
    }
  }
}

/// The cookies of one transfer and of its redirects, in libcurl's cookie engine (RFC 6265): those of the
/// request, and those that origins set on the way. libcurl sends each to its own site alone, and takes none
/// for a public suffix such as `co.uk` (libcurl-security(3)).
///
/// The engine belongs to a share that no other transfer has (libcurl-share(3)), because a handle keeps its
/// own cookies when it is reset. They end with the jar.
@safe
final class CookieJar {
  /// Valid as long as the jar.
  let share: UnsafeMutableRawPointer
  /// Lines of Netscape's cookie file, which are not in the share yet.
  private var lines: [String]

  init(_ cookies: Cookies) throws(CurlError) {
    guard let share = unsafe curl_share_init() else {
      throw CurlError(operation: "curl_share_init", reason: CURLE_OUT_OF_MEMORY.text)
    }
    unsafe self.share = share
    lines = cookies.lines
    let code = unsafe curl_share_setopt_data(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE)
    guard code == CURLSHE_OK else {
      throw CurlError(
        operation: "curl_share_setopt", reason: unsafe String(cString: curl_share_strerror(code)))
    }
  }

  deinit {
    // Handles hold the jar for as long as they use its share.
    unsafe curl_share_cleanup(share)
  }

  /// The lines that the first handle puts into the share.
  func takeLines() -> [String] {
    defer { lines = [] }
    return lines
  }
}
