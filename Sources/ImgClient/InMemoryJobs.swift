public import ImgModel
import ImgWire

/// Jobs whose URLs are loaded as any other.
extension InMemoryCluster: JobTransport {
  /// Submits a list. It is read on the thread of the task.
  public func submitJob(
    _ request: ImageJobRequest, urls: some Sequence<String> & Sendable
  ) async throws(ImageError) -> ImageJob.ID {
    var list: [String] = []
    for url in urls {
      guard !Task.isCancelled else { throw .cancelled(nil) }
      list.append(url)
    }
    guard !list.isEmpty else { throw .emptyList }
    return try await jobs.submit(request, list) { [weak self] request in
      do throws(ImageError) {
        guard let self else { throw .cancelled(request.url) }
        return .success(try await self.loadImage(for: request, onUpdate: nil))
      } catch {
        return .failure(error)
      }
    }
  }

  /// A job as it stands now.
  public func job(_ id: ImageJob.ID) async throws(ImageError) -> ImageJob {
    try await jobs.job(id)
  }

  /// A page of up to 500 jobs.
  public func jobs(
    before id: ImageJob.ID?
  ) async throws(ImageError) -> (jobs: [ImageJob], hasMore: Bool) {
    await jobs.page(before: id)
  }

  /// Watches a job until it has ended.
  public func watchJob(
    _ id: ImageJob.ID, onUpdate: @escaping @Sendable (ImageJob) -> Void
  ) async throws(ImageError) {
    try await jobs.watch(id, onUpdate)
  }

  /// A page of up to 500 URLs.
  public func jobResults(
    of id: ImageJob.ID, from index: Int, failedOnly: Bool
  ) async throws(ImageError) -> (results: [ImageJobResult], next: Int?) {
    try await jobs.results(of: id, from: index, failedOnly: failedOnly)
  }

  /// Changes a job.
  public func changeJob(
    _ id: ImageJob.ID, _ change: ImageJobChange
  ) async throws(ImageError) -> ImageJob {
    try await jobs.change(id, change)
  }
}

/// One job of an ``InMemoryCluster``: its list, and what runs of it.
struct InMemoryJob {
  fileprivate struct Line {
    let url: String
    var outcome: ImageJobResult.Outcome?
  }

  private(set) var record: JobRecord
  let request: ImageJobRequest
  private var lines: [Line]
  /// The loads of lines without a result, by index.
  private(set) var loads: [Int: Task<Void, Never>] = [:]
  /// All lines before this position in starting order have started.
  private var nextPosition = 0

  /// Lines whose loads are under way at the same time.
  private static let loadMaximum = 8

  init(_ record: JobRecord, _ request: ImageJobRequest, urls: [String]) {
    self.record = record
    self.request = request
    lines = urls.map { Line(url: $0) }
    self.record.counts = JobCounts(total: urls.count)
    self.record.state = .queued
  }

  func job(at now: WallTime) -> ImageJob {
    ImageJob(record, running: loads.count, isDelayed: now < record.notBefore).withoutSecrets
  }

  /// Applies a change.
  ///
  /// - Returns: the loads to cancel.
  mutating func apply(
    _ change: ImageJobChange, at now: WallTime
  ) throws(JobChangeRefusal) -> [Task<Void, Never>] {
    try record.apply(change, at: now)
    switch change {
    case .cancel:
      defer { loads = [:] }
      for index in lines.indices where lines[index].outcome == nil {
        lines[index].outcome = .cancelled
      }
      return Array(loads.values)
    case .retry(let includesFinal):
      for index in lines.indices where lines[index].isOpen(includesFinal: includesFinal) {
        lines[index].outcome = nil
      }
      nextPosition = 0
      return []
    case .pause, .resume, .setPriority, .unpin, .remove: return []
    }
  }

  // MARK: - Loads

