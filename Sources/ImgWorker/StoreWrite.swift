import ImgStore
import ImgWire

/// A change of the store.
enum StoreWrite: Sendable {
  case put(StorePut)
  /// A record that a look-up found expired or damaged.
  case removeStale(ContentKey)
  /// Accesses that have thumbnails kept for longer, of one look-up.
  ///
  /// - answer: what the look-up found, when it is to be told only after this.
  case extend([ThumbnailAccess], answer: LookupResults?)
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

/// Why the store has not got a thumbnail.
struct StoreRefusal: Hashable, Sendable {
  let failure: Failure
  /// Whether it is the store that takes nothing now, rather than this thumbnail that is not for it.
  let isStoreInTrouble: Bool
  /// Whether others hardly find room either.
  let isForWantOfRoom: Bool

  init(_ error: StoreError) {
    failure = Failure(
      stage: .store, code: error.isFull ? .storeFull : .internal, detail: error.description)
    isStoreInTrouble = error.reason != .tooLarge
    isForWantOfRoom = error.reason == .full
  }
}

/// What became of a `put`.
struct StoreResult: Sendable {
  enum Ending: Sendable {
    case stored
    /// The thumbnail comes back, for whoever waits for it.
    case refused(NewThumbnail, StoreRefusal)
  }

  let lease: LeaseID
  let ending: Ending
}
