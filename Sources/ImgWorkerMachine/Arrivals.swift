import ImgModel

/// When something has last arrived from any host, as far as this worker knows.
///
/// A router or a proxy may let connections come about, and the network behind it may deliver nothing. Then transfers
/// time out as if their hosts were silent. That nothing comes from other hosts either tells one from the other.
struct Arrivals {
  private var lastAt: Instant?

  /// Bytes follow each other sooner also on a slow line.
  private static let longestGap = Duration.seconds(10)

  mutating func note(at now: Instant) { lastAt = now }

  /// Whether nothing has come from any host since a transfer began, or for a while.
  ///
  /// - Parameter hasAnswer: whether something has come from its own host.
  func isNothing(since start: Instant, hasAnswer: Bool, at now: Instant) -> Bool {
    guard let lastAt else { return !hasAnswer }
    return now - lastAt >= Self.longestGap || !hasAnswer && lastAt <= start
  }
}

extension WorkerMachine {
  /// A transfer has ended.
  ///
  /// - Returns: the same with what it says of the network by what has arrived of other transfers.
  mutating func noteArrival(in end: TransferEnd, of id: TransferID) -> TransferEnd {
    switch end.result {
    case .deferred: return end
    case .notModified, .body:
      arrivals.note(at: now.instant)
      return end
    case .failed(let failure):
      var end = end
      let transfer = transfers[id]
      // The worker may have asked a router whether another host can still be connected to.
      if end.sign == nil || end.sign == .answered && transfer.pace.isConnected {
        end.sign =
          signOfSilence(
            failure, begunAt: transfer.order.assignedAt, byteCount: end.freshByteCount) ?? end.sign
      }
      return end
    }
  }

  /// The request for a robots.txt has failed, for which a transfer waits.
  ///
  /// - Returns: what that says of the network.
  mutating func sign(
    of failure: Failure, _ sign: NetworkSign?, in check: RobotsCache.Check
  ) -> NetworkSign? {
    guard sign == nil, case .start(let transfer) = check.step else { return sign }
    return signOfSilence(failure, begunAt: transfers[transfer].order.assignedAt)
  }

  /// - Returns: that a transfer has failed because nothing arrives from any host; `nil` if that is not known.
  private mutating func signOfSilence(
    _ failure: Failure, begunAt start: Instant, byteCount: Int = 0
  ) -> NetworkSign? {
    let hasAnswer = failure.httpStatus != nil || byteCount > 0
    guard failure.code == .timeout else {
      if hasAnswer { arrivals.note(at: now.instant) }
      return nil
    }
    return arrivals.isNothing(since: start, hasAnswer: hasAnswer, at: now.instant) ? .noData : nil
  }
}
