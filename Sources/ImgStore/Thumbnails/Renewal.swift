package import ImgModel

/// The result of a successful revalidation: the record counts as stored now, with new terms.
package struct Renewal: Sendable {
  /// The record at the time of the revalidation request.
  let record: StoredThumbnail
  package let terms: ReuseTerms
  /// Its durations count from the renewal.
  let retention: Retention

  package init(of record: StoredThumbnail, terms: ReuseTerms, retention: Retention) {
    self.record = record
    self.terms = terms
    self.retention = retention
  }

  /// The same, pinned by no job.
  package var withoutPins: Renewal {
    Renewal(of: record, terms: terms, retention: retention.withoutPins)
  }

  /// Whether `found` is the revalidated record, possibly renewed by another process meanwhile.
  func concerns(_ found: StoredThumbnail) -> Bool {
    found.thumbnail == record.thumbnail
      && [record.terms.fields, terms.fields].contains(found.terms.fields)
  }

  /// The record to store again, with these bytes.
  func renewed(bytes: [UInt8]) -> NewThumbnail {
    NewThumbnail(
      key: record.key, url: record.url, thumbnail: record.thumbnail,
      sourceFormat: record.sourceFormat, sourceWidth: record.sourceWidth,
      sourceHeight: record.sourceHeight, decodePath: record.decodePath,
      thumbHash: record.thumbHash, sourceByteCount: record.sourceByteCount,
      retention: retention, terms: terms, bytes: bytes)
  }
}

extension ThumbnailTables {
  /// Stores a record again. Does nothing if it was removed, has expired or was replaced by another
  /// picture.
  ///
  /// - Returns: whether it was renewed.
  func renew(
    _ renewal: Renewal, at now: WallTime, _ transaction: borrowing Transaction,
    counting counters: inout StoreCounters
  ) throws(StoreError) -> Bool {
    let key = renewal.record.key
    let found = try withRecord(of: key, transaction) { record -> NewThumbnail? in
      guard let facts = ThumbnailRecord.verifiedFacts(of: record, key: key),
        !facts.isExpired(at: now), renewal.concerns(facts)
      else { return nil }
      return renewal.renewed(bytes: record.extracting(last: facts.thumbnail.byteCount).copy())
    }
    guard let renewed = found ?? nil else { return false }
    try put(renewed, at: now, transaction, counting: &counters)
    return true
  }
}
