/// What tells images apart in memory.
struct MemoryKey: Hashable, Sendable {
  private let url: String
  private let variant: ImageVariant
  private let headers: [ImageRequest.HeaderField]
  private let acceptsDamage: Bool

  /// - Returns: `nil` for a request that memory does not answer: one that has to ask the origin, or has to
  ///   extend the expiry in the store.
  init?(_ request: ImageRequest) {
    guard [.cacheElseLoad, .cacheOnly].contains(request.cachePolicy), request.delay == .zero else {
      return nil
    }
    if case .afterAccess = request.expiry { return nil }
    self.init(identityOf: request)
  }

  /// Whatever the request wants of its cache.
  init(identityOf request: ImageRequest) {
    url = request.url
    variant = request.variant
    headers = request.headers
    acceptsDamage = request.acceptsDamage
  }
}
