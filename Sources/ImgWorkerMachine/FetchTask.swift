package import ImgModel
package import ImgWire

/// One `fetch`, `attach`, `decode` or `decode_upload` lease as the coordinator assigned it.
package struct FetchOrder: Hashable, Sendable {
  package let lease: LeaseID
  package let url: ImageURL
  package let name: PictureName
  package let request: ThumbnailRequest
  package let retention: Retention
  /// Whether a client waits for it.
  package internal(set) var isUrgent: Bool
  /// Whether a client uploaded the picture, which then replaces what the store has of its URL.
  package let isUpload: Bool
  /// Whether the result is pixels in place of a thumbnail. It is never stored.
  package let wantsPixels: Bool
  /// When it was assigned. All transfers for it, one after the other, share the time limit of one.
  package let assignedAt: Instant

  /// - Throws: a ``Failure`` of stage `queue` if the assignment names no URL.
  package init(
    _ assignment: Assignment, of batch: Batch, at now: Instant
  ) throws(Failure) {
    lease = assignment.lease
    url = try ImageURL(parsing: assignment.url)
    name = batch.request.fetch.name(of: url)
    request = batch.request
    retention = batch.retention
    isUrgent = batch.isUrgent
    isUpload = false
    wantsPixels = false
    assignedAt = now
  }

  /// - Throws: a ``Failure`` of stage `queue` if the upload names a text that is not a URL.
  package init(_ upload: Upload, at now: Instant) throws(Failure) {
    lease = upload.lease
    url =
      try upload.url.map { (url) throws(Failure) in try ImageURL(parsing: url) }
      ?? ImageURL(uploaded: upload.lease.rawValue)
    name = upload.request.fetch.name(of: url)
    var request = upload.request
    request.bypassesStore = upload.url == nil || upload.wantsPixels
    self.request = request
    retention = upload.retention
    isUrgent = true
    isUpload = true
    wantsPixels = upload.wantsPixels
    assignedAt = now
  }

  package var options: FetchOptions { request.fetch }

  /// Orders with equal keys share a transfer.
  package var transferKey: TransferKey { TransferKey(name: name, part: request.keep.part) }

  /// Whether a part of its body may be stored, and continued from. A picture that is known by a
  /// cache key may have another URL's body.
  package var mayLeavePartial: Bool {
    request.keep != .none && request.keep.part.isWhole && !request.bypassesStore
      && options.cacheKey == nil
  }

  /// Whether stale records of the store may answer it, on the terms of HTTP.
  package var mayUseStale: Bool {
    options.cachePolicy == .byProtocol && !request.bypassesStore
  }

  /// Whether the origin may be asked if the stored records still match. A picture that is known by a
  /// cache key may have another URL's records.
  package var mayRevalidate: Bool { mayUseStale && options.cacheKey == nil }
}

/// One lease of this worker, from its assignment to its result.
struct FetchTask {
  /// How far it is. What a payload holds is known in that stage and needed in no other.
  enum Stage {
    /// It waits for the origin's robots.txt before it attaches to a transfer.
    case waitingForRobots
    /// It is attached to a transfer whose body is not in. That may itself wait for a robots.txt, or
    /// for a slot.
    case transferring
    /// The store is asked for the original.
    case findingOriginal
    /// The origin confirmed stored records; the store is asked which.
    case revalidating
    /// Its result is this thumbnail of the store, once the record is renewed.
    case renewing(Thumbnail)
    case decoding(SourceBody)
    case storing(Storing)
    /// Its thumbnail waits to be sent. The failure says why the store does not have it; `nil` if it
    /// was not to be stored.
    case delivering(Failure?)
    /// Its transfer failed. It waits for the partial body to be stored, so that the next attempt
    /// finds it, then perhaps for a stale thumbnail.
    case failing(TransferFailure)
  }

  /// What waits for the store.
  struct Storing {
    /// The result if the store takes the records.
    let outcome: Outcome
    /// The thumbnail, for the coordinator if the store refuses it; `nil` if none was made.
    let thumbnail: NewRecord?
    /// Whether the body of its transfer is among the records.
    let storesBody: Bool
    let since: Instant
  }

  struct TransferFailure {
    let failure: Failure
    let wasRedirected: Bool
    let sign: NetworkSign?
  }

  private(set) var order: FetchOrder
  var stage: Stage
  /// Whether the request was cancelled too late to end it at once. Its result may be any.
  var isCancelled = false
  /// What clients are told of its picture while that arrives.
  private(set) var updates: ArrivalUpdates = []
  /// What its result reports as fetched.
  var bytesFetched = 0
  /// How long each part took so far.
  var timings = Timings()

  init(_ order: FetchOrder, stage: Stage) {
    self.order = order
    self.stage = stage
  }

