internal import CCurl
internal import ImgWire

/// A URL as libcurl's own parser understood it, in the form libcurl fetches from (CURLOPT_CURLU):
/// what was checked is what is fetched, because the text is parsed once.
@safe
final class ParsedURL {
  let pointer: OpaquePointer

  /// Bytes that a URL may not hold as they are, such as those of `ü`, are percent-encoded in path
  /// and query, as browsers do.
  ///
  /// - Throws: a ``Failure`` of stage `fetch` when libcurl's parser refuses the text.
  init(_ url: ImageURL) throws(Failure) {
    guard let pointer = unsafe curl_url() else {
      throw Failure(stage: .fetch, code: .outOfMemory, detail: "no memory for a URL")
    }
    unsafe self.pointer = pointer
    let code = unsafe curl_url_set(pointer, CURLUPART_URL, url.text, UInt32(CURLU_URLENCODE))
    guard code == CURLUE_OK else {
      throw Failure(
        stage: .fetch, code: code == CURLUE_UNSUPPORTED_SCHEME ? .unsupportedScheme : .invalidURL,
        detail: unsafe String(cString: curl_url_strerror(code)))
    }
  }

  deinit {
    unsafe curl_url_cleanup(pointer)
  }
}
