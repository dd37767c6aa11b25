package import ImgModel

/// The start of a submission.
package struct Submission: Hashable, Sendable, Codable {
  package let id: RequestID
  package let name: String?
  package let options: RequestOptions
  package let order: LineOrder
  package let pinPolicy: PinPolicy

  package init(
    id: RequestID, name: String?, options: RequestOptions, order: LineOrder,
    pinPolicy: PinPolicy = .none
  ) {
    self.id = id
    self.name = name
    self.options = options
    self.order = order
    self.pinPolicy = pinPolicy
  }

  private enum CodingKeys: String, CodingKey {
    case id, name, options, order
    case pinPolicy = "pin"
  }
}

/// Lines of a submission: one URL each, as the user typed it.
package struct SubmissionLines: Hashable, Sendable, Codable {
  package let id: RequestID
  package let lines: [String]

  package static let maximumCount = 1_000
  /// The maximum size of the text in one frame. JSON may need six bytes for one.
  package static let maximumByteCount = 128 << 10

  package init(id: RequestID, lines: [String]) {
    self.id = id
    self.lines = lines
  }
}
