import ImgCommands
import ImgWire
import Testing

/// What people read about jobs.
@Suite struct JobDisplayTests {
  private func status(
    _ state: JobRecord.State, done: Int = 0, failed: Int = 0, retryable: Int = 0,
    cancelled: Int = 0, isDelayed: Bool = false, isCancelling: Bool = false
  ) -> JobStatus {
    var counts = JobCounts(total: 20)
    counts.done = done
    counts.failed = failed
    counts.retryable = retryable
    counts.cancelled = cancelled
    let hasEnded = state == .finished || state == .cancelled
    let record = JobRecord(
      id: JobID(rawValue: 7), name: "holiday", options: RequestOptions(variant: .standard),
      state: state, counts: counts, submittedAt: WallTime(rawValue: 0),
      startedAt: isDelayed ? nil : WallTime(rawValue: 1_000),
      finishedAt: hasEnded ? WallTime(rawValue: 5_000) : nil)
    return JobStatus(record, isDelayed: isDelayed, isCancelling: isCancelling)
  }

  @Test func `a job that ended well says how it went`() {
    #expect(
      JobSummary(status(.finished, done: 20)).text
        == "job 7 finished: 20 of 20 done, 0 failed, 0 from cache, 0 B fetched, in 4s\n")
  }

  @Test func `failures that may pass come with the command that tries them again`() {
    #expect(
      JobSummary(status(.finished, done: 15, failed: 5, retryable: 3)).text == """
        job 7 finished: 15 of 20 done, 5 failed, 0 from cache, 0 B fetched, in 4s
        see which with: imgctl failures 7
        5 failed, 3 of them may pass: imgctl retry 7

        """)
    #expect(
      JobSummary(status(.finished, done: 15, failed: 5, retryable: 5)).text
        .hasSuffix("5 failed, all of them may pass: imgctl retry 7\n"))
  }

  @Test func `failures that will not pass come without it`() {
    #expect(
      JobSummary(status(.cancelled, done: 15, failed: 4, cancelled: 1)).text == """
        job 7 cancelled: 15 of 20 done, 4 failed, 1 cancelled, 0 from cache, 0 B fetched, in 4s
        see which with: imgctl failures 7

        """)
  }

  @Test func `a retry says what it took up again`() {
    let before = status(.finished, done: 5, failed: 15, retryable: 12)
    #expect(
      RetryReport(from: before, to: status(.queued, done: 5, failed: 3)).text
        == "job 7: 12 of 15 failures are tried again\n")
    #expect(
      RetryReport(
        from: status(.cancelled, done: 5, failed: 2, retryable: 1, cancelled: 13),
        to: status(.queued, done: 5, failed: 1)
      ).text == "job 7: 1 of 2 failures and 13 cancelled URLs are tried again\n")
    #expect(
      RetryReport(
        from: status(.cancelled, done: 5, cancelled: 15), to: status(.queued, done: 5)
      ).text == "job 7: 15 cancelled URLs are tried again\n")
  }

  @Test func `a table shows each job's state, and which failures may pass`() {
    var table = JobTable(at: WallTime(rawValue: 60_000))
    table.add(status(.paused, done: 5, failed: 3, retryable: 2))
    table.add(status(.queued, isDelayed: true))
    table.add(status(.queued, isCancelling: true))
    let columns = table.rendered.split(separator: "\n").map { line in
      line.split(separator: " ").prefix(6).joined(separator: " ")
    }
    #expect(
      columns == [
        "job state total done failed retryable", "7 paused 20 5 3 2", "7 scheduled 20 0 0 0",
        "7 cancelling 20 0 0 0",
      ])
  }

  @Test func `progress names a state in which nothing is expected to move`() {
    func line(_ status: JobStatus) -> String {
      var bar = ProgressBar(self.status(.queued, done: 2), at: .seconds(0))
      bar.update(status, at: .seconds(2))
      return bar.plainLine
    }
    #expect(line(status(.paused, done: 4)) == "job 7: 4/20, 20 %, paused")
    #expect(line(status(.queued, isDelayed: true)) == "job 7: 0/20, 0 %, scheduled")
    #expect(line(status(.queued, done: 4, isCancelling: true)) == "job 7: 4/20, 20 %, cancelling")
    #expect(line(status(.queued, done: 4)).contains("img/s"))
  }
}
