import ImgModel

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
    ImageJob(JobStatus(record, running: loads.count, isDelayed: now < record.notBefore))
  }

  /// Applies a change.
  ///
  /// - Returns: the loads to cancel.
  mutating func apply(
    _ change: JobChange, at now: WallTime
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
    case .pause, .resume, .prioritise, .unpin, .remove: return []
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
      self = .done(
        ImageJobResult.Thumbnail(
          type: image.type, width: image.width, height: image.height,
          byteCount: image.bytes.count, isFromCache: image.origin != .network))
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
        Thumbnail(
          format: ImageFormat(rawValue: image.type.rawValue) ?? .jpeg, width: image.width,
          height: image.height, byteCount: image.bytes.count),
        fromCache: isFromCache, bytesFetched: isFromCache ? 0 : image.source.byteCount)
    case .failure(let error):
      self = .failed(
        Failure(
          stage: .fetch, code: Failure.Code(rawValue: error.code.rawValue) ?? .internal,
          httpStatus: error.httpStatus, isRetryable: error.isRetryable, detail: error.message))
    }
  }
}
