package import ImgModel

/// Redirected transfers that wait for slots at their new hosts.
package struct Redirections: Hashable, Sendable, Codable {
  package struct Redirection: Hashable, Sendable, Codable {
    package let transfer: TransferID
    /// The new host, see ``ImageURL/host``.
    package let host: String
    /// The new origin, see ``ImageURL/origin``.
    package let origin: String

    package init(transfer: TransferID, host: String, origin: String) {
      self.transfer = transfer
      self.host = host
      self.origin = origin
    }
  }

  package let redirections: [Redirection]

  package init(redirections: [Redirection]) {
    self.redirections = redirections
  }
}
