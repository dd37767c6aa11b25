package import ImgModel
import ImgWire

/// From a decoded picture to the store, and from there to the result.
extension WorkerMachine {
  mutating func decoded(_ lease: LeaseID, _ end: DecodeEnd, after time: Duration?) {
    tasks.update(lease) { $0.timings.decode = time }
    switch end {
    case .picture(let picture): store(picture, for: lease)
    case .failed(let failure):
      let sign = failure.code == .notAnImage ? tasks[lease].sourceBody.sign : nil
      finish(lease, with: .failed(failure), sign: sign)
    case .cancelled: finish(lease, with: .cancelled)
    case .sourceMissing: release(lease)
    }
  }

  /// Stores what the request wants to have stored.
  private mutating func store(_ picture: DecodedPicture, for lease: LeaseID) {
    let task = tasks[lease]
    guard !task.isCancelled else { return finish(lease, with: .cancelled) }
    let maker = RecordMaker(task.order, body: task.sourceBody, picture: picture)
    let outcome = maker.outcome(bytesFetched: task.bytesFetched)
    let thumbnails = maker.thumbnailRecords(at: now.wall)
    guard maker.isStored else {
      guard let thumbnail = thumbnails.first else { return finish(lease, with: outcome) }
      return deliver(thumbnail, for: lease, refused: nil)
    }
    var records = task.order.request.keep.includesResult ? thumbnails : []
    let body = transfers.bodyToStore(of: lease)
    let includesOriginal = task.order.request.keep.includesOriginal
    let hasOriginal = body != nil || task.order.isUpload
    let keepsSpare = body != nil && maker.keepsSpare(upTo: autoOriginalByteCount)
    if keepsSpare || includesOriginal && hasOriginal { records.append(maker.originalRecord) }
    let storedBody = keepsSpare || includesOriginal ? body : nil
    let storing = FetchTask.Storing(
      outcome: outcome, thumbnail: thumbnails.first, storesBody: storedBody != nil,
      since: now.instant)
    tasks.update(lease) { $0.stage = .storing(storing) }
    if storedBody == nil { detach(lease) }
    effects.append(
      .put(
        StoreRequest(
          order: task.order, records: records, body: storedBody,
          extendsOriginal: includesOriginal && !hasOriginal)))
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
      if storing.storesBody {
        transfers.update(transfers.transfer(of: lease)) { $0.bodyStored() }
      }
      finish(lease, with: storing.outcome)
    case .refused(let refusal):
      guard let thumbnail = storing.thumbnail else {
        return finish(
          lease, with: .failed(refusal.failure), isStoreDegraded: refusal.isStoreDegraded)
      }
      deliver(thumbnail, for: lease, refused: refusal)
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
      thumbnail: thumbnail.picture, source: thumbnail.source, failure: refusal?.failure,
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

/// The records to store for a lease: all of them or none.
package struct StoreRequest: Hashable, Sendable {
  package let order: FetchOrder
  package let records: [NewRecord]
  /// The transfer whose body is the original among the records; `nil` if there is no original, or it
  /// was uploaded.
  package let body: TransferID?
  /// Whether the store has the original already, which is to be kept for as long as the order asks, and
  /// pinned.
  package let extendsOriginal: Bool
}

/// A record on its way into the store. The driver has its bytes.
package struct NewRecord: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// Of the request's variant with this index.
    case thumbnail(Int)
    case original
  }

  package let kind: Kind
  package let picture: Thumbnail
  /// The picture that it was made from, with the bytes of bodies that the origin sent for it; an original
  /// itself.
  package let source: SourcePicture
  package let retention: Retention
  package let terms: ReuseTerms
  /// Whether the record of the other kind goes, because it is of another picture.
  package let replacesOther: Bool
  /// Whether it is an original that is kept where that is cheap: it is evicted first, and the other records are
  /// stored without it if it has no room.
  package let isSpare: Bool
  /// Whether such an original of the URL goes, because it is of an earlier body.
  package let outdatesSpare: Bool
}

/// A decoded picture and what was asked of it: what is stored of it, and what is reported.
struct RecordMaker {
  let order: FetchOrder
  let body: SourceBody
  let picture: DecodedPicture

  init(_ order: FetchOrder, body: SourceBody, picture: DecodedPicture) {
    self.order = order
    self.body =
      picture.localByteCount.map { SourceBody.local(byteCount: $0) } ?? body
    self.picture = picture
  }

  /// Whether anything is stored. A picture whose origin forbids storing it is stored nevertheless,
  /// unless the request obeys that.
  var isStored: Bool {
    let isForbidden = order.request.obeysNoStore && body.reuse?.isStorable == false
    return order.request.keep != .none && !order.request.bypassesStore && !isForbidden
  }

