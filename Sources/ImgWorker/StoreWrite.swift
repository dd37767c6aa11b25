import ImgModel
import ImgStore
import ImgWire

/// A change of the store.
enum StoreWrite: Sendable {
  case put(StorePut)
  case renew(StoreRenewal)
  case putPartial(PartialPut)
  /// What is left of the picture's body, which is of no use any more.
  case removePartial(PictureName)
  /// A record that a look-up found expired or damaged.
  case removeStale(ContentKey)
  /// Accesses that have thumbnails kept for longer, of one look-up.
  ///
  /// - answer: what the look-up found, when it is to be told only after this.
  case extend([ThumbnailAccess], answer: LookupResults?)
  /// What an origin's robots.txt says; those who wait for it are told when it is written.
  case keepRobots(RobotsRecord, origin: String)
  /// All records that have expired at this moment.
  case sweep(WallTime)
}

/// What a fetch has kept.
struct StorePut: Sendable {
  let lease: LeaseID
  /// The thumbnail, the original, or both: all of them are stored, or none.
  let kept: [NewThumbnail]
  /// What whoever waits gets where they are not.
  let thumbnail: NewThumbnail
}

/// What a fetch has found to be still as it is stored.
struct StoreRenewal: Sendable {
  /// Whose result waits for it; `nil` when none does.
  let lease: LeaseID?
  /// All of them are renewed, or none.
  let renewals: [Renewal]
}

/// Why the store has not got a thumbnail.
struct StoreRefusal: Hashable, Sendable {
  let failure: Failure
  /// Whether it is the store that takes nothing now, rather than this thumbnail that is not for it.
  let isStoreDegraded: Bool
  /// Whether others hardly find room either.
  let isForWantOfRoom: Bool

  init(_ error: StoreError) {
    failure = Failure(
      stage: .store, code: error.isFull ? .storeFull : .internal, detail: error.description)
    isStoreDegraded = error.reason != .tooLarge
    isForWantOfRoom = error.reason == .full
  }
}

/// What became of a `put` or a `renew`.
struct StoreResult: Sendable {
  enum Ending: Sendable {
    case stored
    /// The thumbnail comes back, for whoever waits for it.
    case refused(NewThumbnail, StoreRefusal)
    /// What was to be renewed is not there any more.
    case gone
  }

  let lease: LeaseID
  let ending: Ending
}
