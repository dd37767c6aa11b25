package import ImgModel

/// A request or a reply without parameters.
package struct PlainRequest: Hashable, Sendable, Codable {
  package let id: RequestID

  package init(id: RequestID) {
    self.id = id
  }
}
