package import ImgModel

/// Names a source: the number of the first of its items.
package struct SourceID: Hashable, Comparable {
  package let rawValue: UInt64

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A picture, or its facts, that has to be fetched: what its variants share, so that it is fetched once for all of
/// them. Lives as long as one of its items.
package struct Source {
  /// One name may stand for URLs at several hosts, each with its own limits.
  package struct Key: Hashable {
    package let name: PictureName
    package let host: String
    /// Each has its own pauses.
    package let origin: String
    package private(set) var part: PicturePart

    /// The keys of the same picture at the same host, whole or in part; this one among them.
    var ofAllParts: [Key] {
      PicturePart.allCases.map { part in
        var key = self
        key.part = part
        return key
      }
    }

    init(_ item: WorkItem) {
      name = item.key.name
      host = item.host
      origin = item.url.origin
      part = item.key.request.keep.part
    }
  }

  package let id: SourceID
  package let key: Key
  /// Its items, in the order in which they came.
  package internal(set) var members: [WorkID] = []
  /// Whether it waits for a transfer of its own.
  var isQueued = false
  /// The transfer that items may still join: its body is on its way, or held by its worker.
  package internal(set) var joinable: TransferID?
  /// Transfers of it that failed.
  var attempts = 0
  /// What the last of them failed with.
  var lastFailure: Failure?
  /// When the first of them failed.
  var firstFailedAt: ContinuousClock.Instant?
  /// When it may be queued again; `nil` when it may be now.
  package internal(set) var retryAt: ContinuousClock.Instant?
  /// Workers that held this fetch and crashed, or were ended because they owed its answer or hung in
  /// its transfer.
  var lossCount = 0
  /// Workers that ended, for any reason, while they held this fetch.
  var deathCount = 0

  init(id: SourceID, key: Key) {
    self.id = id
    self.key = key
  }
}
