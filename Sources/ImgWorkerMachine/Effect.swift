package import ImgModel
package import ImgWire

extension WorkerMachine {
  /// What the driver does next. It performs the effects of one event in their order.
  package enum Effect: Sendable {
    case send(WorkerMessage)
    /// Send the uncached results that wait, as far as the coordinator keeps up with their files.
    case sendUncached
    /// Queue a result for ``sendUncached``. The bytes of its thumbnail came with the event.
    case deliver(UncachedResult)

    /// Look the batch up in the store; answered by one `lookedUp`.
    case lookUp(Batch)
    /// Find out whether the store has an original that the order accepts.
    case findOriginal(FetchOrder)
    /// Find a stale thumbnail that may be used after an error, and keep it for longer. If the order pins it,
    /// the answer follows once it is pinned.
    case findStale(FetchOrder)
    /// Renew the records of the order, if their validators are those that the origin confirmed in the
    /// event.
    case renew(FetchOrder)
    case put(StoreRequest)
    /// Store the partial body that the transfer left.
    case storePartial(TransferID, of: PictureName)
    /// Remove the partial body, which the origin no longer continues. Nothing waits for it.
    case removePartial(of: PictureName)
    /// Remove what has expired at this moment. Nothing waits for it.
    case sweep(WallTime)
    /// Remove the pins of these jobs. Nothing waits for it.
    case unpin([JobID])

    /// Read the robots.txt rules of the URL's origin from the store.
    case readRobots(of: ImageURL)
    /// Fetch the robots.txt of the URL's origin.
    case fetchRobots(of: ImageURL)
    case storeRobots(KnownRobots, origin: String)

    /// Start the transfer that is named by the order's lease. It may continue a partial body, or ask
    /// whether stored records still match.
    case startTransfer(FetchOrder)
    /// - excluding: how long it waited for a slot, which does not count as its time.
    case followRedirect(TransferID, excluding: Duration)
    case cancelTransfer(TransferID)
    /// Free the body, or the partial body, that the transfer left.
    case releaseBody(TransferID)

    case decode(FetchOrder, from: DecodeSource)
    /// Skip the decode if it has not begun. A `decoded` event follows in any case.
    case cancelDecode(LeaseID)

    /// Make a preview of what has arrived, on a decoder that is idle. A `previewed` event follows in any
    /// case.
    case makePreview(PreviewOrder)
    /// Send the preview, unless the coordinator does not keep up with files. Its bytes came with the
    /// event.
    case sendPreview(MadePreview)

    /// Everything is done: exit.
    case stop
  }
}

/// Where the decoder finds a picture.
package enum DecodeSource: Hashable, Sendable {
  /// The body that this transfer received.
  case body(TransferID)
  /// The original in the store.
  case storedOriginal
  /// The URL itself: the picture that it holds, or the file that it names.
  case url
  /// The file that came beside the upload.
  case upload(byteCount: Int)
}
