package import ImgModel

/// How much has arrived of the picture that a `get` waits for.
package struct ProgressReply: Hashable, Sendable {
  package let id: RequestID
  package let progress: BodyProgress

  package init(id: RequestID, progress: BodyProgress) {
    self.id = id
    self.progress = progress
  }
}

// The members of the progress are beside the number of the request.
extension ProgressReply: Codable {
  private enum CodingKeys: String, CodingKey {
    case id
  }

  package init(from decoder: any Decoder) throws {
    id = try decoder.container(keyedBy: CodingKeys.self).decode(RequestID.self, forKey: .id)
    progress = try BodyProgress(from: decoder)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .id)
    try progress.encode(to: encoder)
  }
}
