package import ImgModel

/// Transfers that wait for slots at the hosts to which redirects lead.
package struct Redirections: Hashable, Sendable, Codable {
  package struct Redirection: Hashable, Sendable, Codable {
    package let transfer: TransferID
    /// See ``ImageURL/host``.
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
