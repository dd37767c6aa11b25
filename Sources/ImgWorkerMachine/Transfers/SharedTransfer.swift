import ImgModel
import ImgWire

/// One transfer of a picture and the leases that it serves. Its body comes in once; each lease gets a
/// decode of its own from it.
///
///     receiving ── the body is in ──► received ── the last lease detached ──► over
///         └─────── it failed, or the last lease left ────────────────────────▲
struct SharedTransfer {
  /// A body that came in whole. The driver holds its bytes.
  struct Body {
    let facts: BodyFacts
    /// Bytes that this transfer received.
    let freshByteCount: Int
    let timings: Timings
    /// Whether it comes from where a redirect led.
    let wasRedirected: Bool
  }

  /// What one lease is decoded from.
  struct Share {
    let lease: LeaseID
    let body: Body
    /// What the lease's result reports as fetched. The bytes of a body are counted once, however
    /// many leases are decoded from it.
    let bytesFetched: Int
    /// Whether a redirect was followed without a robots check.
    let isUnchecked: Bool
  }

  /// A redirect that waits for a slot at the host to which it leads.
  struct SlotWait {
    let redirect: Redirect
    let since: ContinuousClock.Instant
  }

  private enum Phase {
    case receiving
    case waitingForSlot(SlotWait)
    /// - isStored: whether the store has the body as the original.
    case received(Body, isStored: Bool)
  }

  /// The order of the lease that started it, which may have left since.
  let order: FetchOrder
  /// Those whose decode is not over, in the order they attached; never empty before the end.
  private(set) var leases: [LeaseID]
  private var phase = Phase.receiving
  /// Where its redirects have led so far; at most ``Limits/maxRedirects``.
  private(set) var redirects: [ImageURL] = []
  /// The previews that some of the leases want; `nil` if none does, or the body is in.
  private(set) var previews: PreviewPlan?
  /// What some of the leases are told of the progress of the body; `nil` if none wants it, or the body is
  /// in.
  private(set) var progress: ProgressPlan?
  private(set) var pace: TransferPace

  init(startedBy order: FetchOrder) {
    self.order = order
    pace = TransferPace(from: order.assignedAt)
    leases = [order.lease]
  }

  /// Whether redirects are followed only if robots.txt permits it.
  var checksRobots: Bool { order.options.respectsRobots }

  private var body: Body? {
    if case .received(let body, _) = phase { body } else { nil }
  }

  var isReceived: Bool { body != nil }

  /// Whether it holds the slots that the coordinator gave it.
  var holdsSlots: Bool {
    if case .receiving = phase { true } else { false }
  }

  /// Whether the body is held and the store does not have it. Until it has, each lease that wants the
  /// original stores it, because none can know whether another's will be stored.
  var isBodyToStore: Bool {
    if case .received(_, isStored: false) = phase { true } else { false }
  }

  /// - Returns: the lease's share if the body is in; else it comes from ``receive(_:)``.
  mutating func attach(_ lease: LeaseID) -> Share? {
    leases.append(lease)
    return body.map { share($0, for: lease, bytesFetched: 0) }
  }

  /// - Returns: whether no lease is left.
  mutating func remove(_ lease: LeaseID) -> Bool {
    leases.removeAll { $0 == lease }
    previews?.remove(lease)
    progress?.remove(lease)
    return leases.isEmpty
  }

  /// - Returns: a share for each lease. The first one counts the bytes: the lease that started the
  ///   transfer or, if that has left, the one that attached first.
  mutating func receive(_ body: Body) -> [Share] {
    phase = .received(body, isStored: false)
    previews = nil
    progress = nil
    return leases.enumerated().map { index, lease in
      share(body, for: lease, bytesFetched: index == 0 ? body.freshByteCount : 0)
    }
  }

  /// The store has the body as the original.
  mutating func bodyStored() {
    guard case .received(let body, _) = phase else {
      preconditionFailure("a body is stored after it was received")
    }
    phase = .received(body, isStored: true)
  }

  // MARK: - Previews

  /// The lease wants previews while the body is on its way.
  mutating func planPreviews(for lease: LeaseID, at now: ContinuousClock.Instant) {
    guard !isReceived else { return }
    var plan = previews ?? PreviewPlan(at: now)
    plan.add(lease)
    previews = plan
  }

  mutating func updatePreviews(_ change: (inout PreviewPlan) -> Void) {
    guard var plan = previews else { return }
    change(&plan)
    previews = plan
  }

  // MARK: - Progress

  /// The lease wants to know how much of the body has arrived.
  mutating func planProgress(for lease: LeaseID) {
    guard !isReceived else { return }
    var plan = progress ?? ProgressPlan()
    plan.add(lease)
    progress = plan
  }

  mutating func bodyGrew(to progress: BodyProgress) {
    previews?.bodyGrew(to: progress.receivedByteCount)
    self.progress?.bodyGrew(to: progress)
  }

  /// - Returns: what leases are to be told of the progress of the body.
  mutating func takeProgress() -> [ProgressReport.Entry] {
    progress?.takeNews() ?? []
  }

  // MARK: - Redirects

  mutating func redirect(to url: ImageURL) {
    redirects.append(url)
  }

  mutating func waitForSlot(_ wait: SlotWait) {
    phase = .waitingForSlot(wait)
  }

  /// - Returns: the redirect that waited; `nil` if none did.
  mutating func takeSlotWait(at now: ContinuousClock.Instant) -> SlotWait? {
    guard case .waitingForSlot(let wait) = phase else { return nil }
    phase = .receiving
    pace.restart(at: now)
    return wait
  }

  // MARK: - Pace

  /// - Returns: whether the transfer has turned slow, or is slow no more.
  mutating func updatePace(_ measure: TransferMeasure, at now: ContinuousClock.Instant) -> Bool {
    pace.update(measure, at: now)
  }

  private func share(_ body: Body, for lease: LeaseID, bytesFetched: Int) -> Share {
    Share(
      lease: lease, body: body, bytesFetched: bytesFetched,
      isUnchecked: body.wasRedirected && !checksRobots)
  }
}
