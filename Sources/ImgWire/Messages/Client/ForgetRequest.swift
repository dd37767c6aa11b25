package import ImgModel

/// A request to delete the remembered failures of URLs.
package struct ForgetRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  /// The URLs as in ``ImageURL/text``.
  package let urls: [String]

  package init(id: RequestID, urls: [String]) {
    self.id = id
    self.urls = urls
  }
}