  /// The next line to load; `nil` if none may start now.
  mutating func takeNext(at now: WallTime) -> (index: Int, load: ImageRequest)? {
    guard record.state == .queued, now >= record.notBefore, loads.count < Self.loadMaximum else {
      return nil
    }
    while nextPosition < lines.count {
      let index = record.order.line(at: nextPosition, of: lines.count)
      nextPosition += 1
      guard lines[index].outcome == nil, loads[index] == nil else { continue }
      if record.startedAt == nil { record.startedAt = now }
      return (index, request.load(of: lines[index].url))
    }
    return nil
  }

  mutating func addLoad(_ load: Task<Void, Never>, of index: Int) {
    loads[index] = load
  }

  /// A load has ended.
  mutating func loadEnded(
    of index: Int, _ result: Result<LoadedImage, ImageError>, at now: WallTime
  ) {
    loads[index] = nil
    lines[index].outcome = ImageJobResult.Outcome(result)
    record.count(Outcome(result))
    if record.counts.finished == lines.count { record.finish(at: now) }
  }

  // MARK: - Results

  /// - Returns: up to `limit` lines, and the index of the first one behind them; `nil` at the end.
  func results(
    from start: Int, limit: Int, failedOnly: Bool
  ) -> (results: [ImageJobResult], next: Int?) {
    var results: [ImageJobResult] = []
    for index in lines.indices.dropFirst(max(0, start)) {
      guard results.count < limit else { return (results, index) }
      let line = lines[index]
      let result = ImageJobResult(index: index, url: line.url, outcome: line.outcome)
      if !failedOnly || result.error != nil { results.append(result) }
    }
    return (results, nil)
  }
}

extension InMemoryJob.Line {
  /// Whether a retry loads it.
  fileprivate func isOpen(includesFinal: Bool) -> Bool {
    switch outcome {
    case .failed(let error): includesFinal || error.isRetryable
    case .cancelled, nil: true
    case .done: false
    }
  }
}

extension ImageJobResult.Outcome {
  fileprivate init(_ result: Result<LoadedImage, ImageError>) {
    switch result {
    case .success(let image):
      self = .done(image.thumbnail, isFromCache: image.origin != .network)
    case .failure(let error): self = .failed(error)
    }
  }
}

extension Outcome {
  /// As the counts of a job need it.
  fileprivate init(_ result: Result<LoadedImage, ImageError>) {
    switch result {
    case .success(let image):
      let isFromCache = image.origin != .network
      self = .done(
        image.thumbnail, fromCache: isFromCache,
        bytesFetched: isFromCache ? 0 : image.source.byteCount)
    case .failure(let error):
      self = .failed(
        Failure(
          stage: .fetch, code: error.code,
          httpStatus: error.httpStatus, isRetryable: error.isRetryable, detail: error.message))
    }
  }
}

