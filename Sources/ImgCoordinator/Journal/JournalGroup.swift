import ImgModel
import ImgStore

/// The operations that the next transaction writes. It decides which of them are dropped when the
/// disk does not take them: a submission first, then a change, never an outcome.
struct JournalGroup {
  private var pending: [JournalOperation] = []
  /// Submissions with a refused part. Their later parts are dropped up to their discard, so that no
  /// job lacks its middle.
  private var refused: Set<JobID> = []

  mutating func add(_ operations: [JournalOperation]) {
    for operation in operations {
      if case .discard(let job) = operation { refused.remove(job) }
      if operation.isPartOfSubmission, refused.contains(operation.job) { continue }
      pending.append(operation)
    }
  }

  /// Writes everything as one transaction.
  ///
  /// - Returns: what became of it, to be called again; `nil` when there was nothing left to do.
  mutating func write(to place: JournalPlace) -> JournalAnswer? {
    if let reason = place.loss { return .lost(reason: reason) }
    guard !pending.isEmpty else { return nil }
    do throws(StoreError) {
      try reserveRoom(in: place.journal)
      try place.journal.apply(pending)
    } catch {
      return refuseSubmissions(because: error.description)
        ?? applyFirstChange(to: place.journal)
        ?? .stuck(reason: error.description)
    }
    // What was written into removed files is not durable.
    if let reason = place.loss { return .lost(reason: reason) }
    defer { pending = [] }
    return .applied(pending)
  }

  /// New lists must not use up the room that is reserved for the jobs that were accepted.
  private func reserveRoom(in journal: Journal) throws(StoreError) {
    let isAccepting = pending.contains(where: \.isPartOfSubmission)
    let listByteCount = isAccepting ? pending.reduce(0) { $0 + $1.listByteCount } : 0
    do throws(StoreError) {
      try journal.reserveRoom(besideLists: listByteCount)
    } catch {
      if isAccepting { throw error }
    }
  }

  /// Writes the first change by itself, before the outcomes that cannot be written. It may need less
  /// room than they do, or belong to a job that is not damaged.
  ///
  /// - Returns: what became of it; `nil` when there is no change.
  private mutating func applyFirstChange(to journal: Journal) -> JournalAnswer? {
    guard let index = pending.firstIndex(where: \.isChange) else { return nil }
    let change = pending.remove(at: index)
    do throws(StoreError) {
      try journal.apply([change])
    } catch {
      return .refused([change], reason: error.description)
    }
    guard case .change(let job, .cancel, _) = change else { return .applied([change]) }
    // Operations of the job from before the cancel, written after it, change nothing any more.
    let late = pending.filter { $0.job == job }
    pending.removeAll { $0.job == job }
    return .applied([change] + late)
  }

  /// - Returns: `nil` when there are none.
  private mutating func refuseSubmissions(because reason: String) -> JournalAnswer? {
    let submissions = pending.filter(\.isPartOfSubmission)
    guard !submissions.isEmpty else { return nil }
    refused.formUnion(submissions.map(\.job))
    pending.removeAll(where: \.isPartOfSubmission)
    return .refused(submissions, reason: reason)
  }
}

extension JournalOperation {
  /// Whether it belongs to a list that is not accepted yet.
  var isPartOfSubmission: Bool {
    switch self {
    case .createJob, .appendURLs, .seal: true
    case .discard, .start, .record, .finish, .change: false
    }
  }

  /// Whether it frees the room of a job.
  var removesJob: Bool {
    switch self {
    case .discard, .change(_, .remove, at: _): true
    default: false
    }
  }

  /// Whether a job that has pinned thumbnails until now may hold them no longer.
  var endsPins: Bool {
    switch self {
    case .change(_, .unpin, at: _), .change(_, .remove, at: _): true
    default: false
    }
  }

  /// The bytes of a list's lines. Everything else is small.
  fileprivate var listByteCount: Int {
    guard case .appendURLs(_, let lines) = self else { return 0 }
    return lines.reduce(0) { $0 + $1.utf8.count }
  }

  var isChange: Bool {
    if case .change = self { true } else { false }
  }

  var job: JobID {
    switch self {
    case .createJob(let record): record.id
    case .appendURLs(let id, _), .seal(let id), .discard(let id), .start(let id, _),
      .record(let id, _, _), .finish(let id, _), .change(let id, _, _):
      id
    }
  }
}
