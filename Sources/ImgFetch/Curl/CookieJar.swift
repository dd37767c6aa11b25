internal import CCurl
internal import ImgModel

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
