import ImgFetch
import ImgModel
import ImgStore
import ImgSystem
import ImgWire

/// From an assignment to a body, and from there to the decoder.
extension Worker {
  /// Begins a transfer for each assignment.
  func fetch(_ batch: Batch) {
    for fetch in admit(batch) {
      transfers.begin(
        fetch.lease, name: fetch.name, judgesRedirects: fetch.options.respectsRobots)
      consultRobots(for: fetch, then: .fetch)
    }
  }

  /// Begins the transfer that is named by the lease, from what an earlier one left.
  func start(_ fetch: Fetch) {
    pool.start(
      fetch.lease.rawValue, url: fetch.url, as: fetch.options, resuming: partialBody(of: fetch),
      unlessMatching: validators(for: fetch), begunAt: fetch.begunAt)
  }

  /// Puts each assignment on a transfer of its URL, or has it made from the URL's original, or from
  /// the URL itself.
  func attach(_ batch: Batch) {
    for fetch in admit(batch) {
      // What is at hand needs nobody's leave.
      guard transfers.hasTransfer(of: fetch.name) else {
        board(fetch)
        continue
      }
      consultRobots(for: fetch, then: .attach)
    }
  }

  /// Goes on with what may be ridden on, or is at hand.
  func board(_ fetch: Fetch) {
    switch transfers.attach(fetch.lease, name: fetch.name) {
    case .receiving: break
    case .holding(let share): decode(share)
    case .gone where fetch.url.isLocal: decodeLocal(fetch)
    case .gone where hasOriginal(for: fetch):
      decode(.original(ContentKey(originalOf: fetch.name)), for: fetch)
    case .gone: lose(fetch.lease)
    }
  }

  /// Decodes the file that the URL names, or the picture that it holds.
  private func decodeLocal(_ fetch: Fetch) {
    do throws(Failure) {
      if let path = try FileURL.path(of: fetch.url.text) { return decode(.file(path), for: fetch) }
      guard let bytes = try DataURL.contents(of: fetch.url) else { return lose(fetch.lease) }
      guard bytes.count <= bodyMaximumByteCount else {
        throw Failure(
          stage: .fetch, code: .tooLarge,
          detail: "the data: URL holds \(bytes.count) bytes; \(bodyMaximumByteCount) are the most")
      }
      fetches[fetch.lease]?.holdBody(byteCount: bytes.count)
      decode(.body(.memory(bytes)), for: fetch)
    } catch {
      end(fetch.lease, with: .failed(error))
    }
  }

  /// Decodes what was uploaded.
  func decode(_ picture: Upload, in file: MemoryFile) {
    do throws(Failure) {
      let fetch = try Fetch(picture)
      fetches[fetch.lease] = fetch
      decode(
        .uploaded(file, byteCount: picture.byteCount, isKept: fetch.keep.includesOriginal),
        for: fetch)
    } catch {
      end(picture.lease, with: .failed(error))
    }
  }

  /// The lease is over without a result: what it was to be made from is not there.
  func lose(_ lease: LeaseID) {
    fetches[lease] = nil
    released.append(lease)
  }

  /// Keeps the assignments that name a URL; the others have failed.
  private func admit(_ batch: Batch) -> [Fetch] {
    batch.items.compactMap { item in
      do throws(Failure) {
        let fetch = try Fetch(item, of: batch)
        fetches[fetch.lease] = fetch
        return fetch
      } catch {
        end(item.lease, with: .failed(error))
        return nil
      }
    }
  }

  /// The transfer has ended.
  func settle(_ transfer: FinishedTransfer) {
    guard !settleRobots(transfer) else { return }
    let id = LeaseID(rawValue: transfer.id)
    // Who gives out the leases has heard why, and gives them out again later.
    guard !transfer.isDeferred else { return transfers.end(id).forEach(lose) }
    if let notModified = transfer.notModified { return settle(notModified, of: id) }
    switch transfer.result {
    case .success(let fetched):
      let shares = transfers.receive(
        SharedTransfer.Body(
          content: fetched.content, charge: fetched.charge,
          receivedByteCount: transfer.bytesReceived, freshByteCount: transfer.freshByteCount,
          reuse: fetched.reuse,
          timings: transfer.timings, optOut: fetched.optOut,
          isFromRedirect: transfer.wasRedirected),
        by: id)
      transferred += shares.map(\.lease)
      if case .obsolete = transfer.leftover, let fetch = shares.first.flatMap({ fetches[$0.lease] })
      {
        storeThread.removePartial(of: fetch.name)
      }
      shares.forEach(decode)
    case .failure(let failure):
      // As with a body, one lease counts the bytes.
      if let lease = transfers.lease(of: id) {
        fetches[lease]?.bytesFetched = transfer.freshByteCount
      }
      settle(failure, of: transfer, id)
    }
  }

  private func settle(_ failure: Failure, of transfer: FinishedTransfer, _ id: LeaseID) {
    switch failure.code {
    case .optedOut:
      fail(id, with: failure) { $0.respectsOptOut }
    default:
      let leases = transfers.end(id)
      for lease in leases { fetches[lease]?.timings = transfer.timings }
      let broken = BrokenTransfer(
        leases: leases, failure: failure, wasRedirected: transfer.wasRedirected)
      settle(broken, id, leaving: transfer.leftover)
    }
  }

  /// Ends a transfer for the sake of those who respect what its origin says. Others rode on it, and
  /// get one of their own.
  func fail(
    _ id: LeaseID, with failure: Failure, wasRedirected: Bool = false,
    concerning isConcerned: (FetchOptions) -> Bool
  ) {
    for lease in transfers.end(id) {
      guard let fetch = fetches[lease], isConcerned(fetch.options) else {
        lose(lease)
        continue
      }
      end(lease, with: .failed(failure), wasRedirected: wasRedirected)
    }
  }

  private func decode(_ share: SharedTransfer.Share) {
    guard let fetch = fetches[share.lease] else { return }
    fetches[share.lease]?.bytesFetched = share.bytesFetched
    if let refusal = share.body.optOut, fetch.options.respectsOptOut {
      end(share.lease, with: .failed(refusal))
      return releaseBody(of: share.lease)
    }
    // Nobody has judged the redirects of a transfer that was begun for somebody who does not mind.
    guard !share.isUnjudged || !fetch.options.respectsRobots else {
      lose(share.lease)
      return releaseBody(of: share.lease)
    }
    fetches[share.lease]?.sourceByteCount = share.body.receivedByteCount
    fetches[share.lease]?.bodyByteCount = share.body.content.byteCount
    fetches[share.lease]?.timings = share.body.timings
    fetches[share.lease]?.reuse = share.body.reuse
    decode(.body(share.body.content), for: fetch)
  }

  func decode(_ source: DecodeSource, for fetch: Fetch) {
    decodeThread.submit(
      DecodeJob(
        lease: fetch.lease, source: source, variant: fetch.variant, isUrgent: fetch.isUrgent,
        cancellation: fetch.cancellation))
  }
}
