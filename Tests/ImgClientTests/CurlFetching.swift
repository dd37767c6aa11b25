import CCurl
import Dispatch
import ImgClient
import Synchronization

/// libcurl as the network layer of an app.
struct CurlFetching: ImageFetching {
  let userAgent: String

  func fetch(_ request: ImageFetch) async throws -> FetchedImage {
    let transfer = CurlTransfer(request, userAgent: userAgent)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(with: transfer.result()) }
      }
    } onCancel: {
      transfer.cancel()
    }
  }
}

/// One transfer, on a thread that waits for it.
final class CurlTransfer: Sendable {
  private struct Received {
    var body: [UInt8] = []
    var headers: [ImageRequest.HeaderField] = []
  }

  private let request: ImageFetch
  private let userAgent: String
  private let received = Mutex(Received())
  private let isCancelled = Atomic(false)

  init(_ request: ImageFetch, userAgent: String) {
    self.request = request
    self.userAgent = userAgent
  }

  func cancel() { isCancelled.store(true, ordering: .relaxed) }

  func result() -> Result<FetchedImage, any Error> {
    guard let easy = unsafe curl_easy_init(), let multi = unsafe curl_multi_init() else {
      return .failure(ImageError(code: .outOfMemory, message: "libcurl has no memory"))
    }
    defer {
      unsafe curl_multi_remove_handle(multi, easy)
      unsafe curl_easy_cleanup(easy)
      unsafe curl_multi_cleanup(multi)
    }
    unsafe configure(easy)
    unsafe curl_multi_add_handle(multi, easy)
    guard let code = unsafe run(multi) else {
      return .failure(ImageError(code: .cancelled, message: "the transfer was cancelled"))
    }
    guard code == CURLE_OK else { return .failure(error(code)) }
    var status = 0
    unsafe curl_easy_getinfo_long(easy, CURLINFO_RESPONSE_CODE, &status)
    guard status == 200 else {
      return .failure(
        ImageError(
          code: .httpStatus, url: request.url, isRetryable: status >= 500, httpStatus: status,
          message: "the origin answered \(status)"))
    }
    return .success(
      received.withLock { FetchedImage(bytes: $0.body, headers: $0.headers) })
  }

  private func configure(_ easy: UnsafeMutableRawPointer) {
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe curl_easy_setopt_string(easy, CURLOPT_URL, request.url)
    unsafe curl_easy_setopt_string(easy, CURLOPT_USERAGENT, userAgent)
    unsafe curl_easy_setopt_string(easy, CURLOPT_PROTOCOLS_STR, "http,https")
    unsafe curl_easy_setopt_long(easy, CURLOPT_NOSIGNAL, 1)
    unsafe curl_easy_setopt_long(easy, CURLOPT_FOLLOWLOCATION, 1)
    unsafe curl_easy_setopt_long(
      easy, CURLOPT_TIMEOUT_MS, Int(request.timeout / .milliseconds(1)))
    unsafe curl_easy_setopt_pointer(easy, CURLOPT_WRITEDATA, context)
    unsafe curl_easy_setopt_pointer(easy, CURLOPT_HEADERDATA, context)
    unsafe curl_easy_setopt_write_callback(easy, CURLOPT_WRITEFUNCTION) {
      start, size, count, context in
      let chunk = unsafe UnsafeRawBufferPointer(start: start, count: size * count)
      unsafe CurlTransfer.calledBack(context)?.received.withLock {
        unsafe $0.body.append(contentsOf: chunk)
      }
      return size * count
    }
    unsafe curl_easy_setopt_write_callback(easy, CURLOPT_HEADERFUNCTION) {
      start, size, count, context in
      let line = unsafe UnsafeRawBufferPointer(start: start, count: size * count)
      unsafe CurlTransfer.calledBack(context)?.take(line: String(decoding: line, as: UTF8.self))
      return size * count
    }
  }

  private static func calledBack(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
    unsafe context.map { unsafe Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
  }

  /// A line of a head. Those of a redirect are forgotten.
  private func take(line: String) {
    received.withLock { received in
      if line.hasPrefix("HTTP/") { received = Received() }
      guard let colon = line.firstIndex(of: ":") else { return }
      let value = line[line.index(after: colon)...].drop { $0 == " " }
      received.headers.append(
        .init(String(line[..<colon]), String(value.prefix { !$0.isNewline })))
    }
  }

  /// - Returns: how the transfer ended; `nil` if it was cancelled.
  private func run(_ multi: UnsafeMutableRawPointer) -> CURLcode? {
    var runningCount: CInt = 1
    while !isCancelled.load(ordering: .relaxed) {
      unsafe curl_multi_perform(multi, &runningCount)
      var waitingCount: CInt = 0
      if let message = unsafe curl_multi_info_read(multi, &waitingCount) {
        return unsafe message.pointee.data.result
      }
      // It looks for a cancellation at such intervals.
      unsafe curl_multi_poll(multi, nil, 0, 20, nil)
    }
    return nil
  }

  private func error(_ code: CURLcode) -> ImageError {
    ImageError(
      code: code == CURLE_OPERATION_TIMEDOUT ? .timeout : .connectFailure, url: request.url,
      isRetryable: true, message: "libcurl: error \(code.rawValue)")
  }
}
