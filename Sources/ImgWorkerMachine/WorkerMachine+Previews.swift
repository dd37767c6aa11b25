package import ImgModel
import ImgWire

/// Previews of pictures while their bodies arrive.
///
/// One preview at a time is made in a worker. It is not stored: one that cannot be made, or comes after the
/// body, is dropped.
extension WorkerMachine {
  /// When the next preview may begin; `nil` if no client wants one, or one is being made.
  package var previewDeadline: Instant? {
    isPreviewUnderWay ? nil : transfers.nextPreview?.deadline
  }

  /// Has previews of the order's body made.
  ///
  /// - Parameter includingRows: see `ArrivalUpdates.rows`.
  mutating func planPreviews(of order: FetchOrder, includingRows: Bool) {
    let id = transfers.transfer(of: order.lease)
    guard order.mayHavePreviews(from: transfers[id].order) else { return }
    transfers.planPreviews(
      for: order.lease, of: id, includingRows: includingRows, at: now.instant)
  }

  /// Makes the preview that has been due for longest, if one is.
  mutating func startPreview() {
    guard !isPreviewUnderWay, let (id, deadline) = transfers.nextPreview, deadline <= now.instant,
      let (viewer, shownByteCount) = transfers.beginPreview(of: id, at: now.instant)
    else { return }
    isPreviewUnderWay = true
    effects.append(
      .makePreview(
        PreviewOrder(
          transfer: id, lease: viewer.lease,
          variant: tasks[viewer.lease].order.request.variant, shownByteCount: shownByteCount,
          includesRows: viewer.seesRows)))
  }

  mutating func previewed(_ order: PreviewOrder, _ end: PreviewEnd) {
    isPreviewUnderWay = false
    transfers.end(order, end)
    if case .made(let thumbnail, let byteCount) = end, isAwaited(order) {
      effects.append(
        .sendPreview(
          MadePreview(lease: order.lease, thumbnail: thumbnail, shownByteCount: byteCount)))
    }
    startPreview()
  }

  /// Whether the lease still waits for the body.
  private func isAwaited(_ order: PreviewOrder) -> Bool {
    guard tasks.contains(order.lease), case .transferring = tasks[order.lease].stage else {
      return false
    }
    return transfers.transfer(of: order.lease) == order.transfer
  }
}

extension FetchOrder {
  /// Whether a part of a body may be shown for this order. Previews show the first frame. Whether an
  /// origin permits the use of a body that is arriving is known to the transfer only as far as the order
  /// that started it asked.
  ///
  /// - Parameter starter: the order that started the transfer.
  fileprivate func mayHavePreviews(from starter: FetchOrder) -> Bool {
    let isPermissionKnown =
      (starter.options.respectsOptOut || !options.respectsOptOut)
      && (starter.options.respectsRobots || !options.respectsRobots)
    return isPermissionKnown && request.keep.part == .whole
      && [.first, .all].contains(request.variant.frames)
  }
}

/// The progress of bodies, for clients that want it.
///
/// News wait for ``progressInterval``, so that one message has those of all leases. A body that comes in
/// within that time is reported once, at its end.
extension WorkerMachine {
  static let progressInterval = Duration.milliseconds(100)

  /// Has the progress of the order's body reported. The facts of a picture are read from a few parts of it.
  mutating func planProgress(of order: FetchOrder) {
    guard order.request.keep.part.isWhole else { return }
    transfers.planProgress(for: order.lease, of: transfers.transfer(of: order.lease))
    planProgressReport()
  }

  mutating func planProgressReport() {
    if progressDeadline == nil, transfers.hasProgress {
      progressDeadline = now.instant + Self.progressInterval
    }
  }

  /// Whether progress has waited long enough.
  var isProgressDue: Bool { progressDeadline.map { $0 <= now.instant } ?? false }

  /// Reports what has waited long enough.
  mutating func reportProgress() {
    guard isProgressDue else { return }
    progressDeadline = nil
    report.progress += transfers.takeProgress()
  }

  /// All of a body is in: its leases are told at once.
  mutating func reportWhole(_ facts: BodyFacts, of id: TransferID) {
    transfers.bodyGrew(
      id,
      to: ImageProgress(
        receivedByteCount: facts.byteCount, expectedByteCount: facts.declaredByteCount))
    report.progress += transfers.update(id) { $0.takeProgress() }
  }
}

