import ImgClient
import ImgModel

/// How long `get` takes, again and again, on a connection of its own.
struct LatencyTrial {
  let new: Samples
  let cached: Samples

  /// - Parameters:
  ///   - newURLs: pictures that were never fetched; each is used once.
  ///   - cachedURL: a stored one.
  init(_ client: Client, newURLs: some Sequence<String>, cachedURL: String) throws {
    let options = RequestOptions(variant: .standard)
    func milliseconds(_ url: String) throws -> Double {
      try Bench.microseconds {
        guard case .done = try client.get(url, options: options).outcome else {
          throw BenchError("\(url) has no thumbnail")
        }
      } / 1_000
    }
    var (new, cached) = (Samples(), Samples())
    for url in newURLs {
      new.add(try milliseconds(url))
      cached.add(try milliseconds(cachedURL))
    }
    (self.new, self.cached) = (new, cached)
  }
}
