import ImgScheduler

/// The client and request behind each viewer of the scheduler, until the viewer is answered or leaves.
struct RequesterTable {
  private var requesters: [ViewerID: Requester] = [:]
  private var last: UInt64 = 0

  subscript(viewer: ViewerID) -> Requester? { requesters[viewer] }

  /// - Returns: an identifier that no viewer had before.
  mutating func add(_ requester: Requester) -> ViewerID {
    last += 1
    let viewer = ViewerID(rawValue: last)
    requesters[viewer] = requester
    return viewer
  }

  /// - Returns: `nil` when the viewer was removed before.
  mutating func remove(_ viewer: ViewerID) -> Requester? {
    requesters.removeValue(forKey: viewer)
  }
}
