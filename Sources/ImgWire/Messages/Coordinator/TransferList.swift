package import ImgModel

/// Transfers by their number.
package struct TransferList: Hashable, Sendable, Codable {
  package let transfers: [TransferID]

  package init(transfers: [TransferID]) {
    self.transfers = transfers
  }
}
