package import ImgModel

/// A request for a page of results.
package struct ResultsRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  package let job: JobID
  /// The index of the first line, from 0.
  package let from: Int
  package let isFailedOnly: Bool

  package init(id: RequestID, job: JobID, from: Int, isFailedOnly: Bool) {
    self.id = id
    self.job = job
    self.from = from
    self.isFailedOnly = isFailedOnly
  }

  private enum CodingKeys: String, CodingKey {
    case id, job, from
    case isFailedOnly = "failed_only"
  }

  /// Decodes and validates: an index is not negative.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let from = try container.decode(Int.self, forKey: .from)
    guard from >= 0 else {
      throw DecodingError.dataCorruptedError(
        forKey: .from, in: container, debugDescription: "the index must not be negative")
    }
    self.init(
      id: try container.decode(RequestID.self, forKey: .id),
      job: try container.decode(JobID.self, forKey: .job), from: from,
      isFailedOnly: try container.decode(Bool.self, forKey: .isFailedOnly))
  }
}
