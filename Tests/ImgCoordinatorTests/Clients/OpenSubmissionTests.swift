import ImgModel
import ImgWire
import Testing

@testable import ImgCoordinator

@Suite struct OpenSubmissionTests {
  private var submission = OpenSubmission(
    request: RequestID(rawValue: 1), job: JobID(rawValue: 1))

  @Test mutating func `eight parts may wait for the disk`() {
    for _ in 0..<7 {
      submission.partWasQueued()
      #expect(submission.takesParts)
    }
    submission.partWasQueued()
    #expect(!submission.takesParts)
    submission.partWasWritten()
    #expect(submission.takesParts)
    #expect(submission.unwrittenCount == 7)
  }

  @Test mutating func `it is complete once its last part has arrived`() {
    #expect(!submission.isComplete)
    submission.complete()
    #expect(submission.isComplete)
  }

  @Test func `a part that was not queued cannot be written`() async {
    await #expect(processExitsWith: .failure) {
      var submission = OpenSubmission(
        request: RequestID(rawValue: 1), job: JobID(rawValue: 1))
      submission.partWasWritten()
    }
  }
}
