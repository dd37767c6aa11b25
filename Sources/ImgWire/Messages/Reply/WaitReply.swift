package import ImgModel

/// The reason why a `get` waits.
package struct WaitReply: Hashable, Sendable, Codable {
  package let id: RequestID
  package let wait: Wait

  package init(id: RequestID, wait: Wait) {
    self.id = id
    self.wait = wait
  }
}
