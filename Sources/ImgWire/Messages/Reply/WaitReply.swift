package import ImgModel

/// Why a `get` is not answered yet.
package struct WaitReply: Hashable, Sendable, Codable {
  package let id: RequestID
  package let wait: Wait

  package init(id: RequestID, wait: Wait) {
    self.id = id
    self.wait = wait
  }
}
