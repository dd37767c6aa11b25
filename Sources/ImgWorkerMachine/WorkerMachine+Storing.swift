import ImgModel
import ImgWire

/// From a decoded picture to the store, and from there to the result.
extension WorkerMachine {
  mutating func decoded(_ lease: LeaseID, _ end: DecodeEnd, after time: Duration?) {
    tasks.update(lease) { $0.timings.decode = time }
    switch end {
    case .picture(let picture): store(picture, for: lease)
    case .failed(let failure): finish(lease, with: .failed(failure))
    case .cancelled: finish(lease, with: .cancelled)
    case .sourceMissing: release(lease)
    }
  }

  /// Stores what the request wants to have stored.
  private mutating func store(_ picture: DecodedPicture, for lease: LeaseID) {
    let task = tasks[lease]
    guard !task.isCancelled else { return finish(lease, with: .cancelled) }
    let maker = RecordMaker(task.order, body: task.sourceBody, picture: picture)
    let thumbnails = maker.thumbnailRecords(at: now.wall)
    guard maker.isStored else { return deliver(thumbnails[0], for: lease, refused: nil) }
    var records = task.order.request.keep.includesResult ? thumbnails : []
    let body = transfers.bodyToStore(of: lease)
    let keepsOriginal = task.order.request.keep.includesOriginal
    let hasOriginal = body != nil || task.order.isUpload
    if keepsOriginal, hasOriginal { records.append(maker.originalRecord) }
    let storedBody = keepsOriginal ? body : nil
    let storing = FetchTask.Storing(
      outcome: maker.outcome(bytesFetched: task.bytesFetched), thumbnail: thumbnails[0],
      storesBody: storedBody != nil, since: now.instant)
    tasks.update(lease) { $0.stage = .storing(storing) }
    if storedBody == nil { detach(lease) }
    effects.append(
      .put(
        StoreRequest(
          order: task.order, records: records, body: storedBody,
          extendsOriginal: keepsOriginal && !hasOriginal)))
  }

  /// The records of a lease are in the store, or cannot be.
  mutating func stored(_ lease: LeaseID, _ end: StoreEnd) {
    switch tasks[lease].stage {
    case .storing(let storing):
      let time = now.instant - storing.since
      tasks.update(lease) { $0.timings.store = time }
      stored(lease, storing, end)
    case .renewing(let thumbnail):
      // A store that cannot be written still has the record, as stale as before.
      if case .missing = end { return release(lease) }
      finish(lease, with: .done(thumbnail, fromCache: true, bytesFetched: 0))
    case .waitingForRobots, .transferring, .findingOriginal, .revalidating, .decoding,
      .delivering, .failing:
      preconditionFailure("lease \(lease.rawValue) stores nothing")
    }
  }

  private mutating func stored(
    _ lease: LeaseID, _ storing: FetchTask.Storing, _ end: StoreEnd
  ) {
    switch end {
    case .stored:
      if storing.storesBody { transfers.bodyStored(by: lease) }
      finish(lease, with: storing.outcome)
    case .refused(let refusal): deliver(storing.thumbnail, for: lease, refused: refusal)
    case .failed(let failure): finish(lease, with: .failed(failure))
    case .missing: release(lease)
    }
  }

  /// The store has the pictures of leases, look-ups or fetches, but no room to pin them.
  mutating func unpinned(_ leases: [LeaseID]) {
    for lease in leases where tasks.contains(lease) { remove(lease) }
    report.unpinned += leases
  }

  // MARK: - Uncached results

  /// Sends a thumbnail that is not in the store to the coordinator.
  ///
  /// Each one is sent, whether or not a client waited for it when its fetch was assigned: a client
  /// may join until the result is reported, and then has its picture without another message or
  /// fetch. A list pays for that with a file in memory and a frame for each line that the store
  /// refuses, which is little beside fetching and decoding it.
  ///
  /// - Parameter refusal: why the store does not have it; `nil` if it was not to be stored.
  private mutating func deliver(
    _ thumbnail: NewRecord, for lease: LeaseID, refused refusal: StoreRefusal?
  ) {
    tasks.update(lease) { $0.stage = .delivering(refusal?.failure) }
    detach(lease)
    let task = tasks[lease]
    let made = UncachedThumbnail(
      thumbnail: thumbnail.picture, sourceFormat: thumbnail.source.format,
      sourceWidth: thumbnail.source.width, sourceHeight: thumbnail.source.height,
      decodePath: thumbnail.source.decodePath, thumbHash: thumbnail.thumbHash,
      sourceByteCount: thumbnail.sourceByteCount,
      failure: refusal?.failure,
      timings: task.timings)
    effects.append(
      .deliver(
        UncachedResult(
          lease: lease, made: made, bytesFetched: task.bytesFetched,
          isStoreDegraded: refusal?.isStoreDegraded ?? false)))
  }

  /// There is not even a file for the thumbnail.
  mutating func uncachedFailed(_ lease: LeaseID, _ detail: String) {
    guard case .delivering(let refusal) = tasks[lease].stage else {
      preconditionFailure("lease \(lease.rawValue) delivers nothing")
    }
    let failure = Failure(
      stage: .decode, code: .outOfMemory, detail: "the thumbnail cannot be sent: \(detail)")
    finish(lease, with: .failed(refusal ?? failure))
  }
}
