import FoundationEssentials
package import ImgFacts

extension ClusterTransport {
  /// The facts of a picture, without the place where it was taken. The store has them, or a worker fetches as
  /// much of the picture as they need.
  package func facts(of url: String) async throws(ImageError) -> PictureFacts {
    let asked = try ClusterRequest(factsOf: url)
    guard let loaded = try await load(asked, as: ImageRequest(url: url), { _ in }),
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
