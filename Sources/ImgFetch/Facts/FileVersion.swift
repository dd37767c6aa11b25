/// The state of a file whose parts are fetched one after the other.
struct FileVersion {
  /// Of the response with the first part.
  let head: ResponseHead
  /// Bytes of the whole file, if they are known.
  let byteCount: Int?

  /// Whether a later part is of the same state. A part may leave out fields (RFC 9110 section
  /// 15.3.7), so only what both say is compared.
  func isOf(_ later: ResponseHead, byteCount laterByteCount: Int?) -> Bool {
    if let byteCount, let laterByteCount, byteCount != laterByteCount { return false }
    if let validator = head.strongValidator { return later.isOfBody(validatedBy: validator) }
    return [HeadField.Name.entityTag, .lastModified].allSatisfy { name in
      guard let own = head.caching[name], let other = later.caching[name] else { return true }
      return own == other
    }
  }
}
