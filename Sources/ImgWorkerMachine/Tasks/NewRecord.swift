package import ImgModel

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
  /// The picture that it was made from; an original's own facts.
  package let source: SourceFacts
  /// Of the picture that a thumbnail was made from; `nil` for any other record.
  package let thumbHash: ThumbHash?
  /// Bytes of bodies that the origin sent for it.
  package let sourceByteCount: Int64
  package let retention: Retention
  package let terms: ReuseTerms
  /// Whether the record of the other kind goes, because it is of another picture.
  package let replacesOther: Bool
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
  /// unless the request follows HTTP.
  var isStored: Bool {
    let isForbidden = order.options.cachePolicy == .byProtocol && body.reuse?.isStorable == false
    return order.request.keep != .none && !order.request.bypassesStore && !isForbidden
  }

  /// What is reported: the thumbnail or, if only the original is wanted, the original.
  func outcome(bytesFetched: Int) -> Outcome {
    let reported =
      order.request.keep == .original
      ? picture.original?.picture ?? original : picture.thumbnail
    return .done(reported, fromCache: picture.original != nil, bytesFetched: bytesFetched)
  }

  /// The one that is reported first.
  func thumbnailRecords(at now: WallTime) -> [NewRecord] {
    ([picture.thumbnail] + picture.otherThumbnails).enumerated().map { index, thumbnail in
      record(of: thumbnail, index, at: now)
    }
  }

  private func record(of thumbnail: Thumbnail, _ index: Int, at now: WallTime) -> NewRecord {
    NewRecord(
      kind: .thumbnail(index), picture: thumbnail, source: picture.source,
      thumbHash: picture.thumbHash,
      sourceByteCount: picture.original?.sourceByteCount ?? Int64(body.receivedByteCount),
      retention: thumbnailRetention(at: now),
      terms: body.reuse?.terms ?? picture.original?.terms ?? .none,
      replacesOther: index == 0 && replacesOther(if: .thumbnail))
  }

  var originalRecord: NewRecord {
    NewRecord(
      kind: .original, picture: original, source: picture.source, thumbHash: nil,
      sourceByteCount: Int64(body.receivedByteCount), retention: order.retention,
      terms: body.reuse?.terms ?? .none, replacesOther: replacesOther(if: .original))
  }

  /// A body, described as what it is: a picture in its own size.
  private var original: Thumbnail {
    Thumbnail(
      format: picture.source.format, width: picture.source.width, height: picture.source.height,
      byteCount: body.byteCount, isDamaged: picture.thumbnail.isDamaged)
  }

  /// An uploaded picture replaces the record that is not stored with it: that one is of whatever the
  /// URL had before.
  private func replacesOther(if only: Keep) -> Bool {
    order.isUpload && order.request.keep == only
  }

  /// Durations count from the download, also if that was long ago. Then the thumbnail is kept as long
  /// from now on, but for that reason not longer than its original.
  private func thumbnailRetention(at now: WallTime) -> Retention {
    // A confirmation by the origin counts as a download.
    guard let original = picture.original, body.reuse == nil else { return order.retention }
    let fromDownload = order.retention.expiresAt(storedAt: original.storedAt)
    let fromNow = order.retention.expiresAt(storedAt: now)
    return Retention(
      until: max(fromDownload, min(fromNow, original.expiresAt)),
      sliding: order.retention.sliding, pins: order.retention.pins)
  }
}
