internal import CCurl

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

  func number(_ info: CURLINFO) -> Int64? {
    var value: curl_off_t = 0
    guard unsafe curl_easy_getinfo_off_t(pointer, info, &value) == CURLE_OK else { return nil }
    return Int64(value)
  }
}

@available(*, unavailable)
extension EasyHandle: Sendable {}
