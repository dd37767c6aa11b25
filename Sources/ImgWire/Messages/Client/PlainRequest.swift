package import ImgModel

/// A request that is only its name.
package struct PlainRequest: Hashable, Sendable, Codable {
  package let id: RequestID

  package init(id: RequestID) {
    self.id = id
  }
}
