package import ImgModel

/// Redirected transfers that wait for slots at their new hosts.
package struct Redirections: Hashable, Sendable, Codable {
  package struct Redirection: Hashable, Sendable, Codable {
    package let transfer: TransferID
    /// The new host, see ``ImageURL/host``.
    package let host: String

    package init(transfer: TransferID, host: String) {
      self.transfer = transfer
      self.host = host
    }
  }

  package let redirections: [Redirection]

  package init(redirections: [Redirection]) {
    self.redirections = redirections
  }
}
