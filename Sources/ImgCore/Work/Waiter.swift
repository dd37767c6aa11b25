import ImgWire

/// Somebody who waits for a picture in one variant.
struct Waiter {
  enum Who: Hashable {
    /// A line of a job's list.
    case line(JobID, index: Int)
    /// Somebody who waits for the picture now.
    case viewer(ViewerID)
  }

  let who: Who
  /// How long the thumbnail is to be kept.
  let expireAfterMilliseconds: Int64
  /// The job's; nothing for a viewer, who goes before all jobs.
  var priority = 0
  /// When the line's turn among all jobs of its priority comes, see ``Urgency/turn``.
  var turn: UInt64 = 0

  func isLine(of job: JobID) -> Bool { self.job == job }

  var job: JobID? {
    if case .line(let job, _) = who { job } else { nil }
  }

  var viewer: ViewerID? {
    if case .viewer(let viewer) = who { viewer } else { nil }
  }
}
