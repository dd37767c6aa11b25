package import ImgModel

/// URLs whose remembered failures are to be forgotten.
package struct ForgetRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  /// In the spelling of ``ImageURL/text``.
  package let urls: [String]

  package init(id: RequestID, urls: [String]) {
    self.id = id
    self.urls = urls
  }
}
