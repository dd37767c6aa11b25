import ImgModel
import ImgScheduler
import ImgWire

/// The requests of one client whose answers come later: watched jobs, viewers and changes of jobs.
struct PendingRequests {
  /// A job that a client watches, and the status that it was sent last.
  struct Watch: Hashable {
    let request: RequestID
    let sent: JobStatus
  }

  /// Requests of one client that may be pending.
  static let maximumCount = 1_024

  private var watched: [RequestID: JobStatus] = [:]
  private var viewers: [RequestID: ViewerID] = [:]
  private var changes: Set<RequestID> = []

  var isEmpty: Bool { count == 0 }
  var hasWatches: Bool { !watched.isEmpty }
  private var count: Int { watched.count + viewers.count + changes.count }

  /// Why a request of this number may not become pending; `nil` when it may.
  func obstacle(to request: RequestID) -> String? {
    if watched[request] != nil || viewers[request] != nil || changes.contains(request) {
      return "a request of this number waits already"
    }
    return count < Self.maximumCount
      ? nil : "\(Self.maximumCount) requests of this client wait already"
  }

  private func requireNoObstacle(to request: RequestID) {
    precondition(obstacle(to: request) == nil, "the caller refuses what may not be pending")
  }

  // MARK: - Watched jobs

  var watches: [Watch] { watched.map { Watch(request: $0.key, sent: $0.value) } }

  mutating func addWatch(_ request: RequestID, sent status: JobStatus) {
    requireNoObstacle(to: request)
    watched[request] = status
  }

  /// The client was sent a newer status.
  mutating func updateWatch(_ request: RequestID, sent status: JobStatus) {
    precondition(watched[request]?.job == status.job, "a watch stays with its job")
    watched[request] = status
  }

  /// Ends a watch.
  ///
  /// - Returns: whether there was one.
  mutating func removeWatch(_ request: RequestID) -> Bool {
    watched.removeValue(forKey: request) != nil
  }

  /// Ends the watches of a job.
  ///
  /// - Returns: their requests.
  mutating func removeWatches(of job: JobID) -> [RequestID] {
    let ended = watched.filter { $0.value.job == job }.keys
    for request in ended { watched[request] = nil }
    return Array(ended)
  }

  // MARK: - Viewers

  var viewerIDs: [ViewerID] { Array(viewers.values) }

  /// The viewer of a request; `nil` if the request has ended.
  func viewer(of request: RequestID) -> ViewerID? { viewers[request] }

  mutating func addViewer(_ viewer: ViewerID, for request: RequestID) {
    requireNoObstacle(to: request)
    viewers[request] = viewer
  }

  mutating func removeViewer(for request: RequestID) {
    let removed = viewers.removeValue(forKey: request)
    precondition(removed != nil, "a viewer is removed once")
  }

  // MARK: - Changes of jobs

  mutating func addChange(_ request: RequestID) {
    requireNoObstacle(to: request)
    changes.insert(request)
  }

  mutating func removeChange(_ request: RequestID) {
    let removed = changes.remove(request)
    precondition(removed != nil, "a change ends once")
  }
}
