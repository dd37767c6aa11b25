import ImgClient

/// What it took to hand a list over and to run it, once or, added up, several times.
struct ListPass {
  /// Lines submitted, and how long `imgctl submit` took for them.
  private(set) var submittedCount = 0
  private(set) var submitSeconds = 0.0
  /// The coordinator's processor time meanwhile, and what the journal's file has grown by.
  private(set) var submitProcessorSeconds = 0.0
  private(set) var listByteCount = 0
  /// Lines that ended, from the first one's start on.
  private(set) var endedCount = 0
  private(set) var runSeconds = 0.0
  private(set) var runProcessorSeconds = 0.0
  private(set) var outcomeByteCount = 0

  /// What the coordinator has used up to a moment.
  struct Meter {
    let processorSeconds: Double
    let journalByteCount: Int

    init(_ cluster: Cluster) throws {
      processorSeconds = try ProcessorTime.seconds(of: try cluster.client().coordinatorProcessID)
      journalByteCount = try cluster.journalByteCount()
    }
  }

  mutating func addSubmission(lineCount: Int, seconds: Double, from: Meter, to: Meter) {
    submittedCount += lineCount
    submitSeconds += seconds
    submitProcessorSeconds += to.processorSeconds - from.processorSeconds
    listByteCount += to.journalByteCount - from.journalByteCount
  }

  mutating func addRun(endedCount: Int, seconds: Double, from: Meter, to: Meter) {
    self.endedCount += endedCount
    runSeconds += seconds
    runProcessorSeconds += to.processorSeconds - from.processorSeconds
    outcomeByteCount += to.journalByteCount - from.journalByteCount
  }
}
