internal import CCurl

/// The header fields every request carries beside those libcurl writes by itself.
@safe
final class RequestHeaders {
  let pointer: UnsafeMutablePointer<curl_slist>

  /// What is asked for. Origins that negotiate send the first kinds they have; the last entry is
  /// for those that would otherwise answer 406.
  static let accept = "Accept: image/avif,image/webp,image/*,*/*;q=0.8"

  init() throws(CurlError) {
    guard let pointer = unsafe curl_slist_append(nil, Self.accept) else {
      throw CurlError(operation: "curl_slist_append", reason: CURLE_OUT_OF_MEMORY.text)
    }
    unsafe self.pointer = pointer
  }

  deinit {
    unsafe curl_slist_free_all(pointer)
  }
}
