internal import CCurl
internal import ImgModel

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
