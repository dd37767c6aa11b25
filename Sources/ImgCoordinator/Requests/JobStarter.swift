import ImgModel
import ImgScheduler
import ImgStore

/// Starts jobs whose lists, or whose retries, are durable.
final class JobStarter {
  private let scheduler: SchedulerDriver
  private let journal: JobJournal
  private let lifecycle: Lifecycle
  private let log: Log

  init(scheduler: SchedulerDriver, journal: JobJournal, lifecycle: Lifecycle, log: Log) {
    self.scheduler = scheduler
    self.journal = journal
    self.lifecycle = lifecycle
    self.log = log
  }

  /// - Returns: the job; `nil` when the journal cannot be read, which ends the coordinator.
  @discardableResult
  func start(_ id: JobID) -> JobRecord? {
    do throws(StoreError) {
      guard let record = try journal.stored.job(id) else {
        preconditionFailure("a job that was written is in the journal")
      }
      scheduler.handle(.jobAccepted(record))
      return record
    } catch {
      log.note("job \(id) cannot be read from the journal: \(error)")
      lifecycle.end(status: 1)
      return nil
    }
  }
}
