internal import CCurl
internal import Glibc

/// Proof that libcurl is initialised, which a ``TransferPool`` requires.
package struct CurlRuntime: Sendable {
  private init() {}

  /// Initialises libcurl, and loads the libraries that look up host names. Call it in `main`, before any
  /// other thread starts: curl_global_init(3) sets up libraries whose own initialisation need not be safe
  /// beside other threads. There is no counterpart: the process keeps libcurl until it ends.
  ///
  /// It also sets the kind of characters the process writes to UTF-8, as URLs are: libcurl reads a
  /// host name such as `bücher.example` by the locale, and the one that a program starts with knows
  /// ASCII alone (idn2_lookup_ul(3), setlocale(3)).
  package static func start() throws(CurlError) -> CurlRuntime {
    guard unsafe setlocale(LC_CTYPE, "C.UTF-8") != nil else {
      throw CurlError(operation: "setlocale", reason: "the C library has no C.UTF-8")
    }
    let code = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
    guard code == CURLE_OK else { throw CurlError(operation: "curl_global_init", code: code) }
    NameServices.load()
    return CurlRuntime()
  }
}
