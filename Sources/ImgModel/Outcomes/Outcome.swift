/// The final result of a URL. Every URL of a job has exactly one.
package enum Outcome: Hashable, Sendable {
  /// The thumbnail exists: in the store, or in an uncached result.
  /// - Parameters:
  ///   - fromCache: whether it was a cache hit.
  ///   - bytesFetched: bytes of the response bodies of all attempts; 0 for a cache hit.
  case done(Thumbnail, fromCache: Bool, bytesFetched: Int)
  /// - bytesFetched: bytes of the response bodies of all attempts.
  case failed(Failure, bytesFetched: Int = 0)
  case cancelled
}

extension Outcome {
  /// Sets the fetched bytes of a failure; returns any other outcome unchanged.
  package func fetched(_ byteCount: Int) -> Outcome {
    guard case .failed(let failure, _) = self else { return self }
    return .failed(failure, bytesFetched: byteCount)
  }
}

extension Outcome: Codable {
  private enum CodingKeys: String, CodingKey {
    case outcome, thumbnail, failure
    case fromCache = "from_cache"
    case bytesFetched = "bytes_fetched"
  }

  private enum Name: String, Codable {
    case done, failed, cancelled
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    switch try container.decode(Name.self, forKey: .outcome) {
    case .done:
      self = .done(
        try container.decode(Thumbnail.self, forKey: .thumbnail),
        fromCache: try container.decode(Bool.self, forKey: .fromCache),
        bytesFetched: try container.decode(Int.self, forKey: .bytesFetched))
    case .failed:
      self = .failed(
        try container.decode(Failure.self, forKey: .failure),
        bytesFetched: try container.decodeIfPresent(Int.self, forKey: .bytesFetched) ?? 0)
    case .cancelled:
      self = .cancelled
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .done(let thumbnail, let fromCache, let bytesFetched):
      try container.encode(Name.done, forKey: .outcome)
      try container.encode(thumbnail, forKey: .thumbnail)
      try container.encode(fromCache, forKey: .fromCache)
      try container.encode(bytesFetched, forKey: .bytesFetched)
    case .failed(let failure, let bytesFetched):
      try container.encode(Name.failed, forKey: .outcome)
      try container.encode(failure, forKey: .failure)
      // Most failures have no body.
      if bytesFetched > 0 { try container.encode(bytesFetched, forKey: .bytesFetched) }
    case .cancelled:
      try container.encode(Name.cancelled, forKey: .outcome)
    }
  }
}
