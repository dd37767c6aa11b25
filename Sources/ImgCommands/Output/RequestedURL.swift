import ImgModel

/// The URL of a picture in `--json` and manifests: `url` as requested, so that people find their
/// own line, and `normalized_url` if it differs. imgctl fetches and stores the normalized URL.
struct RequestedURL: Encodable {
  private let url: String
  private let normalized: String?

  private enum CodingKeys: String, CodingKey {
    case url
    case normalized = "normalized_url"
  }

  /// - Parameter line: the text in a list or command line.
  init(_ line: String) {
    url = line.withoutPasswords
    let text = try? ImageURL(line: line).text
    normalized = text == line ? nil : text?.withoutPasswords
  }

  /// - Parameter name: a text that is not normalized: a path, or the name of a record.
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
