import ImgModel

/// The URL of a picture as `--json` and manifests tell it: `url` as it was requested, so that people
/// find their own line, and `normalized_url` where that is spelled otherwise, by which it is fetched
/// and stored.
struct RequestedURL: Encodable {
  private let url: String
  private let normalized: String?

  private enum CodingKeys: String, CodingKey {
    case url
    case normalized = "normalized_url"
  }

  /// - Parameter line: as it stands in a list, or in a command line.
  init(_ line: String) {
    url = line.withoutPasswords
    let text = try? ImageURL(line: line).text
    normalized = text == line ? nil : text?.withoutPasswords
  }

  /// - Parameter name: what is not normalised: a path, or the name of a record.
  init(verbatim name: String) {
    url = name.withoutPasswords
    normalized = nil
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(url, forKey: .url)
    try container.encodeIfPresent(normalized, forKey: .normalized)
  }
}
