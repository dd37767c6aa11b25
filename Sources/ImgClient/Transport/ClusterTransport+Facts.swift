import FoundationEssentials
package import ImgFacts
package import ImgModel

extension ClusterTransport {
  /// The facts of a picture, without the place where it was taken. The store has them, or a worker fetches as
  /// much of the picture as they need.
  ///
  /// - Parameters:
  ///   - maximumRetryAfter: see ``ImageRequest/maximumRetryAfter``.
  ///   - redirectOrigins: see ``ImageRequest/redirectOrigins``.
  package func facts(
    of url: String, maximumRetryAfter: Duration? = nil, redirectOrigins: OriginList = .all
  ) async throws(ImageError) -> PictureFacts {
    let asked = try ClusterRequest(factsOf: url, redirectOrigins: redirectOrigins)
    var request = ImageRequest(url: url)
    request.maximumRetryAfter = maximumRetryAfter
    guard let loaded = try await load(asked, as: request, nil),
      let record = try? JSONDecoder().decode(FactsRecord.self, from: Data(loaded.bytes))
    else {
      throw ImageError(
        code: .storeFailure, url: url, isRetryable: true,
        message: "the facts of the picture were removed from the store before they were read")
    }
    var facts = record.facts
    facts.gps = nil
    facts.xmp?.packet = nil
    return facts
  }
}
