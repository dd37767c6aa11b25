import ImgModel

/// The jobs of each priority that may have a line to take, in the order in which their turns come,
/// and how far the start tags of each priority have come.
struct JobTurns {
  private var levels = [TurnQueue<JobID>](
    repeating: TurnQueue(), count: RequestOptions.priorityRange.count)
  /// The highest start tag served, by priority, see ``Urgency/startTag``.
  private var servedTags: [Int: UInt64] = [:]

  /// The indices of the levels, that of the highest priority first.
  var levelIndices: Range<Int> { levels.indices }

  private static func level(of priority: Int) -> Int {
    RequestOptions.priorityRange.upperBound - priority
  }

  /// Has a job wait for its turn; it keeps its position when it waits already.
  mutating func append(_ job: JobID, priority: Int) {
    levels[Self.level(of: priority)].append(job)
  }

  mutating func remove(_ job: JobID, priority: Int) {
    levels[Self.level(of: priority)].remove(job)
  }

  /// Takes the job whose turn it is.
  mutating func removeFirst(atLevel level: Int) -> JobID? { levels[level].removeFirst() }

  /// The highest start tag served at a priority; 0 before the first.
  func servedTag(at priority: Int) -> UInt64 { servedTags[priority] ?? 0 }

  /// A line with this start tag begins.
  mutating func serve(_ startTag: UInt64, at priority: Int) {
    servedTags[priority] = max(servedTag(at: priority), startTag)
  }
}
