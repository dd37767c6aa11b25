import ImgModel
import ImgWire

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
    guard !Task.isCancelled else { throw .cancelled(nil) }
    lastID += 1
    let record = JobRecord(
      id: JobID(rawValue: lastID), name: request.name, options: options,
      order: request.lineOrder, submittedAt: .now)
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
    do throws(JobChangeRefusal) {
      try jobs[id]?.job.apply(JobChange(change), at: .now).forEach { $0.cancel() }
    } catch {
      throw ImageError(code: .wrongState, message: error.description)
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
