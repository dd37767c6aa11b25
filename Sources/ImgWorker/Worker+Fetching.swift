import ImgFetch
import ImgStore
import ImgSystem
import ImgWire

/// From an assignment to a body, and from there to the decoder.
extension Worker {
  /// Begins a transfer for each assignment.
  func fetch(_ batch: Batch) {
    for fetch in admit(batch) {
      transfers.begin(fetch.lease, name: fetch.name)
      pool.start(fetch.lease.rawValue, url: fetch.url)
    }
  }

  /// Puts each assignment on a transfer of its URL, or has it made from the URL's original, or from
  /// the URL itself.
  func ride(_ batch: Batch) {
    for fetch in admit(batch) {
      switch transfers.ride(fetch.lease, name: fetch.name) {
      case .receiving: break
      case .holding(let share): decode(share)
      case .gone where fetch.url.isLocal: decodeData(of: fetch)
      case .gone where hasOriginal(of: fetch.name):
        decode(.original(ContentKey(originalOf: fetch.name)), for: fetch)
      case .gone: lose(fetch.lease)
      }
    }
  }

  /// Decodes the picture that the URL holds.
  private func decodeData(of fetch: Fetch) {
    do throws(Failure) {
      guard let bytes = try DataURL.contents(of: fetch.url) else { return lose(fetch.lease) }
      guard bytes.count <= bodyMaximumByteCount else {
        throw Failure(
          stage: .fetch, code: .tooLarge,
          detail: "the data: URL holds \(bytes.count) bytes; \(bodyMaximumByteCount) are the most")
      }
      fetches[fetch.lease]?.holdBody(byteCount: bytes.count)
      decode(.body(bytes), for: fetch)
    } catch {
      end(fetch.lease, with: .failed(error))
    }
  }

  /// Decodes what was handed in.
  func decode(_ picture: HandedInPicture, in file: MemoryFile) {
    do throws(Failure) {
      let fetch = try Fetch(picture)
      fetches[fetch.lease] = fetch
      decode(
        .handedIn(file, byteCount: picture.byteCount, isKept: fetch.keep.includesOriginal),
        for: fetch)
    } catch {
      end(picture.lease, with: .failed(error))
    }
  }

  /// The lease is over without a result: what it was to be made from is not there.
  func lose(_ lease: LeaseID) {
    fetches[lease] = nil
    gone.append(lease)
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
    let id = LeaseID(rawValue: transfer.id)
    switch transfer.result {
    case .success(let fetched):
      let shares = transfers.receive(
        SharedTransfer.Body(
          bytes: fetched.bytes, heldByteCount: fetched.heldByteCount,
          receivedByteCount: transfer.bytesReceived),
        by: id)
      transferred += shares.map(\.lease)
      shares.forEach(decode)
    case .failure(let failure):
      // Seconds that would overflow as milliseconds are a wish for ever.
      let retryAfter = transfer.retryAfterSeconds.map { min($0, Int64(Int32.max)) * 1_000 }
      for lease in transfers.fail(id) {
        end(
          lease, with: .failed(failure), retryAfterMilliseconds: retryAfter,
          wasRedirected: transfer.wasRedirected)
      }
    }
  }

  private func decode(_ share: SharedTransfer.Share) {
    guard let fetch = fetches[share.lease] else { return }
    fetches[share.lease]?.bytesFetched = share.bytesFetched
    fetches[share.lease]?.sourceByteCount = share.body.receivedByteCount
    fetches[share.lease]?.bodyByteCount = share.body.bytes.count
    decode(.body(share.body.bytes), for: fetch)
  }

  private func decode(_ source: DecodeSource, for fetch: Fetch) {
    decodeThread.submit(
      DecodeJob(
        lease: fetch.lease, source: source, variant: fetch.variant, isUrgent: fetch.isUrgent,
        cancellation: fetch.cancellation))
  }
}
