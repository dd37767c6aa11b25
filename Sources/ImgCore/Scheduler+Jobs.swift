import ImgWire

/// Jobs: accepted, read, recorded, ended.
extension Scheduler {
  /// Lines read from the journal at once, and the fill below which a window is read on.
  static let windowPageLineCount = 1_024
  static let windowRefillThreshold = 512

  mutating func acceptJob(_ record: JobRecord) {
    precondition(jobs[record.id] == nil, "a job is accepted once")
    jobs[record.id] = ActiveJob(record)
    turns.append(record.id, priority: record.options.priority)
    readOn(record.id)
  }

  /// Asks for the next page of a list whose window runs low.
  mutating func readOn(_ id: JobID) {
    guard let job = jobs[id], !job.isReading, let nextIndex = job.nextIndex,
      job.window.count < Self.windowRefillThreshold
    else { return }
    jobs[id]?.isReading = true
    effects.append(.readLines(id, from: nextIndex, limit: Self.windowPageLineCount))
  }

  mutating func linesRead(_ lines: [JobLine], next: Int?, of id: JobID, at now: Moment) {
    guard var job = jobs[id], !job.isEnding else { return }
    job.isReading = false
    job.nextIndex = next
    job.window.append(contentsOf: lines)
    jobs[id] = job
    readOn(id)
    finishWhenComplete(id, at: now)
  }

  /// Makes the line of a list wait for its URL.
  ///
  /// - Returns: the item when it is new and is to be looked up; `nil` when the line has joined
  ///   another or is no URL.
  mutating func takeUp(_ line: JobLine, of id: JobID, at now: Moment) -> WorkID? {
    guard let options = jobs[id]?.record.options else { return nil }
    do throws(Failure) {
      let url = try ImageURL(parsing: line.text)
      let (item, isNew) = join(
        .line(id, index: line.index), url: url, options: options, at: now)
      jobs[id]?.takenUpCount += 1
      return isNew ? item : nil
    } catch {
      // The line never runs, but until its outcome is durable it does not wait either.
      lineBeganRunning(of: id, at: now)
      record(.failed(error), job: id, index: line.index)
      return nil
    }
  }

  mutating func journaled(_ operation: JournalOperation, at now: Moment) {
    switch operation {
    case .record(let id, _, let outcome):
      unrecordedCount -= 1
      guard var job = jobs[id] else { return }
      job.record.counts.count(outcome)
      job.runningCount -= 1
      jobs[id] = job
      finishWhenComplete(id, at: now)
    case .finish(let id, let at):
      end(id, state: .finished, at: at)
    case .cancel(let id, let at):
      end(id, state: .cancelled, at: at)
    case .createJob, .appendURLs, .seal, .discard, .start:
      break
    }
  }

  /// The job's URLs are dropped where nobody else waits for them, and the journal is told once.
  mutating func cancelJob(_ id: JobID, at now: Moment) {
    guard var job = jobs[id], !job.isEnding else { return }
    job.isEnding = true
    job.window = FIFO()
    job.nextIndex = nil
    job.takenUpCount = 0
    jobs[id] = job
    let awaited = items.values.filter { $0.isAwaited(by: id) }.map(\.id)
    for item in awaited.sorted(by: { $0.rawValue < $1.rawValue }) {
      leave(item) { $0.isLine(of: id) }
    }
    effects.append(.journal(.cancel(id, at: now.wall)))
  }

  private mutating func finishWhenComplete(_ id: JobID, at now: Moment) {
    guard let job = jobs[id], !job.isEnding, job.record.counts.finished == job.record.counts.total
    else { return }
    jobs[id]?.isEnding = true
    effects.append(.journal(.finish(id, at: now.wall)))
  }

  /// The end is durable. What was recorded before it was journaled before it, so the rest of a
  /// cancelled job is exactly what has no outcome.
  private mutating func end(_ id: JobID, state: JobRecord.State, at: WallTime) {
    guard var record = jobs.removeValue(forKey: id)?.record else { return }
    record.end(as: state, at: at)
    effects.append(.jobEnded(record))
  }
}
