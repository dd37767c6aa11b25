import ImgCommands
import ImgModel
import Testing

/// Which states of a job become lines.
@Suite struct LineCadenceTests {
  private func status(_ done: Int, _ state: JobRecord.State = .queued) -> JobStatus {
    JobStatus(
      JobRecord(
        id: JobID(rawValue: 1), options: RequestOptions(variant: .standard), state: state,
        counts: counts(done), submittedAt: WallTime(rawValue: 0)))
  }

  private func counts(_ done: Int) -> JobCounts {
    var counts = JobCounts(total: 9)
    counts.done = done
    return counts
  }

  /// The seconds at which a line comes.
  private func lines(_ states: [(second: Double, JobStatus)]) -> [Double] {
    var cadence = LineCadence()
    return states.filter { cadence.takes($0.1, at: .seconds($0.second)) }.map(\.second)
  }

  @Test func `the first state is a line, then each change at most once a second`() {
    #expect(
      lines([(0, status(0)), (0.5, status(1)), (1, status(2)), (1.9, status(3)), (2, status(3))])
        == [0, 1, 2])
  }

  @Test func `an unchanged state is a line once a minute`() {
    let states = (0...180).map { (second: Double($0), status(1)) }
    #expect(lines(states) == [0, 60, 120, 180])
  }

  @Test func `the end is one line at once`() {
    let end = status(9, .finished)
    #expect(lines([(0, status(8)), (0.1, end), (0.2, end)]) == [0, 0.1])
  }
}
