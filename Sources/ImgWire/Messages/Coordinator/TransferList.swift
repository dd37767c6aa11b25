package import ImgModel

/// A list of transfers.
package struct TransferList: Hashable, Sendable, Codable {
  package let transfers: [TransferID]

  package init(transfers: [TransferID]) {
    self.transfers = transfers
  }
}
