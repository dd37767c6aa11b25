import ImgWire

/// Whose line leaves its list next: the jobs of the highest priority in turn, one line each, so
/// that a job of ten URLs is not behind a job of ten million.
struct JobTurns {
  private var levels: [Int: FIFO<JobID>] = [:]

  mutating func append(_ job: JobID, priority: Int) {
    levels[priority, default: FIFO()].append(job)
  }

  /// Takes the first job for which `hasLine` holds and puts it at the end of its level. Jobs for
  /// which it does not hold are passed over; those `isActive` denies are dropped.
  mutating func next(where hasLine: (JobID) -> Bool, isActive: (JobID) -> Bool) -> JobID? {
    for priority in RequestOptions.priorityRange.reversed() {
      // Taken out of the dictionary while it changes, so that it changes in place.
      guard var level = levels.removeValue(forKey: priority) else { continue }
      defer { levels[priority] = level.isEmpty ? nil : level }
      for _ in 0..<level.count {
        guard let job = level.removeFirst() else { break }
        guard isActive(job) else { continue }
        level.append(job)
        if hasLine(job) { return job }
      }
    }
    return nil
  }
}
