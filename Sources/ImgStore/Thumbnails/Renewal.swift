package import ImgModel

/// A record that its origin was asked about and that still holds: it counts as stored anew, on new
/// terms.
package struct Renewal: Sendable {
  /// As it was when the origin was asked.
  let record: StoredThumbnail
  package let terms: ReuseTerms
  /// Its durations count from the moment of the renewal.
  let retention: Retention

  package init(of record: StoredThumbnail, terms: ReuseTerms, retention: Retention) {
    self.record = record
    self.terms = terms
    self.retention = retention
  }

  /// Whether a record is the one that the origin was asked about, whether or not somebody else has
  /// renewed it meanwhile.
  func concerns(_ found: StoredThumbnail) -> Bool {
    found.thumbnail == record.thumbnail
      && [record.terms.fields, terms.fields].contains(found.terms.fields)
  }

  /// The record with these bytes, on its way into the store again.
  func renewed(bytes: [UInt8]) -> NewThumbnail {
    NewThumbnail(
      key: record.key, url: record.url, thumbnail: record.thumbnail,
      sourceFormat: record.sourceFormat, sourceWidth: record.sourceWidth,
      sourceHeight: record.sourceHeight, sourceByteCount: record.sourceByteCount,
      retention: retention, terms: terms, bytes: bytes)
  }
}

extension ThumbnailTables {
  /// Puts a record anew. One that has gone, has expired or was replaced by another picture stays as
  /// it is.
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
