import ImgModel

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
    /// The thumbnail, for the coordinator if the store refuses it.
    let thumbnail: NewRecord
    /// Whether the body of its transfer is among the records.
    let storesBody: Bool
    let since: ContinuousClock.Instant
  }

  struct TransferFailure {
    let failure: Failure
    let wasRedirected: Bool
  }

  let order: FetchOrder
  var stage: Stage
  /// Whether the request was cancelled too late to end it at once. Its result may be any.
  var isCancelled = false
  /// What clients are told of its picture while that arrives.
  var updates: ArrivalUpdates = []
  /// What its result reports as fetched.
  var bytesFetched = 0
  /// How long each part took so far.
  var timings = Timings()

  init(_ order: FetchOrder, stage: Stage) {
    self.order = order
    self.stage = stage
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

  /// A picture that was not fetched.
  static func local(byteCount: Int) -> SourceBody {
    SourceBody(receivedByteCount: byteCount, byteCount: byteCount)
  }
}
