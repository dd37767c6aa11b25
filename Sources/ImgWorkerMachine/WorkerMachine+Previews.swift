import ImgModel
import ImgWire

/// Previews of pictures while their bodies arrive.
///
/// One preview at a time is made in a worker. It is not stored: one that cannot be made, or comes after the
/// body, is dropped.
extension WorkerMachine {
  /// When the next preview may begin; `nil` if no client wants one, or one is being made.
  package var previewDeadline: ContinuousClock.Instant? {
    isPreviewUnderWay ? nil : transfers.nextPreview?.deadline
  }

  /// Has previews of the order's body made.
  mutating func planPreviews(of order: FetchOrder) {
    let id = transfers.transfer(of: order.lease)
    guard order.mayHavePreviews(from: transfers[id].order) else { return }
    transfers.planPreviews(for: order.lease, of: id, at: now.instant)
  }

  /// Makes the preview that has been due for longest, if one is.
  mutating func startPreview() {
    guard !isPreviewUnderWay, let (id, deadline) = transfers.nextPreview, deadline <= now.instant,
      let (lease, shownByteCount) = transfers.beginPreview(of: id, at: now.instant)
    else { return }
    isPreviewUnderWay = true
    effects.append(
      .makePreview(
        PreviewOrder(
          transfer: id, lease: lease, variant: tasks[lease].order.request.variant,
          shownByteCount: shownByteCount)))
  }

  mutating func previewed(_ order: PreviewOrder, _ end: PreviewEnd) {
    isPreviewUnderWay = false
    transfers.endPreview(of: order.transfer, end)
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