/// Asks for a preview of a body that is arriving.
package struct PreviewOrder: Hashable, Sendable {
  package let transfer: TransferID
  package let lease: LeaseID
  package let variant: Variant
  /// The first bytes of the body that the previous preview shows. One that shows no more is not made.
  package let shownByteCount: Int
  /// Whether it may show the first rows alone.
  package let includesRows: Bool

  package init(
    transfer: TransferID, lease: LeaseID, variant: Variant, shownByteCount: Int,
    includesRows: Bool = false
  ) {
    self.transfer = transfer
    self.lease = lease
    self.variant = variant
    self.shownByteCount = shownByteCount
    self.includesRows = includesRows
  }
}

/// What came of a ``PreviewOrder``.
package enum PreviewEnd: Hashable, Sendable {
  /// The driver holds the bytes of the preview while this event is handled.
  ///
  /// - shownByteCount: the first bytes of the body that it shows.
  case made(Thumbnail, shownByteCount: Int)
  /// What has arrived shows nothing new.
  case later
  /// No decoder was idle.
  case busy
  /// The picture has no previews, none that would show more than the last one, or a decoder died of one.
  case never
}

/// When previews of one arriving body are made, and for which lease the next one is.
///
/// A body costs at most one preview each ``interval``, however many leases want some: they take turns. A
/// body that comes in within that time has none.
struct PreviewPlan {
  static let interval = Duration.milliseconds(500)
  /// After a preview, the next one is worth making when the body has grown by one part in so many.
  static let growthDivisor = 8

  /// A lease that wants previews.
  struct Viewer {
    let lease: LeaseID
    /// Whether it wants the first rows of a picture that shows nothing else.
    var seesRows: Bool
  }

  /// The one whose turn it is comes first.
  private(set) var viewers: [Viewer] = []
  /// The first bytes of the body that the last preview shows.
  private(set) var shownByteCount = 0
  private var dueAt: Instant
  private var byteCount = 0
  /// Bytes that were there at the last attempt.
  private var triedByteCount = 0

  init(at now: Instant) {
    dueAt = now + Self.interval
  }

  mutating func add(_ lease: LeaseID, includingRows: Bool) {
    if let index = viewers.firstIndex(where: { $0.lease == lease }) {
      viewers[index].seesRows = viewers[index].seesRows || includingRows
    } else {
      viewers.append(Viewer(lease: lease, seesRows: includingRows))
    }
  }

  mutating func remove(_ lease: LeaseID) {
    viewers.removeAll { $0.lease == lease }
  }

  mutating func bodyGrew(to byteCount: Int) {
    self.byteCount = byteCount
  }

  /// When the next preview may be made; `nil` while it would show nothing new.
  var deadline: Instant? {
    let isWorthMaking =
      byteCount > triedByteCount
      && byteCount >= shownByteCount + shownByteCount / Self.growthDivisor
    return isWorthMaking && !viewers.isEmpty ? dueAt : nil
  }

  /// A preview is being made.
  ///
  /// - Precondition: a lease wants previews.
  /// - Returns: the one that it is for.
  mutating func begin(at now: Instant) -> Viewer {
    dueAt = now + Self.interval
    triedByteCount = byteCount
    let viewer = viewers.removeFirst()
    viewers.append(viewer)
    return viewer
  }

  /// The preview is made.
  mutating func made(showing byteCount: Int) {
    shownByteCount = byteCount
  }

  /// No preview was tried. What has arrived is worth another attempt.
  mutating func postpone() {
    triedByteCount = 0
  }

  /// The body will never have one that shows the whole picture or, `includingRows`, none at all.
  mutating func end(includingRows: Bool) {
    viewers.removeAll { includingRows || !$0.seesRows }
  }
}

/// What the leases of one transfer are told of the progress of its body.
struct ProgressPlan {
  private var leases: [LeaseID] = []
  /// `nil` before the first byte.
  private var progress: ImageProgress?
  /// Bytes that all leases were told of.
  private var reportedByteCount = 0

  /// The lease wants progress. It is told what has arrived so far, and the others are told again.
  mutating func add(_ lease: LeaseID) {
    if !leases.contains(lease) { leases.append(lease) }
    reportedByteCount = 0
  }

  mutating func remove(_ lease: LeaseID) {
    leases.removeAll { $0 == lease }
  }

  mutating func bodyGrew(to progress: ImageProgress) {
    self.progress = progress
  }

  /// Whether more has arrived than the leases were told.
  var hasNews: Bool {
    !leases.isEmpty && (progress?.receivedByteCount ?? 0) > reportedByteCount
  }

  /// - Returns: what the leases are to be told; empty if nothing is new.
  mutating func takeNews() -> [LeaseProgress] {
    guard hasNews, let progress else { return [] }
    reportedByteCount = progress.receivedByteCount
    return leases.map { LeaseProgress(lease: $0, progress: progress) }
  }
}
