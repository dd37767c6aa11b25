import ImgModel
import Testing

@Suite struct JobStatusTests {
  private func status(
    _ state: JobRecord.State, isStarted: Bool = false, isDelayed: Bool = false,
    isCancelling: Bool = false
  ) -> JobStatus.State {
    let record = JobRecord(
      id: JobID(rawValue: 3), options: RequestOptions(variant: .standard), state: state,
      submittedAt: WallTime(rawValue: 0), startedAt: isStarted ? WallTime(rawValue: 1) : nil)
    return JobStatus(record, isDelayed: isDelayed, isCancelling: isCancelling).state
  }

  @Test func `a job has one of seven visible states`() {
    #expect(status(.queued, isDelayed: true) == .scheduled)
    #expect(status(.queued) == .queued)
    #expect(status(.queued, isStarted: true) == .running)
    #expect(status(.paused, isStarted: true, isDelayed: true) == .paused)
    #expect(status(.paused, isStarted: true, isCancelling: true) == .cancelling)
    #expect(status(.queued, isDelayed: true, isCancelling: true) == .cancelling)
    #expect(status(.finished, isStarted: true, isCancelling: true) == .finished)
    #expect(status(.cancelled, isStarted: true, isCancelling: true) == .cancelled)
  }

  @Test func `the numbers add up`() {
    var counts = JobCounts(total: 10)
    counts.done = 3
    counts.failed = 2
    counts.retryable = 1
    let record = JobRecord(
      id: JobID(rawValue: 3), options: RequestOptions(variant: .standard, priority: 1),
      state: .queued, counts: counts, submittedAt: WallTime(rawValue: 0))
    let status = JobStatus(record, running: 4)
    #expect(status.queued == 1)
    #expect(status.retryable == 1)
    #expect(status.priority == 1)
    #expect(
      status.total == status.queued + status.running + status.done + status.failed
        + status.cancelled)
  }
}
