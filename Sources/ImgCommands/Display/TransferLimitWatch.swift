package import ImgModel

/// Finds out whether the limit of transfers, and not the machine, holds a list back. Pure: it is shown
/// the cluster from time to time.
///
/// It does where, in most looks, all slots were in use while lines of the list waited and decoders had
/// nothing to do.
package struct TransferLimitWatch: Sendable {
  private var lookCount = 0
  private var limitedCount = 0
  private var limits = Limits()

  /// Fewer looks tell too little.
  private static let minimumLookCount = 5

  package init() {}

  package mutating func add(_ cluster: ClusterStatus, _ job: JobStatus) {
    limits = cluster.limits
    lookCount += 1
    let ready = cluster.workers.count { $0.state == .ready }
    let decoding = cluster.workers.reduce(0) { $0 + $1.decoding }
    if cluster.transfers >= slotCount, job.queued > 0, decoding < ready { limitedCount += 1 }
  }

  /// The slots that hosts which take their time may have: a few are reserved for others.
  private var slotCount: Int {
    limits.transfers - min(limits.transfersPerHost, limits.transfers / 8)
  }

  /// What to say at the end of the list; `nil` if something else held it back.
  package var note: String? {
    guard lookCount >= Self.minimumLookCount, limitedCount * 2 > lookCount,
      limits.transfers < LimitChange.transferRange.upperBound
    else { return nil }
    let more = min(2 * limits.transfers, LimitChange.transferRange.upperBound)
    return
      "the limit of \(limits.transfers) transfers held the list back, not this machine; more at "
      + "once: imgctl limits --transfers \(more)"
  }
}