  /// Clients wait for it from now on, and are told this of its picture; `nil` if none waits any more.
  mutating func want(_ updates: ArrivalUpdates?) {
    order.isUrgent = updates != nil
    self.updates = updates ?? []
  }

  /// - Precondition: it is being decoded.
  var sourceBody: SourceBody {
    guard case .decoding(let body) = stage else {
      preconditionFailure("lease \(order.lease.rawValue) is not being decoded")
    }
    return body
  }

  /// - Precondition: its transfer failed.
  var failing: TransferFailure {
    guard case .failing(let failing) = stage else {
      preconditionFailure("the transfer of lease \(order.lease.rawValue) did not fail")
    }
    return failing
  }
}

/// The bytes that a picture is decoded from.
struct SourceBody: Hashable {
  /// Bytes of bodies that the origin sent for it, to whichever lease.
  var receivedByteCount = 0
  /// Bytes of the picture among them.
  var byteCount = 0
  /// What the origin says of its reuse; `nil` if no origin was asked.
  var reuse: AnswerReuse?
  /// What its transfer says of the network.
  var sign: NetworkSign?

  /// A picture that was not fetched.
  static func local(byteCount: Int) -> SourceBody {
    SourceBody(receivedByteCount: byteCount, byteCount: byteCount)
  }
}

/// The leases of this worker that have no result yet.
struct FetchTasks {
  private var tasks: [LeaseID: FetchTask] = [:]

  var isEmpty: Bool { tasks.isEmpty }
  var count: Int { tasks.count }

  func contains(_ lease: LeaseID) -> Bool { tasks[lease] != nil }

  mutating func add(_ task: FetchTask) {
    let previous = tasks.updateValue(task, forKey: task.order.lease)
    precondition(previous == nil, "a lease is assigned once")
  }

  /// - Precondition: the lease has no result yet.
  subscript(lease: LeaseID) -> FetchTask {
    guard let task = tasks[lease] else {
      preconditionFailure("lease \(lease.rawValue) has no task")
    }
    return task
  }

  /// - Precondition: the lease has no result yet.
  mutating func update(_ lease: LeaseID, _ change: (inout FetchTask) -> Void) {
    guard let index = tasks.index(forKey: lease) else {
      preconditionFailure("lease \(lease.rawValue) has no task")
    }
    change(&tasks.values[index])
  }

  /// - Precondition: the lease has no result yet.
  mutating func remove(_ lease: LeaseID) -> FetchTask {
    guard let task = tasks.removeValue(forKey: lease) else {
      preconditionFailure("lease \(lease.rawValue) has no task")
    }
    return task
  }
}

/// How a transfer ended.
package struct TransferEnd: Hashable, Sendable {
  package enum Result: Hashable, Sendable {
    case body(BodyFacts)
    case failed(Failure)
    /// The origin answered 304, about the validators that the request named.
    case notModified
    /// Nothing was sent, because the host is in a cooldown.
    case deferred
  }

  /// What is left of a body.
  package enum Leftover: Hashable, Sendable {
    /// Nothing new: a partial body in the store stays valid.
    case unchanged
    /// Nothing, and the origin does not continue the partial body in the store.
    case obsolete
    /// A part that the next transfer can continue; the driver holds it.
    case partial
  }

  package let result: Result
  /// Bytes of bodies that came in now, as against those of earlier transfers that it continued.
  package let freshByteCount: Int
  package let wasRedirected: Bool
  package let timings: Timings
  package let leftover: Leftover
  /// What it says of the network; `nil` if that is nothing out of the ordinary.
  package var sign: NetworkSign?

  package init(
    _ result: Result, freshByteCount: Int = 0, wasRedirected: Bool = false,
    timings: Timings = Timings(), leftover: Leftover = .unchanged, sign: NetworkSign? = nil
  ) {
    self.result = result
    self.freshByteCount = freshByteCount
    self.wasRedirected = wasRedirected
    self.timings = timings
    self.leftover = leftover
    self.sign = sign
  }
}

/// What is known of a whole body.
package struct BodyFacts: Hashable, Sendable {
  package let byteCount: Int
  /// The length that the origin declared for it; `nil` if it declared none.
  package let declaredByteCount: Int?
  /// Bytes of bodies that the origin sent for it, those of redirects and of earlier transfers
  /// included.
  package let receivedByteCount: Int
  package let reuse: AnswerReuse
  /// What it fails with for requests that respect that its origin does not want it used.
  package let optOut: Failure?

  package init(
    byteCount: Int, declaredByteCount: Int? = nil, receivedByteCount: Int, reuse: AnswerReuse,
    optOut: Failure? = nil
  ) {
    self.byteCount = byteCount
    self.declaredByteCount = declaredByteCount
    self.receivedByteCount = receivedByteCount
    self.reuse = reuse
    self.optOut = optOut
  }
}
