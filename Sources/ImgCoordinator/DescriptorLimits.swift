import ImgModel
import ImgSettings
import ImgSystem

/// What the limit of open descriptors permits. Each process may have so many: the coordinator needs
/// them for clients and workers, a worker for transfers.
struct DescriptorLimits {
  /// The limit of each process.
  private let maximum: Int

  /// Descriptors of the coordinator for everything but clients and workers: files, pictures that pass
  /// through, and connections that are refused.
  private static let reservedByCoordinator = 256
  /// A worker's connection, process, heartbeat page and error stream; and for each of its decoders
  /// the process and the error stream, or the connection while it waits for its start.
  private static let perWorker = 4 + 2 * DecoderChildren.maximumPerWorker
  /// Descriptors of a worker for everything but transfers: store, decoders, spool files.
  private static let reservedByWorker = 256
  /// A look-up has two for its thread and one for the name server, and a connection one, or two while
  /// two addresses are tried.
  private static let perTransfer = 3
  private static let remedy = "raise the hard limit (ulimit -H -n, LimitNOFILE=)"

  /// - Parameter maximum: the limit of a process.
  init(maximum: Int) {
    self.maximum = maximum
  }

  /// Raises the soft limit of this process, and with it those of the workers, to the hard one.
  static func raised() -> DescriptorLimits {
    DescriptorLimits(maximum: ThisProcess.raiseDescriptorLimit())
  }

  /// What a worker needs in which all transfers run, with the slow ones that are not counted. These are
  /// connected, so each needs its connection alone.
  private static func needed(forTransfers count: Int) -> Int {
    var limits = Limits()
    limits.transfers = count
    return reservedByWorker + perTransfer * count + limits.slowTransfers
  }

  private var maximumTransferCount: Int {
    let room = maximum - Self.reservedByWorker
    let few = room / (Self.perTransfer + Limits.slowTransfersPerTransfer)
    let many = (room - Limits.maximumSlowTransfers) / Self.perTransfer
    return max(few, many, 1)
  }

  /// Why so many transfers cannot run at once; `nil` if they can.
  func reasonForRefusing(transfers: Int) -> String? {
    guard transfers > maximumTransferCount else { return nil }
    let needed = Self.needed(forTransfers: transfers)
    return
      "\(transfers) transfers need \(needed) open files, but a process may have \(maximum) here; "
      + "\(Self.remedy), or use at most \(maximumTransferCount) transfers"
  }

  /// As many of some transfers as can run at once.
  func permitted(transfers: Int) -> Int { min(transfers, maximumTransferCount) }

  /// Lets no more transfers run than workers can have descriptors for.
  ///
  /// - Throws: for more than the default, because they were asked for, except "unlimited".
  /// - Returns: a remark for the log; `nil` when all transfers fit.
  func limitTransfers(of settings: inout Settings) throws(StartError) -> String? {
    guard let reason = reasonForRefusing(transfers: settings.limits.transfers) else { return nil }
    let isAsked = settings.limits.transfers > Limits().transfers
    guard !isAsked || settings.limits.transfers == LimitChange.unlimitedTransfers else {
      throw StartError("--transfers: \(reason)")
    }
    settings.limits.transfers = permitted(transfers: settings.limits.transfers)
    return reason
  }

  /// Lets no more clients connect than this process can have descriptors for.
  ///
  /// - Returns: a remark for the log; `nil` when all clients fit.
  func limitClients(of settings: inout Settings) -> String? {
    let reserved = Self.reservedByCoordinator + Self.perWorker * settings.limits.workers
    let room = max(maximum - reserved, 1)
    let wanted = settings.limits.clients
    guard wanted > room else { return nil }
    settings.limits.clients = room
    return "\(room) clients may connect, not \(wanted): this process may open \(maximum) files "
      + "and needs \(reserved) of them itself; \(Self.remedy)"
  }
}
