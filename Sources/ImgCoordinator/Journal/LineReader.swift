import ImgScheduler
import ImgStore

/// The pages of lists that the scheduler asked for, read from the journal in their order.
final class LineReader {
  private let scheduler: SchedulerDriver
  private let journal: JobJournal
  private let lifecycle: Lifecycle
  private let log: Log
  private var requests: [LinePageRequest] = []

  init(scheduler: SchedulerDriver, journal: JobJournal, lifecycle: Lifecycle, log: Log) {
    self.scheduler = scheduler
    self.journal = journal
    self.lifecycle = lifecycle
    self.log = log
  }

  var isIdle: Bool { requests.isEmpty }

  func add(_ request: LinePageRequest) {
    requests.append(request)
  }

  /// Reads one page, so that the loop serves everything else meanwhile, however much there is to
  /// read.
  func readNext() {
    guard !requests.isEmpty else { return }
    let request = requests.removeFirst()
    guard scheduler.state.awaits(request) else { return }
    do throws(StoreError) {
      let page = try journal.stored.urls(
        of: request.job, positions: request.positions, order: request.order,
        limit: request.limit)
      let lines = page.entries.map { JobLine(index: $0.index, text: $0.url) }
      scheduler.handle(.linesRead(request, LinePage(lines: lines, next: page.next)))
    } catch {
      // Without its lists the coordinator cannot work, and the job would never end.
      log.note("job \(request.job) cannot be read from the journal: \(error)")
      lifecycle.end(status: 1)
    }
  }
}
