/// What a list of one length costs: a row of the table of how costs grow.
struct ListCost: Encodable {
  let lineCount: Int
  let shape: ListShape
  let submittedPerSecond: Double
  let submitMicroseconds: Double
  let endedPerSecond: Double
  let runMicroseconds: Double
  let endedCount: Int
  let privatePeakMiB: Double
  let mappedPeakMiB: Double
  let statusMedianMilliseconds: Double
  let status99Milliseconds: Double
  let statusHighestMilliseconds: Double
  let statusCount: Int
  let answerMedianMilliseconds: Double
  let answer99Milliseconds: Double
  let answerHighestMilliseconds: Double
  let listByteCount: Double
  let outcomeByteCount: Double
  let restartMilliseconds: Double
  let seconds: Double

  init(
    _ list: LongList, _ pass: ListPass, _ seen: StatusSampler.Seen, restart: Duration,
    seconds: Double
  ) {
    let (submitted, ended) = (Double(pass.submittedCount), Double(pass.endedCount))
    lineCount = list.lineCount
    shape = list.shape
    submittedPerSecond = submitted / pass.submitSeconds
    submitMicroseconds = pass.submitProcessorSeconds / submitted * 1e6
    endedPerSecond = ended / pass.runSeconds
    runMicroseconds = pass.runProcessorSeconds / ended * 1e6
    endedCount = pass.endedCount
    privatePeakMiB = seen.privatePeak
    mappedPeakMiB = seen.mappedPeak
    statusMedianMilliseconds = seen.processes.median
    status99Milliseconds = seen.processes.quantile(0.99)
    statusHighestMilliseconds = seen.processes.highest
    statusCount = seen.processes.values.count
    answerMedianMilliseconds = seen.answers.median
    answer99Milliseconds = seen.answers.quantile(0.99)
    answerHighestMilliseconds = seen.answers.highest
    listByteCount = Double(pass.listByteCount) / submitted
    outcomeByteCount = Double(pass.outcomeByteCount) / ended
    restartMilliseconds = restart / .milliseconds(1)
    self.seconds = seconds
  }

  private enum CodingKeys: String, CodingKey {
    case lineCount = "lines"
    case shape
    case submittedPerSecond = "submitted_per_second"
    case submitMicroseconds = "submit_coordinator_us"
    case endedPerSecond = "ended_per_second"
    case runMicroseconds = "run_coordinator_us"
    case endedCount = "ended"
    case privatePeakMiB = "private_peak_mib"
    case mappedPeakMiB = "mapped_peak_mib"
    case statusMedianMilliseconds = "status_median_ms"
    case status99Milliseconds = "status_99_ms"
    case statusHighestMilliseconds = "status_highest_ms"
    case statusCount = "status_calls"
    case answerMedianMilliseconds = "answer_median_ms"
    case answer99Milliseconds = "answer_99_ms"
    case answerHighestMilliseconds = "answer_highest_ms"
    case listByteCount = "list_bytes_each"
    case outcomeByteCount = "outcome_bytes_each"
    case restartMilliseconds = "restart_ms"
    case seconds
  }
}
