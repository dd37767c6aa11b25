internal import ImgModel
internal import ImgSystem

/// What all transfers of a pool have in common: its settings, and the state that they share.
struct TransferContext {
  let limits: Limits
  let addressPolicy: AddressPolicy
  let userAgent: String
  /// Of a request that adds none of its own.
  let headers: RequestHeaders
  let spoolDirectories: SpoolDirectories
  let earlyReject: EarlyReject?
  /// Certificates of the authorities to trust, as PEM; `nil` for those of the system.
  let authorityFile: String?
  let proxies: ProxyRoutes

  let budgets: BodyBudgets
  let turns = LoopTurns()
  let current: CurrentTransfer
  let sockets = ConnectionSockets()
  let cooldowns = HostCooldowns()
  let unusedBodies = UnusedBodies()
}
