package import ImgModel
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
    /// What it says of the network.
    var sign: NetworkSign?
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
    let url: ImageURL
    let since: Instant
  }

  private enum Phase {
    case receiving
    case waitingForSlot(SlotWait)
    /// - isStored: whether the store has the body as the original.
    case received(Body, isStored: Bool)
  }

  /// The order of the lease that started it, which may have left since. It is urgent while one of the leases is.
  private(set) var order: FetchOrder
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
  var pace: TransferPace

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
    endUpdates(for: lease)
    return leases.isEmpty
  }

  /// - Returns: whether that is a change.
  mutating func setUrgent(_ isUrgent: Bool) -> Bool {
    defer { order.isUrgent = isUrgent }
    return order.isUrgent != isUrgent
  }

  /// The lease wants neither previews nor progress.
  mutating func endUpdates(for lease: LeaseID) {
    previews?.remove(lease)
    progress?.remove(lease)
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
  mutating func planPreviews(for lease: LeaseID, includingRows: Bool, at now: Instant) {
    guard !isReceived else { return }
    var plan = previews ?? PreviewPlan(at: now)
    plan.add(lease, includingRows: includingRows)
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

  mutating func bodyGrew(to progress: ImageProgress) {
    previews?.bodyGrew(to: progress.receivedByteCount)
    self.progress?.bodyGrew(to: progress)
  }

  /// - Returns: what leases are to be told of the progress of the body.
  mutating func takeProgress() -> [LeaseProgress] {
    progress?.takeNews() ?? []
  }

  // MARK: - Redirects

  /// A redirect leads it to a URL.
  mutating func redirect(to url: ImageURL) {
    redirects.append(url)
  }

  /// It waits for a slot at the host to which its redirect leads.
  mutating func waitForSlot(_ wait: SlotWait) {
    phase = .waitingForSlot(wait)
  }

  /// - Returns: the redirect that waited; `nil` if none did.
  mutating func takeSlotWait(at now: Instant) -> SlotWait? {
    guard case .waitingForSlot(let wait) = phase else { return nil }
    phase = .receiving
    pace.restart(at: now)
    return wait
  }

  private func share(_ body: Body, for lease: LeaseID, bytesFetched: Int) -> Share {
    Share(
      lease: lease, body: body, bytesFetched: bytesFetched,
      isUnchecked: body.wasRedirected && !checksRobots)
  }
}

/// The transfers whose bodies this worker receives or holds, and which lease is attached to which:
/// single flight by key.
///
/// A transfer is named by the lease that started it, also after that lease has left.
struct SharedTransfers {
  /// What a lease finds that wants to attach.
  enum AttachResult {
    /// The body is on its way; the share comes with the others.
    case receiving
    /// The body is held: the lease can be decoded.
    case received(SharedTransfer.Share)
    /// The key has no transfer.
    case none
  }

  private var transfers: [TransferID: SharedTransfer] = [:]
  private var transferOfLease: [LeaseID: TransferID] = [:]
  /// The newest last.
  private var transfersOfKey: [TransferKey: [TransferID]] = [:]
  /// Running transfers. Clients want previews of their bodies.
  private var previewedIDs: Set<TransferID> = []
  /// Running transfers. Clients want to know how much of their bodies has arrived.
  private var progressIDs: Set<TransferID> = []

  // MARK: - Leases come and go

  /// Attaches the order's lease to a transfer of its own.
  mutating func start(_ order: FetchOrder) -> TransferID {
    let id = TransferID(startedBy: order.lease)
    transfers[id] = SharedTransfer(startedBy: order)
    transferOfLease[order.lease] = id
    transfersOfKey[order.transferKey, default: []].append(id)
    return id
  }

  /// Whether a lease may attach for the key.
  func hasTransfer(for key: TransferKey) -> Bool { transfersOfKey[key] != nil }

  /// Attaches a lease to the newest transfer of the key.
  mutating func attach(_ lease: LeaseID, key: TransferKey) -> AttachResult {
    guard let id = transfersOfKey[key]?.last else { return .none }
    transferOfLease[lease] = id
    return update(id) { $0.attach(lease) }.map(AttachResult.received) ?? .receiving
  }

  /// Takes a lease off a transfer whose body is on its way.
  ///
  /// - Returns: the transfer, if that was its last lease: it is over, and to be aborted.
  mutating func leave(_ lease: LeaseID) -> TransferID? {
    guard let id = transferOfLease.removeValue(forKey: lease) else {
      preconditionFailure("lease \(lease.rawValue) is attached to no transfer")
    }
    precondition(!self[id].isReceived, "a lease whose body is in detaches")
    return removeLease(lease, from: id)
  }

  /// The lease no longer needs a body, if it is attached to one.
  ///
  /// - Returns: the transfer, if that was its last lease: it is over, and its body is free.
  mutating func detach(_ lease: LeaseID) -> TransferID? {
    guard let id = transferOfLease.removeValue(forKey: lease) else { return nil }
    precondition(self[id].isReceived, "a lease whose body is on its way leaves")
    return removeLease(lease, from: id)
  }

  private mutating func removeLease(_ lease: LeaseID, from id: TransferID) -> TransferID? {
    guard update(id, { $0.remove(lease) }) else { return nil }
    remove(id)
    return id
  }

  // MARK: - The transfer proceeds

  /// Whether the transfer is not over.
  func contains(_ id: TransferID) -> Bool { transfers[id] != nil }

  /// - Precondition: the transfer is not over.
  subscript(id: TransferID) -> SharedTransfer {
    guard let transfer = transfers[id] else {
      preconditionFailure("transfer \(id.rawValue) is over")
    }
    return transfer
  }

  /// - Precondition: the transfer is not over.
  @discardableResult
  mutating func update<Result>(
    _ id: TransferID, _ change: (inout SharedTransfer) -> Result
  ) -> Result {
    guard let index = transfers.index(forKey: id) else {
      preconditionFailure("transfer \(id.rawValue) is over")
    }
    return change(&transfers.values[index])
  }

  /// Where redirects have led the transfer that a lease attaches to for the key.
  func redirects(for key: TransferKey) -> [ImageURL] {
    transfersOfKey[key]?.last.map { self[$0].redirects } ?? []
  }

  /// - Returns: the redirect that waited for a slot; `nil` if the transfer does not wait, or is over.
  mutating func takeSlotWait(
    _ id: TransferID, at now: Instant
  ) -> SharedTransfer.SlotWait? {
    transfers[id]?.takeSlotWait(at: now)
  }

  /// The body is in. It is held until every lease is detached.
  ///
  /// - Precondition: the transfer is not over.
  /// - Returns: a share for each lease.
  mutating func receive(_ body: SharedTransfer.Body, by id: TransferID) -> [SharedTransfer.Share] {
    previewedIDs.remove(id)
    progressIDs.remove(id)
    return update(id) { $0.receive(body) }
  }

  /// The transfer is over without a body.
  ///
  /// - Precondition: the transfer is not over.
  /// - Returns: its leases, which are detached.
  mutating func end(_ id: TransferID) -> [LeaseID] {
    let leases = remove(id).leases
    for lease in leases { transferOfLease[lease] = nil }
    return leases
  }

  // MARK: - Pace

  /// Whether any transfer holds slots.
  var hasSlots: Bool { transfers.values.contains(where: \.holdsSlots) }

  /// The transfers that hold slots, in order.
  var withSlots: [TransferID] {
    transfers.filter(\.value.holdsSlots).keys.sorted()
  }

  // MARK: - While the body arrives

  /// The running transfers of whose bodies clients want previews or progress.
  var watched: Set<TransferID> { previewedIDs.union(progressIDs) }

  mutating func bodyGrew(_ id: TransferID, to progress: ImageProgress) {
    guard let index = transfers.index(forKey: id) else { return }
    transfers.values[index].bodyGrew(to: progress)
  }

  // MARK: - Progress

  /// The lease wants to know how much of the body of its transfer has arrived.
  ///
  /// - Precondition: the transfer is not over.
  mutating func planProgress(for lease: LeaseID, of id: TransferID) {
    progressIDs.insert(id)
    update(id) { $0.planProgress(for: lease) }
  }

  /// Whether more has arrived of a body than its leases were told.
  var hasProgress: Bool { progressIDs.contains { transfers[$0]?.progress?.hasNews == true } }

  /// - Returns: what leases are to be told of the progress of their bodies.
  mutating func takeProgress() -> [LeaseProgress] {
    progressIDs.sorted().flatMap { id in update(id) { $0.takeProgress() } }
  }

  // MARK: - Previews

  /// The lease wants previews of its transfer while the body is on its way.
  ///
  /// - Precondition: the transfer is not over.
  mutating func planPreviews(
    for lease: LeaseID, of id: TransferID, includingRows: Bool, at now: Instant
  ) {
    previewedIDs.insert(id)
    update(id) { $0.planPreviews(for: lease, includingRows: includingRows, at: now) }
  }

  /// The transfer whose preview is due first, and when.
  var nextPreview: (id: TransferID, deadline: Instant)? {
    previewedIDs.compactMap { id in
      transfers[id]?.previews?.deadline.map { (id: id, deadline: $0) }
    }.min { ($0.deadline, $0.id) < ($1.deadline, $1.id) }
  }

  /// A preview is being made.
  ///
  /// - Returns: the one that it is for, and the bytes that the last preview shows; `nil` if none is wanted.
  mutating func beginPreview(
    of id: TransferID, at now: Instant
  ) -> (viewer: PreviewPlan.Viewer, shownByteCount: Int)? {
    guard let plan = transfers[id]?.previews, var viewer = plan.viewers.first else { return nil }
    updatePreviews(of: id) { viewer = $0.begin(at: now) }
    return (viewer, plan.shownByteCount)
  }

  /// The transfer may be over.
  mutating func end(_ preview: PreviewOrder, _ end: PreviewEnd) {
    let id = preview.transfer
    switch end {
    case .made(_, let byteCount): updatePreviews(of: id) { $0.made(showing: byteCount) }
    case .later: break
    case .busy: updatePreviews(of: id) { $0.postpone() }
    case .never:
      updatePreviews(of: id) { $0.end(includingRows: preview.includesRows) }
      if transfers[id]?.previews?.viewers.isEmpty != false { previewedIDs.remove(id) }
    }
  }

  private mutating func updatePreviews(
    of id: TransferID, _ change: (inout PreviewPlan) -> Void
  ) {
    guard let index = transfers.index(forKey: id) else { return }
    transfers.values[index].updatePreviews(change)
  }

  // MARK: - The body as the original

  /// The transfer that the lease is attached to.
  ///
  /// - Precondition: it is attached to one.
  func transfer(of lease: LeaseID) -> TransferID {
    guard let id = transferOfLease[lease] else {
      preconditionFailure("lease \(lease.rawValue) is attached to no transfer")
    }
    return id
  }

  /// The transfer of the lease, if its body is held and the store does not have it.
  func bodyToStore(of lease: LeaseID) -> TransferID? {
    transferOfLease[lease].flatMap { self[$0].isBodyToStore ? $0 : nil }
  }

  /// From now on no lease attaches to it; older ones of its key stay.
  @discardableResult
  private mutating func remove(_ id: TransferID) -> SharedTransfer {
    guard let transfer = transfers.removeValue(forKey: id) else {
      preconditionFailure("transfer \(id.rawValue) is over")
    }
    previewedIDs.remove(id)
    progressIDs.remove(id)
    let key = transfer.order.transferKey
    let others = transfersOfKey[key, default: []].filter { $0 != id }
    transfersOfKey[key] = others.isEmpty ? nil : others
    return transfer
  }
}

/// What a transfer brings.
package struct TransferKey: Hashable, Sendable {
  package let name: PictureName
  package let part: PicturePart

  package init(name: PictureName, part: PicturePart) {
    self.name = name
    self.part = part
  }
}
