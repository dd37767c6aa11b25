package import ImgModel

/// The opening of a submission.
package struct Submission: Hashable, Sendable, Codable {
  package let id: RequestID
  package let name: String?
  package let options: RequestOptions
  package let order: LineOrder

  package init(id: RequestID, name: String?, options: RequestOptions, order: LineOrder) {
    self.id = id
    self.name = name
    self.options = options
    self.order = order
  }
}

/// Lines of a list, each one URL as it was written.
package struct SubmissionLines: Hashable, Sendable, Codable {
  package let id: RequestID
  package let lines: [String]

  package static let maximumCount = 1_000
  /// The most bytes of text in one frame's lines together; JSON may write a byte as six.
  package static let maximumByteCount = 128 << 10

  package init(id: RequestID, lines: [String]) {
    self.id = id
    self.lines = lines
  }
}
