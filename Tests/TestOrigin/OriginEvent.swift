/// One entry of the origin's log.
package struct OriginEvent: Sendable, Hashable {
  package enum Kind: Sendable {
    /// The header arrived.
    case started
    /// The last body byte was delivered, or the origin broke off as it was told to.
    case landed
    /// The client left before that; the origin has noticed it now.
    case aborted
  }

  package let kind: Kind
  /// Counts the origin's requests, from 1.
  package let request: Int
  package let path: String
  package let moment: ContinuousClock.Instant
}

extension OriginSnapshot {
  /// The starts from this position of the log on.
  package func starts(from position: Int = 0) -> [OriginEvent] {
    log.dropFirst(position).filter { $0.kind == .started }
  }

  /// The most requests in flight right after a start, of the starts from this position of the log
  /// on.
  ///
  /// - Parameter isCounted: leaves out, by start and end alike, requests whose clients may have died:
  ///   the origin notices that late, when the next ones have begun already.
  package func peakInFlight(
    from position: Int = 0, where isCounted: (OriginEvent) -> Bool = { _ in true }
  ) -> Int {
    var inFlight = 0
    var peak = 0
    for (index, event) in log.enumerated() where isCounted(event) {
      inFlight += event.kind == .started ? 1 : -1
      if index >= position, event.kind == .started { peak = max(peak, inFlight) }
    }
    return peak
  }
}
