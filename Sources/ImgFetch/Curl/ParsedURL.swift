internal import CCurl
internal import ImgModel

/// A URL as libcurl's own parser understood it, in the form libcurl fetches from (CURLOPT_CURLU):
/// what was checked is what is fetched, because the text is parsed once.
@safe
final class ParsedURL {
  let pointer: OpaquePointer

  /// Bytes that a URL may not hold as they are, such as those of `ü`, are percent-encoded in path
  /// and query, as browsers do.
  ///
  /// - Throws: a ``Failure`` of stage `fetch` when libcurl's parser refuses the text, or when there
  ///   is nothing to fetch.
  convenience init(_ url: ImageURL) throws(Failure) {
    guard !url.isLocal else {
      throw Failure(
        stage: .fetch, code: .unsupportedScheme, detail: "only http and https are fetched")
    }
    try self.init(text: url.text)
  }

  /// - Parameter text: any URL, see ``init(_:)``.
  init(text: String) throws(Failure) {
    guard let pointer = unsafe curl_url() else {
      throw Failure(stage: .fetch, code: .outOfMemory, detail: "no memory for a URL")
    }
    unsafe self.pointer = pointer
    let code = unsafe curl_url_set(pointer, CURLUPART_URL, text, UInt32(CURLU_URLENCODE))
    guard code == CURLUE_OK else { throw Self.failure(code) }
  }

  /// Where a redirect leads (RFC 9110 section 10.2.2). Credentials of the base stay within its
  /// origin.
  ///
  /// - Parameters:
  ///   - reference: any URL, or a part of one; bytes that a URL may not hold are encoded, see
  ///     ``init(_:)``.
  ///   - base: where the redirect came from.
  init(_ reference: String, from base: ParsedURL) throws(Failure) {
    guard let pointer = unsafe curl_url_dup(base.pointer) else {
      throw Failure(stage: .fetch, code: .outOfMemory, detail: "no memory for a URL")
    }
    unsafe self.pointer = pointer
    let flags = UInt32(CURLU_URLENCODE | CURLU_ALLOW_SPACE)
    let code = unsafe curl_url_set(pointer, CURLUPART_URL, reference, flags)
    guard code == CURLUE_OK else { throw Self.failure(code) }
    guard origin != nil, origin == base.origin, part(CURLUPART_USER) == nil else { return }
    for name in [CURLUPART_USER, CURLUPART_PASSWORD] {
      if let value = base.part(name) { unsafe curl_url_set(pointer, name, value, 0) }
    }
  }

  private static func failure(_ code: CURLUcode) -> Failure {
    Failure(
      stage: .fetch, code: code == CURLUE_UNSUPPORTED_SCHEME ? .unsupportedScheme : .invalidURL,
      detail: unsafe String(cString: curl_url_strerror(code)))
  }

  deinit {
    unsafe curl_url_cleanup(pointer)
  }

  /// The origin of the URL (RFC 6454 section 4): scheme, host and port.
  var origin: [String]? {
    let parts = [
      part(CURLUPART_SCHEME), part(CURLUPART_HOST), part(CURLUPART_PORT, CURLU_DEFAULT_PORT),
    ]
    let known = parts.compactMap { $0?.lowercased() }
    return known.count == parts.count ? known : nil
  }

  /// The whole of it, as it is fetched.
  var text: String? { part(CURLUPART_URL) }

  var scheme: String? { part(CURLUPART_SCHEME)?.lowercased() }

  /// The port, also if it is that of the scheme; 0 without one.
  var port: Int { part(CURLUPART_PORT, CURLU_DEFAULT_PORT).flatMap { Int($0) } ?? 0 }

  /// What of it is asked of the origin: path and query.
  var target: String {
    (part(CURLUPART_PATH) ?? "/") + (part(CURLUPART_QUERY).map { "?\($0)" } ?? "")
  }

  /// The name of the URL beside validators that are kept; `nil` for a URL that is not kept. A
  /// redirect's target with a query is often signed: different each time, and a secret. Credentials
  /// are not part of the name.
  var issuerText: String? {
    guard let origin, part(CURLUPART_QUERY) == nil else { return nil }
    let text = "\(origin[0])://\(origin[1]):\(origin[2])\(part(CURLUPART_PATH) ?? "/")"
    let isKept =
      text.utf8.count <= CachingFields.maximumKeptByteCount
      && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    return isKept ? text : nil
  }

  private func part(_ part: CURLUPart, _ flags: CInt = 0) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard unsafe curl_url_get(pointer, part, &text, UInt32(flags)) == CURLUE_OK else { return nil }
    defer { unsafe curl_free(text) }
    return unsafe text.map { unsafe String(cString: $0) }
  }
}

/// A URL that is fetched, as this program and as libcurl read it.
struct TransferURL {
  let image: ImageURL
  let parsed: ParsedURL

  /// - Throws: as ``ParsedURL/init(_:)-(ImageURL)`` does.
  init(_ url: ImageURL) throws(Failure) {
    image = url
    parsed = try ParsedURL(url)
  }

  /// Where a redirect leads.
  ///
  /// libcurl follows none: each begins another transfer, which has what is left of the limits of the
  /// first, so that each hop is checked like a request of its own.
  ///
  /// - Parameters:
  ///   - location: the reference that the response holds.
  ///   - url: where the response came from.
  ///   - status: of the response.
  /// - Throws: why the redirect is not followed.
  init(redirectedTo location: String, from url: TransferURL, status: Int?) throws(Failure) {
    do throws(Failure) {
      parsed = try ParsedURL(location, from: url.parsed)
    } catch {
      // libcurl does not know the scheme, such as data.
      throw error.code == .unsupportedScheme ? .redirectToOtherScheme(status) : error
    }
    guard let scheme = parsed.scheme, ["http", "https"].contains(scheme) else {
      throw .redirectToOtherScheme(status)
    }
    guard let image = parsed.text.flatMap({ try? ImageURL(parsing: $0) }) else {
      throw Failure(
        stage: .fetch, code: .invalidURL, httpStatus: status,
        detail: "a redirect leads to text that is no URL, or too long a one")
    }
    self.image = image
  }
}

extension Failure {
  fileprivate static func redirectToOtherScheme(_ status: Int?) -> Failure {
    Failure(
      stage: .fetch, code: .unsupportedScheme, httpStatus: status,
      detail: "a redirect leads to a URL that is neither http nor https")
  }
}
