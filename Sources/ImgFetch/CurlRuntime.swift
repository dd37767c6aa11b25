internal import CCurl

/// Proof that libcurl is initialised; whoever makes a ``TransferPool`` must show one.
package struct CurlRuntime: Sendable {
  private init() {}

  /// Initialises libcurl. Call it in `main`, before any other thread starts: curl_global_init(3)
  /// sets up libraries whose own initialisation need not be safe beside other threads. There is no
  /// counterpart: the process keeps libcurl until it ends.
  package static func start() throws(CurlError) -> CurlRuntime {
    let code = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
    guard code == CURLE_OK else { throw CurlError(operation: "curl_global_init", code: code) }
    return CurlRuntime()
  }
}
