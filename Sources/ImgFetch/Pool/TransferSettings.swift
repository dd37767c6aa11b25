internal import ImgModel
internal import ImgSystem

/// What all transfers of a pool have in common.
struct TransferSettings {
  let limits: Limits
  let addressPolicy: AddressPolicy
  let userAgent: String
  /// Of a request that says nothing of them.
  let headers: RequestHeaders
  let budgets: BodyBudgets
  let turns = LoopTurns()
  let current: CurrentTransfer
  let sockets = ConnectionSockets()
  let cooldowns: HostCooldowns
  let unusedBodies = UnusedBodies()
  /// Where files for long bodies are made: in the first that takes one.
  let spoolDirectories: [String]
  let screen: BodyScreen?
  /// Certificates of the authorities to trust, as PEM; `nil` for those of the system.
  let authorityFile: String?

  /// A new file for a body; `nil` where none can be made.
  func spoolFile() -> SpoolFile? {
    for directory in spoolDirectories {
      if let file = try? SpoolFile(in: directory) { return file }
    }
    return nil
  }
}
