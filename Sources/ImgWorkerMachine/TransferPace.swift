package import ImgModel

/// How much of a transfer has arrived, as the driver measures it.
package struct TransferMeasure: Hashable, Sendable {
  /// Bytes of all its responses so far.
  package let receivedByteCount: Int
  /// Whether it waits for this machine, and not for its origin.
  package let isHeldUp: Bool
  /// For how long the limits of bandwidth have held it so far.
  package let heldTime: Duration
  package let phase: TransferPhase

  package init(
    receivedByteCount: Int, isHeldUp: Bool, heldTime: Duration = .zero,
    phase: TransferPhase = .receiving
  ) {
    self.phase = phase
    self.receivedByteCount = receivedByteCount
    self.isHeldUp = isHeldUp
    self.heldTime = heldTime
  }
}

/// Whether a transfer is slow: whether less than a rate has arrived in the last span of time.
///
/// The span is short, so that viewers wait for no longer than that. A host is not harmed by the verdict: it
/// costs its transfers something only where others need their slots.
struct TransferPace {
  /// Half a span lies between two measures, so that a verdict comes after one to one and a half.
  static let span = Duration.milliseconds(500)
  static let measureInterval = Duration.milliseconds(250)
  /// Bytes a second, averaged over a span. A picture of 100 KB takes 6 s at this rate.
  static let leastByteRate = 16_384

  /// The coordinator is told of no shorter time, so that its messages do not follow each piece.
  static let leastReportedTime = Duration.milliseconds(500)

  private(set) var isSlow = false
  private var spanStart: Instant
  private var byteCountAtStart = 0
  private var lastByteCount = 0
  /// Whether it had a connection at the last measure.
  private(set) var isConnected = false
  /// The time for which it was held, at the last measure.
  private var heldTime = Duration.zero
  private var reportedHeldTime = Duration.zero
  private var reportedPhase = TransferPhase.receiving

  /// - Parameter start: when it got its slots.
  init(from start: Instant) {
    spanStart = start
  }

  /// It has other slots from now on.
  mutating func restart(at now: Instant) {
    isSlow = false
    reportedPhase = .receiving
    spanStart = now
  }

  /// - Returns: whether ``isSlow`` has changed.
  mutating func update(_ measure: TransferMeasure, at now: Instant) -> Bool {
    let elapsed = now - spanStart
    let isHeldUp = measure.isHeldUp || measure.heldTime > heldTime
    heldTime = measure.heldTime
    guard elapsed >= Self.span || isHeldUp else { return false }
    let arrived = Double(measure.receivedByteCount - byteCountAtStart)
    let wasSlow = isSlow
    isSlow = !isHeldUp && arrived < Double(Self.leastByteRate) * (elapsed / .seconds(1))
    spanStart = now
    byteCountAtStart = measure.receivedByteCount
    return isSlow != wasSlow
  }

  /// - Returns: whether something has arrived since the last measure.
  mutating func takeArrival(_ measure: TransferMeasure) -> Bool {
    isConnected = measure.phase == .awaitingAnswer || measure.phase == .receiving
    defer { lastByteCount = measure.receivedByteCount }
    return measure.receivedByteCount > lastByteCount
  }

  /// - Returns: what it is at, if it is slow and is at something else than was told before, or if it is no more at what
  ///   was told.
  mutating func takePhase(_ measure: TransferMeasure) -> TransferPhase? {
    guard measure.phase != reportedPhase, isSlow || reportedPhase != .receiving else { return nil }
    reportedPhase = measure.phase
    return measure.phase
  }

  /// - Returns: for how much longer it was held than was told before; `nil` while that is little.
  mutating func takeHeldTime(_ measure: TransferMeasure) -> Duration? {
    let time = measure.heldTime - reportedHeldTime
    guard time >= Self.leastReportedTime else { return nil }
    reportedHeldTime = measure.heldTime
    return time
  }
}

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
      // The worker may have asked a router whether another host can still be connected to. A host that cannot be
      // connected to says nothing of what arrives.
      if transfer.pace.isConnected, end.sign == nil || end.sign == .answered {
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
