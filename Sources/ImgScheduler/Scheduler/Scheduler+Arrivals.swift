import ImgModel
import ImgWire

/// What viewers are told of pictures while they arrive: previews and progress.
///
/// The worker of a lease is asked for what the viewers want that wait for the lease's item: after the lease was
/// granted, or when such a viewer joins, which then is told from that moment on. The wish is not withdrawn
/// when the viewer leaves.
extension Scheduler {
  /// Notes what viewers want to be told of an item, if it is being transferred.
  mutating func noteUpdates(_ updates: ArrivalUpdates, of id: WorkID) {
    guard !updates.isEmpty, case .transferring(let lease) = work.item(id).stage else { return }
    wantedUpdates.append((lease, updates))
  }

  /// Asks workers for what viewers want, after the messages that grant the leases.
  mutating func requestUpdates() {
    guard !wantedUpdates.isEmpty else { return }
    for (lease, updates) in wantedUpdates {
      // It may have ended since.
      guard let worker = leases[lease]?.worker else { continue }
      let list = LeaseList(leases: [lease])
      if updates.contains(.previews) { effects.append(.send(.preview(list), to: worker)) }
      if updates.contains(.progress) { effects.append(.send(.progress(list), to: worker)) }
    }
    wantedUpdates = []
  }

  /// Shows a preview to the viewers that want some, and have not seen more of the picture: a fetch that is
  /// repeated begins with less. Its lease goes on.
  mutating func madePreview(_ preview: MadePreview, in file: MemoryFileID, by worker: WorkerID) {
    defer { effects.append(.release(file)) }
    let viewers = viewers(
      of: preview.lease, by: worker, wanting: .previews, upTo: preview.shownByteCount,
      after: \.shownByteCount)
    effects += viewers.map { .show(file, preview.thumbnail, to: $0) }
  }

  /// Tells the viewers that want progress, unless they were told of as much before: a fetch that is
  /// repeated begins with less. The leases go on.
  mutating func reportProgress(_ entries: [ProgressReport.Entry], by worker: WorkerID) {
    for entry in entries {
      let viewers = viewers(
        of: entry.lease, by: worker, wanting: .progress, upTo: entry.progress.receivedByteCount,
        after: \.reportedByteCount)
      effects += viewers.map { .reportProgress(entry.progress, to: $0) }
    }
  }

  /// The viewers of a lease that are to be told of more bytes than before.
  ///
  /// - Parameters:
  ///   - byteCount: what they are told of.
  ///   - told: what a viewer was told of before. It becomes `byteCount`.
  private mutating func viewers(
    of id: LeaseID, by worker: WorkerID, wanting updates: ArrivalUpdates, upTo byteCount: Int,
    after told: WritableKeyPath<Waiter, Int>
  ) -> [ViewerID] {
    guard let lease = leases[id], lease.worker == worker else { return [] }
    var viewers: [ViewerID] = []
    work.change(lease.item) { item in
      item.changeWaiters { waiter in
        guard waiter.updates.isSuperset(of: updates), waiter[keyPath: told] < byteCount,
          let viewer = waiter.viewer
        else { return }
        waiter[keyPath: told] = byteCount
        viewers.append(viewer)
      }
    }
    return viewers
  }
}
