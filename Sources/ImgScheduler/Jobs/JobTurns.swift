import ImgModel

/// The jobs of each priority that may have a line to take, in the order in which their turns come,
/// and how far the turns of each priority have come.
struct JobTurns {
  private var levels = [FIFO<JobID>](
    repeating: FIFO(), count: RequestOptions.priorityRange.count)
  private var waiting: Set<JobID> = []
  /// The turn served last, by priority, see ``Urgency/turn``.
  private var served: [Int: UInt64] = [:]

  /// The indices of the levels, that of the highest priority first.
  var levelIndices: Range<Int> { levels.indices }

  private static func level(of priority: Int) -> Int {
    RequestOptions.priorityRange.upperBound - priority
  }

  /// Has a job wait for its turn; it keeps its position when it waits already.
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

  /// The turn served last at a priority; 0 before the first.
  func served(at priority: Int) -> UInt64 { served[priority] ?? 0 }

  /// A line of this turn begins.
  mutating func serve(_ turn: UInt64, at priority: Int) {
    served[priority] = max(served(at: priority), turn)
  }
}
