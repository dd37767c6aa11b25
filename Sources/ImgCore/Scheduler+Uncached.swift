import ImgModel
import ImgWire

/// Thumbnails that are not in the store: because nothing was to be kept, or refused by the store.
extension Scheduler {
  /// A viewer gets the picture; a line whose thumbnail the store has refused has failed. The file is
  /// of no use to anybody who comes later.
  mutating func uncached(
    _ result: UncachedResult, in attachment: AttachmentID, by worker: WorkerID
  ) {
    defer { effects.append(.release(attachment)) }
    noteAnswer(of: worker)
    guard let item = endLease(result.lease, of: worker) else { return }
    if result.isStoreDegraded {
      noteRefusal(
        result.made.failure?.detail ?? "", isServed: item.waiters.contains { $0.viewer != nil })
    }
    conclude(item)
    var bytesFetched = item.untoldByteCount + result.bytesFetched
    for waiter in item.waiters {
      switch waiter.who {
      case .line(let job, let index):
        if let failure = result.made.failure {
          record(.failed(failure, bytesFetched: bytesFetched), job: job, index: index)
          bytesFetched = 0
          continue
        }
        let thumbnail = result.made.thumbnail
        record(
          .done(thumbnail, fromCache: false, bytesFetched: bytesFetched), job: job, index: index)
      case .viewer(let viewer):
        forget(viewer)
        effects.append(
          .deliver(attachment, result.made, bytesFetched: bytesFetched, to: viewer))
      case .nobody:
        break
      }
      bytesFetched = 0
    }
  }

  private mutating func noteRefusal(_ reason: String, isServed: Bool) {
    guard let trouble = storeHealth.noteRefusal(reason, isServed: isServed, at: now.wall) else {
      return
    }
    effects.append(.storeErrorBegan(trouble))
  }

  /// A fetch has ended with its thumbnail in the store.
  mutating func noteStored() {
    guard let trouble = storeHealth.noteStored() else { return }
    effects.append(.storeErrorEnded(trouble))
  }
}
