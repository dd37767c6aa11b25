import ImgModel
import Testing

@testable import ImgCoordinator

@Suite struct GatheredOutcomesTests {
  private let now = ContinuousClock.now
  private let job = JobID(rawValue: 1)
  private var outcomes = GatheredOutcomes()

  @Test mutating func `outcomes wait for others from the first one on`() {
    #expect(outcomes.deadline == nil)
    outcomes.add(.record(job, index: 0, .cancelled), at: now)
    outcomes.add(.record(job, index: 1, .cancelled), at: now + .milliseconds(10))
    #expect(!outcomes.isComplete)
    #expect(outcomes.deadline == now + GatheredOutcomes.longestWait)
  }

  @Test mutating func `many outcomes wait no longer`() {
    for index in 0..<GatheredOutcomes.maximumCount {
      #expect(!outcomes.isComplete)
      outcomes.add(.record(job, index: index, .cancelled), at: now)
    }
    #expect(outcomes.isComplete)
  }

  @Test mutating func `what a client or a job waits for does not wait, nor does what is before it`()
  {
    outcomes.add(.record(job, index: 0, .cancelled), at: now)
    outcomes.add(.finish(job, at: WallTime(rawValue: 1)), at: now)
    outcomes.add(.record(job, index: 1, .cancelled), at: now)
    #expect(outcomes.isComplete)
    #expect(
      outcomes.take() == [
        .record(job, index: 0, .cancelled), .finish(job, at: WallTime(rawValue: 1)),
        .record(job, index: 1, .cancelled),
      ])
    #expect(outcomes.take().isEmpty)
    #expect(outcomes.deadline == nil && !outcomes.isComplete)
  }
}
