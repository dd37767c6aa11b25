package import ImgModel
package import ImgStore

extension StoreReader {
  /// The result that answers a request without the coordinator; `nil` if it is not there, or the request
  /// asks for more: a later expiry, an original that is not kept, a fresh answer of the origin.
  ///
  /// - Parameters:
  ///   - options: its delay has passed.
  ///   - maximumByteCount: a longer result has no bytes, and costs no copy.
  package func hit(
    for url: ImageURL, _ options: RequestOptions, at now: WallTime,
    bytesUpTo maximumByteCount: Int = .max
  ) throws(StoreError) -> (facts: StoredThumbnail, bytes: [UInt8])? {
    let name = options.fetch.name(of: url)
    let policy = options.fetch.cachePolicy
    // A picture that comes from no origin has no original.
    if options.keep.includesOriginal, !url.isLocal {
      guard let original = try originalFacts(of: name, isLenient: options.isLenient),
        policy.accepts(original.terms, at: now)
      else { return nil }
    }
    guard
      let found = try result(
        of: name, for: options.request, bytesUpTo: maximumByteCount, recordingAccess: .hits),
      policy.accepts(found.facts.terms, at: now),
      found.facts.extended(by: Self.minimumRetention(of: options), at: now) == nil
    else { return nil }
    return found
  }

  /// The retention that the request asks for at least. Only the coordinator knows the default
  /// expiry, so this assumes the shortest.
  private static func minimumRetention(of options: RequestOptions) -> Retention {
    options.expiry.retentionOfStored(defaultExpiry: RequestOptions.expiryRange.lowerBound)
  }
}
