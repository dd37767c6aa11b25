import ImgModel
import ImgWire

/// Thumbnails that are not in the store: because nothing was to be kept, or refused by the store.
extension Scheduler {
  /// A viewer gets the picture; a line whose thumbnail the store has refused has failed. The file
  /// serves no later request.
  mutating func madeUncached(
    _ result: UncachedResult, in file: MemoryFileID, by worker: WorkerID
  ) {
    defer { effects.append(.release(file)) }
    workers.answered(worker, at: now.instant)
    guard let id = endLease(result.lease, of: worker) else { return }
    if result.isStoreDegraded {
      noteRefusal(
        result.made.failure?.detail ?? "",
        isServed: work.item(id).waiters.contains { $0.viewer != nil })
    }
    let item = conclude(id)
    reviewSources()
    var byteCount = item.unreportedByteCount + result.bytesFetched
    for waiter in item.waiters {
      switch waiter.who {
      case .line(let job, let index):
        record(result.made.outcome(bytesFetched: byteCount), job: job, index: index)
      case .viewer(let viewer):
        viewers.remove(viewer)
        effects.append(.deliver(file, result.made, bytesFetched: byteCount, to: viewer))
      case .revalidation:
        break
      }
      byteCount = 0
    }
  }

  private mutating func noteRefusal(_ reason: String, isServed: Bool) {
    guard let error = store.noteRefusal(reason, isServed: isServed, at: now.wall) else { return }
    effects.append(.storeErrorBegan(error))
  }

  /// A fetch has ended with its thumbnail in the store.
  mutating func noteStored() {
    guard let error = store.noteStored() else { return }
    effects.append(.storeErrorEnded(error))
  }
}

extension UncachedThumbnail {
  /// What it is for a line, whose purpose is the store.
  fileprivate func outcome(bytesFetched: Int) -> Outcome {
    if let failure { return .failed(failure, bytesFetched: bytesFetched) }
    return .done(thumbnail, fromCache: false, bytesFetched: bytesFetched)
  }
}