  /// Whether the original is kept because that is cheap.
  func keepsSpare(upTo maximumByteCount: Int) -> Bool {
    guard order.request.keep == .auto, let reuse = body.reuse else { return false }
    return reuse.isStorable && !reuse.isPrivate && picture.original == nil
      && body.byteCount <= maximumByteCount
  }

  /// What is reported: the thumbnail or, if only the original is wanted, the original.
  func outcome(bytesFetched: Int) -> Outcome {
    let reported =
      order.request.keep.isOriginalAlone
      ? picture.original?.thumbnail ?? original : picture.thumbnail
    return .done(reported, fromCache: picture.original != nil, bytesFetched: bytesFetched)
  }

  /// The one that is reported first; none of a picture that was not decoded.
  func thumbnailRecords(at now: WallTime) -> [NewRecord] {
    guard picture.source.decodePath != .undecoded else { return [] }
    return ([picture.thumbnail] + picture.otherThumbnails).enumerated().map { index, thumbnail in
      record(of: thumbnail, index, at: now)
    }
  }

  private func record(of thumbnail: Thumbnail, _ index: Int, at now: WallTime) -> NewRecord {
    NewRecord(
      kind: .thumbnail(index), picture: thumbnail,
      source: SourcePicture(
        picture.source, byteCount: picture.original?.source.byteCount ?? body.receivedByteCount,
        thumbHash: picture.thumbHash),
      retention: thumbnailRetention(at: now),
      terms: body.reuse?.terms ?? picture.original?.terms ?? .none,
      replacesOther: index == 0 && replacesOther(if: .thumbnail, .auto), isSpare: false,
      outdatesSpare: index == 0 && body.reuse != nil && picture.original == nil)
  }

  var originalRecord: NewRecord {
    let isSpare = order.request.keep == .auto
    return NewRecord(
      kind: .original, picture: original,
      source: SourcePicture(picture.source, byteCount: body.receivedByteCount, thumbHash: nil),
      retention: isSpare ? order.retention.withoutPins : order.retention,
      terms: body.reuse?.terms ?? .none,
      replacesOther: replacesOther(if: .original, .undecodedOriginal),
      isSpare: isSpare, outdatesSpare: false)
  }

  /// A body, described as what it is: a picture in its own size.
  private var original: Thumbnail {
    Thumbnail(
      format: picture.source.format, width: picture.source.width, height: picture.source.height,
      byteCount: body.byteCount, isDamaged: picture.thumbnail.isDamaged)
  }

  /// An uploaded picture replaces the record that is not stored with it: that one is of whatever the
  /// URL had before.
  private func replacesOther(if policies: Keep...) -> Bool {
    order.isUpload && policies.contains(order.request.keep)
  }

  /// Durations count from the download, also if that was long ago. Then the thumbnail is kept as long
  /// from now on, but for that reason not longer than its original.
  private func thumbnailRetention(at now: WallTime) -> Retention {
    // A confirmation by the origin counts as a download.
    guard let original = picture.original, body.reuse == nil else { return order.retention }
    let fromDownload = order.retention.expiresAt(storedAt: original.storageTime)
    let fromNow = order.retention.expiresAt(storedAt: now)
    return Retention(
      until: max(fromDownload, min(fromNow, original.expiryTime)),
      sliding: order.retention.sliding, pins: order.retention.pins)
  }
}

/// What came of a decode.
package enum DecodeEnd: Hashable, Sendable {
  /// The driver holds the bytes of the thumbnail while this event is handled.
  case picture(DecodedPicture)
  case failed(Failure)
  /// It was cancelled before its turn.
  case cancelled
  /// The original is no longer in the store, or is not an image.
  case sourceMissing
}

/// What is known of thumbnails and of the picture that they were made from.
package struct DecodedPicture: Hashable, Sendable {
  /// The one that is reported; of a picture that was not decoded, that picture.
  package let thumbnail: Thumbnail
  /// Those of the request's other variants, in their order.
  package let otherThumbnails: [Thumbnail]
  package let source: SourceFacts
  /// `nil` if the picture was not decoded, but its facts were read.
  package let thumbHash: ThumbHash?
  /// The original of the store, if it was made from that.
  package let original: CacheRecord?
  /// Bytes of the picture, if they were read from a file or from the URL.
  package let localByteCount: Int?

  package init(
    thumbnail: Thumbnail, otherThumbnails: [Thumbnail] = [], source: SourceFacts,
    thumbHash: ThumbHash? = nil, original: CacheRecord? = nil, localByteCount: Int? = nil
  ) {
    self.thumbnail = thumbnail
    self.otherThumbnails = otherThumbnails
    self.source = source
    self.thumbHash = thumbHash
    self.original = original
    self.localByteCount = localByteCount
  }
}
