package import ImgModel

/// A request that waits for a picture in one variant.
package struct Waiter {
  package enum Who: Hashable {
    /// A line of a job's list.
    case line(JobID, index: Int)
    /// A client that waits for the picture now.
    case viewer(ViewerID)
    /// No request waits: the origin is asked about a picture that was served stale.
    case revalidation
  }

  package let who: Who
  /// When the thumbnail expires.
  let expiry: Expiry
  /// Whether its job pins the thumbnail.
  var isPinning = false
  /// See `RequestOptions.priority` in ImgModel. Every viewer goes before all jobs.
  var priority = 0
  /// Orders the line among all jobs of its priority, see ``Urgency/startTag``; 0 until its look-up
  /// is over.
  var startTag: UInt64 = 0
  /// The highest start tag that was served when the line was taken up.
  var arrivalTag: UInt64 = 0
  /// The explicit command that it is part of: a `get`, or a `retry` of its job; `nil` of any other
  /// line.
  var command: CommandID?
  /// What a viewer is told while the picture arrives.
  var updates: ArrivalUpdates = []
  /// A viewer does not wait for a host that has asked for a longer pause; `nil` for a waiter that does.
  package var maximumRetryAfter: Duration?
  /// The first bytes of the picture that the viewer was shown.
  var shownByteCount = 0
  /// The bytes of the picture that the viewer was told have arrived.
  var reportedByteCount = 0
  /// Whether it came when the item's lease had begun, and wants the thumbnail kept for longer than
  /// the worker was told.
  var isLate = false

  func isLine(of job: JobID) -> Bool { self.job == job }

  package var job: JobID? {
    if case .line(let job, _) = who { job } else { nil }
  }

  /// Of a line, in its job's list.
  var index: Int? {
    if case .line(_, let index) = who { index } else { nil }
  }

  package var viewer: ViewerID? {
    if case .viewer(let viewer) = who { viewer } else { nil }
  }
}
