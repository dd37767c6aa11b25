import ImgModel

/// The jobs of each priority that may have a line to take, in the order in which their turns come.
struct JobTurns {
  private var levels = [FIFO<JobID>](
    repeating: FIFO(), count: RequestOptions.priorityRange.count)
  private var waiting: Set<JobID> = []

  /// The indices of the levels, that of the highest priority first.
  var levelIndices: Range<Int> { levels.indices }

  private static func level(of priority: Int) -> Int {
    RequestOptions.priorityRange.upperBound - priority
  }

  /// Has a job wait for its turn; it keeps its place when it waits already.
  mutating func append(_ job: JobID, priority: Int) {
    guard waiting.insert(job).inserted else { return }
    levels[Self.level(of: priority)].append(job)
  }

  mutating func remove(_ job: JobID, priority: Int) {
    guard waiting.remove(job) != nil else { return }
    levels[Self.level(of: priority)].removeAll { $0 == job }
  }

  /// Takes the job whose turn it is.
  mutating func removeFirst(atLevel level: Int) -> JobID? {
    let job = levels[level].removeFirst()
    if let job { waiting.remove(job) }
    return job
  }
}
