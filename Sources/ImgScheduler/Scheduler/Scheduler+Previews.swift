import ImgModel
import ImgWire

/// Previews of pictures while they arrive.
///
/// The worker of a lease makes previews once a viewer that waits for the lease's item wants some. It is told
/// after the lease was granted, or when such a viewer joins, which then has previews from that moment on. The
/// wish is not withdrawn when the viewer leaves.
extension Scheduler {
  /// Notes that viewers want previews of an item, if it is being transferred and they do.
  mutating func notePreviews(of id: WorkID) {
    let item = work.item(id)
    if case .transferring(let lease) = item.stage, item.wantsPreviews {
      previewLeases.append(lease)
    }
  }

  /// Asks workers for previews, after the messages that grant the leases.
  mutating func requestPreviews() {
    guard !previewLeases.isEmpty else { return }
    for lease in previewLeases {
      // It may have ended since.
      guard let worker = leases[lease]?.worker else { continue }
      effects.append(.send(.preview(LeaseList(leases: [lease])), to: worker))
    }
    previewLeases = []
  }

  /// Shows a preview to the viewers that want some, and have not seen more of the picture: a fetch that is
  /// repeated begins with less. Its lease goes on.
  mutating func madePreview(_ preview: MadePreview, in file: MemoryFileID, by worker: WorkerID) {
    defer { effects.append(.release(file)) }
    guard let lease = leases[preview.lease], lease.worker == worker else { return }
    var viewers: [ViewerID] = []
    work.change(lease.item) { item in
      item.changeWaiters { waiter in
        guard waiter.wantsPreviews, waiter.shownByteCount < preview.shownByteCount,
          let viewer = waiter.viewer
        else { return }
        waiter.shownByteCount = preview.shownByteCount
        viewers.append(viewer)
      }
    }
    effects += viewers.map { .show(file, preview.thumbnail, to: $0) }
  }
}
