import ImgModel

/// What `--json` prints for a URL that failed.
struct FailureReport: Encodable {
  private let index: Int?
  private let url: RequestedURL
  private let failure: Failure
  private let timings: Timings?

  private enum CodingKeys: String, CodingKey {
    case index, timings
  }

  /// - Parameters:
  ///   - url: the URL as requested.
  ///   - index: the position in the list, from 0; `nil` without a list.
  init(_ url: RequestedURL, index: Int? = nil, _ failure: Failure, timings: Timings? = nil) {
    self.index = index
    self.url = url
    self.failure = failure
    self.timings = timings
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(index, forKey: .index)
    try url.encode(to: encoder)
    try container.encodeIfPresent(timings, forKey: .timings)
    try failure.encode(to: encoder)
  }
}
