package import ImgModel

/// A request to change limits of the running coordinator.
package struct LimitRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  package let limits: LimitChange

  package init(id: RequestID, limits: LimitChange) {
    self.id = id
    self.limits = limits
  }
}
