package import ImgModel
package import ImgWire

extension WorkerMachine {
  /// What happened outside of the machine. Bytes and descriptors stay with the driver: an event
  /// names them by their lease or their transfer.
  package enum Event: Sendable {
    /// The coordinator sent a message. The file beside an upload stays with the driver.
    case received(CoordinatorMessage)

    /// The answer to ``Effect/lookUp(_:)``.
    case lookedUp(LookupResults)
    /// The answer to ``Effect/findOriginal(_:)``: whether the store has one.
    case originalFound(LeaseID, Bool)
    /// The answer to ``Effect/findStale(_:)``; `nil` if the store has none that may be used.
    case staleFound(LeaseID, Thumbnail?)
    /// The answer to ``Effect/renew(_:)``.
    case renewalFound(LeaseID, RenewalFinding)
    /// The end of an ``Effect/put(_:)`` or of a renewal.
    case stored(LeaseID, StoreEnd)
    /// The end of look-ups, and of an ``Effect/findStale(_:)``, ``Effect/put(_:)`` or renewal: the store has
    /// the pictures, but no room to pin them.
    case unpinned([LeaseID])
    /// The answer to ``Effect/sweep(_:)`` and ``Effect/unpin(_:)``.
    case storeReported(StoreReport)
    /// The end of an ``Effect/storePartial(_:of:)``, stored or not.
    case partialStored(TransferID)

    /// The answer to ``Effect/readRobots(of:)``; `nil` if the store has no rules.
    case robotsRead(of: ImageURL, KnownRobots?)
    /// The answer to ``Effect/fetchRobots(of:)``.
    case robotsFetched(origin: String, RobotsAnswer)
    /// The end of an ``Effect/storeRobots(_:origin:)``, stored or not.
    case robotsStored(origin: String)

    /// The transfer waits at a redirect for ``Effect/followRedirect(_:excluding:)`` or
    /// ``Effect/cancelTransfer(_:)``.
    case redirected(TransferID, Redirect)
    /// The driver holds what the transfer left, a body or a part of one, until
    /// ``Effect/releaseBody(_:)``.
    case transferEnded(TransferID, TransferEnd)

    /// The end of an ``Effect/decode(_:from:)``.
    ///
    /// - time: what the decoder took; `nil` if nothing was decoded.
    case decoded(LeaseID, DecodeEnd, time: Duration?)

    /// So much of a body has arrived, of one of ``watchedTransfers``.
    case bodyGrew(TransferID, to: BodyProgress)
    /// The end of an ``Effect/makePreview(_:)``.
    case previewed(PreviewOrder, PreviewEnd)

    /// How much has arrived of transfers of ``transfersWithSlots``. None has arrived of those that are
    /// missing.
    case measured([TransferID: TransferMeasure])

    /// An uncached result was sent.
    case uncachedSent(LeaseID)
    /// An uncached result cannot be sent: there is no file for it.
    case uncachedFailed(LeaseID, detail: String)

    /// The driver's loop has handled all that was ready.
    ///
    /// - updates: what the transfers signalled of hosts since the last turn.
    /// - decodeQueueCount: pictures that wait for the decoder.
    case turnEnded(HostUpdates, decodeQueueCount: Int)
  }
}

/// What the store has of a lease whose origin answered 304.
package enum RenewalFinding: Hashable, Sendable {
  /// No record with the validators that the origin confirmed.
  case unmatched
  /// The records are being renewed; a `stored` event follows.
  case thumbnail(Thumbnail)
  /// The original is being renewed on these terms. The thumbnail is made from it meanwhile.
  case original(ReuseTerms)
}

/// What became of a `put` or a renewal.
package enum StoreEnd: Hashable, Sendable {
  case stored
  /// The driver holds the thumbnail.
  case refused(StoreRefusal)
  /// A record to be renewed or extended is no longer there.
  case missing
  /// There was nothing to store, because the body cannot be read.
  case failed(Failure)
}

/// Why the store does not have a thumbnail.
package struct StoreRefusal: Hashable, Sendable {
  package let failure: Failure
  /// Whether the store takes nothing at present, rather than refusing this thumbnail.
  package let isStoreDegraded: Bool

  package init(failure: Failure, isStoreDegraded: Bool) {
    self.failure = failure
    self.isStoreDegraded = isStoreDegraded
  }
}