/// The jobs of an ``InMemoryCluster``.
actor InMemoryJobs {
  typealias Load = @Sendable (ImageRequest) async -> Result<LoadedImage, ImageError>

  private struct Watch {
    let job: ImageJob.ID
    let onUpdate: @Sendable (ImageJob) -> Void
    /// Resumed with whether the job has ended.
    let continuation: CheckedContinuation<Bool, Never>
  }

  private var jobs: [ImageJob.ID: (job: InMemoryJob, load: Load)] = [:]
  private var lastID: ImageJob.ID = 0
  private var watches: [Int: Watch] = [:]
  private var lastWatch = 0

  /// - Parameter load: loads one URL.
  func submit(
    _ request: ImageJobRequest, _ urls: [String], load: @escaping Load
  ) throws(ImageError) -> ImageJob.ID {
    let options = try request.options()
    guard !options.keep.isOriginalAlone else {
      throw ImageError(
        code: .unsupportedOperation, message: "a cluster in memory stores no originals alone")
    }
    guard !Task.isCancelled else { throw .cancelled(nil) }
    lastID += 1
    let record = JobRecord(
      id: JobID(rawValue: lastID), name: request.name, options: options,
      order: request.order, submittedAt: .now)
    jobs[lastID] = (InMemoryJob(record, request, urls: urls), load)
    if request.delay > .zero { startLoads(of: lastID, after: request.delay) }
    startLoads(of: lastID)
    return lastID
  }

  // MARK: - Reading

  func job(_ id: ImageJob.ID) throws(ImageError) -> ImageJob {
    guard let entry = jobs[id] else {
      throw ImageError(code: .unknownJob, message: "there is no job \(id)")
    }
    return entry.job.job(at: .now)
  }

  func page(before id: ImageJob.ID?) -> (jobs: [ImageJob], hasMore: Bool) {
    let ids = jobs.keys.filter { $0 < id ?? .max }.sorted(by: >)
    let page = ids.prefix(JobsPage.maximumCount)
    return (page.compactMap { jobs[$0]?.job.job(at: .now) }, page.count < ids.count)
  }

  func results(
    of id: ImageJob.ID, from index: Int, failedOnly: Bool
  ) throws(ImageError) -> (results: [ImageJobResult], next: Int?) {
    _ = try job(id)
    return jobs[id]?.job.results(
      from: index, limit: ResultsPage.maximumCount, failedOnly: failedOnly) ?? ([], nil)
  }

  func watch(
    _ id: ImageJob.ID, _ onUpdate: @escaping @Sendable (ImageJob) -> Void
  ) async throws(ImageError) {
    let job = try job(id)
    onUpdate(job)
    guard !job.hasEnded else { return }
    lastWatch += 1
    let number = lastWatch
    let hasEnded = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        watches[number] = Watch(job: id, onUpdate: onUpdate, continuation: continuation)
      }
    } onCancel: {
      // Runs after the watch is there.
      Task { await self.endWatch(number) }
    }
    guard hasEnded else { throw .cancelled(nil) }
  }

  private func endWatch(_ number: Int) {
    watches.removeValue(forKey: number)?.continuation.resume(returning: false)
  }

  /// Tells the watches of a job how it stands.
  private func publish(_ id: ImageJob.ID) {
    guard let job = jobs[id]?.job.job(at: .now) else { return }
    for (number, watch) in watches where watch.job == id {
      watch.onUpdate(job)
      if job.hasEnded {
        watches[number] = nil
        watch.continuation.resume(returning: true)
      }
    }
  }

  // MARK: - Changing

  func change(_ id: ImageJob.ID, _ change: ImageJobChange) throws(ImageError) -> ImageJob {
    let before = try job(id)
    try rethrowing(try jobs[id]?.job.apply(change, at: .now).forEach { $0.cancel() }) {
      (error: JobChangeRefusal) in
      ImageError(code: .wrongState, message: error.description)
    }
    guard change != .remove else {
      jobs[id] = nil
      return before
    }
    publish(id)
    startLoads(of: id)
    return try job(id)
  }

  // MARK: - Loads

  private func startLoads(of id: ImageJob.ID, after delay: Duration) {
    Task { [weak self] in
      // Nothing cancels the task.
      try? await Task.sleep(for: delay)
      await self?.startLoads(of: id)
    }
  }

  private func startLoads(of id: ImageJob.ID) {
    var hasStarted = false
    while let load = jobs[id]?.load, let next = jobs[id]?.job.takeNext(at: .now) {
      hasStarted = true
      let task = Task { [weak self] in
        let result = await load(next.load)
        // A load that was cancelled is no longer the job's.
        guard !Task.isCancelled else { return }
        await self?.loadEnded(of: next.index, id, result)
      }
      jobs[id]?.job.addLoad(task, of: next.index)
    }
    if hasStarted { publish(id) }
  }

  private func loadEnded(
    of index: Int, _ id: ImageJob.ID, _ result: Result<LoadedImage, ImageError>
  ) {
    // The job may have been cancelled on the way here.
    guard !Task.isCancelled else { return }
    jobs[id]?.job.loadEnded(of: index, result, at: .now)
    startLoads(of: id)
    publish(id)
  }
}
