import ImgModel
import ImgScheduler

/// Says in the log, once each, when the disk limits the store, when jobs wait for room in it, and when that ends.
struct StoreRoomLog {
  private var isLimitedByDisk = false
  private var areJobsWaiting = false

  mutating func update(_ state: borrowing Scheduler, _ log: Log) {
    if let report = state.storeReport, isLimitedByDisk != (report.diskByteCount != nil) {
      isLimitedByDisk.toggle()
      log.note(
        report.diskByteCount.map { byteCount in
          "the disk is short of space: it has room for \(byteCount >> 10) KiB of the store's budget of "
            + "\(report.budgetByteCount >> 10) KiB; free space on it"
        } ?? "the disk has room for the store's budget again")
    }
    guard areJobsWaiting != state.areJobsHeld else { return }
    areJobsWaiting.toggle()
    log.note(
      areJobsWaiting
        ? "the store is full of pinned thumbnails, and jobs wait for room: imgctl export or imgctl unpin makes it"
        : "no job waits for room in the store any more")
  }
}
