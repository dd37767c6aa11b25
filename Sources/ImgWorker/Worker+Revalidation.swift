import ImgFetch
import ImgModel
import ImgStore

/// Stale pictures of the store: asked about at their origin (RFC 9111 section 4.3), or used all the
/// same because the origin fails (RFC 5861 section 4).
extension Worker {
  /// What the store has for a lease that follows HTTP, fresh or not.
  private func storedAnswer(for fetch: Fetch) -> StoredAnswer? {
    guard fetch.cachePolicy == .byProtocol, !fetch.bypassesStore else { return nil }
    let keys = [
      ContentKey(fetch.name, variant: fetch.variant), ContentKey(originalOf: fetch.name),
    ]
    // A store that cannot be read has nothing.
    guard let found = try? store.current().facts(of: keys, at: wallTime) else { return nil }
    return StoredAnswer(fetch.keep, thumbnail: found[0], original: found[1])
  }

  /// What the origin is asked about; `nil` when it is to send the picture in any case.
  func validators(for fetch: Fetch) -> Validators? {
    // What is known by a key in place of its URL may be another URL's.
    guard fetch.options.cacheKey == nil else { return nil }
    return storedAnswer(for: fetch).flatMap(Self.validators(of:))
  }

  /// Those that all of its records have.
  private static func validators(of answer: StoredAnswer) -> Validators? {
    let validators = answer.records.map { Validators($0.terms) }
    guard let first = validators.first ?? nil,
      validators.allSatisfy({ $0?.isSame(as: first) == true })
    else { return nil }
    return first
  }

  /// What was asked about still holds: those whose answer it is have it renewed. The others are
  /// lost, as there is no body.
  func settle(_ notModified: NotModified, of id: LeaseID) {
    guard notModified.matchesCondition else { return refetch(id) }
    let leases = transfers.end(id)
    transferred += leases
    for lease in leases {
      guard let fetch = fetches[lease], let answer = storedAnswer(for: fetch),
        Self.validators(of: answer)?.isSame(as: notModified.validators) == true
      else {
        lose(lease)
        continue
      }
      renew(answer, for: fetch, as: notModified)
    }
  }

  /// The same transfer again, without a condition, because the answer to that makes no sense.
  private func refetch(_ id: LeaseID) {
    guard let fetch = transfers.lease(of: id).flatMap({ fetches[$0] }) else { return }
    pool.start(id.rawValue, url: fetch.url, as: fetch.options, begunAt: fetch.begunAt)
  }

  /// A thumbnail is told once it counts as stored anew; one that is to be made is made.
  private func renew(_ answer: StoredAnswer, for fetch: Fetch, as notModified: NotModified) {
    let renewals = answer.records.map { record in
      Renewal(
        of: record, terms: notModified.terms(of: record.terms), retention: fetch.retention)
    }
    if let thumbnail = answer.thumbnail {
      fetches[fetch.lease]?.outcome = .done(thumbnail, fromCache: true, bytesFetched: 0)
      storeThread.renew(StoreRenewal(lease: fetch.lease, renewals: renewals))
    } else if let original = renewals.first {
      fetches[fetch.lease]?.reuse = AnswerReuse(terms: original.terms, isStorable: true)
      storeThread.renew(StoreRenewal(lease: nil, renewals: renewals))
      decode(.original(ContentKey(originalOf: fetch.name)), for: fetch)
    }
  }

  /// The thumbnail that a lease is served with although its transfer has failed, because its origin
  /// allows that; `nil` where it does not, or the thumbnail is still to be made. It is kept for as
  /// long as the lease asks, like one that a look-up finds, but not waited for.
  func staleThumbnail(for lease: LeaseID, after failure: Failure) -> Thumbnail? {
    let now = wallTime
    guard failure.permitsStale, let fetch = fetches[lease], let answer = storedAnswer(for: fetch),
      let thumbnail = answer.thumbnail, answer.isServedAfterError(at: now)
    else { return nil }
    storeThread.extend(
      answer.records.filter { $0.extended(by: fetch.retention, at: now) != nil }
        .map { ThumbnailAccess(key: $0.key, retention: fetch.retention, at: now) })
    return thumbnail
  }
}
