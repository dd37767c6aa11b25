import ImgDecode
import ImgFetch
import ImgModel
import ImgStore
import ImgSystem
import ImgTransport

/// From a decoded picture to the store, and from there to the result.
extension Worker {
  /// The picture is decoded.
  func settle(_ decode: DecodeResult) {
    var isBodyInUse = false
    decode.fileByteCount.map { fetches[decode.lease]?.holdBody(byteCount: $0) }
    fetches[decode.lease]?.timings.decode = decode.time?.roundedMilliseconds
    switch decode.end {
    case .decoded(let rendered, let original, let uploaded):
      isBodyInUse = keep(
        rendered, original: original, uploaded: uploaded, lease: decode.lease)
    case .failed(let failure): end(decode.lease, with: .failed(failure))
    case .cancelled: end(decode.lease, with: .cancelled)
    case .gone: lose(decode.lease)
    }
    if !isBodyInUse { releaseBody(of: decode.lease) }
  }

  /// Hands the store what is to be kept.
  ///
  /// - Returns: whether the body is among it.
  private func keep(
    _ rendered: RenderedThumbnail, original: StoredThumbnail?, uploaded: [UInt8]?, lease: LeaseID
  ) -> Bool {
    guard let fetch = fetches[lease] else { return false }
    guard !fetch.cancellation.isSet else {
      end(lease, with: .cancelled)
      return false
    }
    let thumbnail = fetch.thumbnail(rendered, original: original, at: wallTime)
    guard fetch.isKept else {
      handOver(thumbnail, of: fetch, refused: nil)
      return false
    }
    let body: [UInt8]?
    do throws(SystemError) {
      body = if let uploaded { uploaded } else { try keptBody(of: fetch) }
    } catch {
      let detail = "the body cannot be read: \(error)"
      end(lease, with: .failed(Failure(stage: .store, code: .internal, detail: detail)))
      return false
    }
    var kept = fetch.keep.includesThumbnail ? [thumbnail] : []
    if let body { kept.append(fetch.original(body, of: rendered.source)) }
    let outcome = fetch.outcome(of: rendered, original: original)
    if kept.isEmpty {
      end(lease, with: outcome)
    } else {
      fetches[lease]?.outcome = outcome
      fetches[lease]?.putAt = .now
      storeThread.put(StorePut(lease: lease, kept: kept, thumbnail: thumbnail))
    }
    return body != nil
  }

  /// The body that the lease is to keep; `nil` when it keeps none, or the store has it.
  private func keptBody(of fetch: Fetch) throws(SystemError) -> [UInt8]? {
    guard fetch.keep.includesOriginal else { return nil }
    if let body = transfers.unkeptBody(of: fetch.lease) { return try body.content.bytes() }
    // It is kept for as long as either wants.
    storeThread.extend([
      ThumbnailAccess(
        key: ContentKey(originalOf: fetch.name), retention: fetch.retention, at: wallTime)
    ])
    return nil
  }

  func releaseBody(of lease: LeaseID) {
    if let charge = transfers.release(lease) { pool.releaseBody(charge) }
  }

  /// What is to be kept is in the store, or cannot be.
  func settle(_ write: StoreResult) {
    defer { releaseBody(of: write.lease) }
    let time = fetches[write.lease]?.putAt.map { .now - $0 }
    fetches[write.lease]?.timings.store = time?.roundedMilliseconds
    guard let fetch = fetches[write.lease] else { return }
    switch write.ending {
    case .refused(let thumbnail, let refusal):
      handOver(thumbnail, of: fetch, refused: refusal)
    case .gone: lose(write.lease)
    case .stored:
      if fetch.keep.includesOriginal { transfers.noteKept(by: write.lease) }
      fetch.outcome.map { end(write.lease, with: $0) }
    }
  }

  private func handOver(
    _ thumbnail: NewThumbnail, of fetch: Fetch, refused refusal: StoreRefusal?
  ) {
    handovers.append(
      Handover(
        lease: fetch.lease, thumbnail: thumbnail, bytesFetched: fetch.bytesFetched,
        refusal: refusal, timings: fetch.timings))
  }

  /// Sends what is not in the store, as far as the coordinator keeps up with the files.
  func handOver() throws(ChannelError) {
    var count = 0
    for handover in handovers {
      guard channel.takesFile else { break }
      count += 1
      let file: MemoryFile
      do throws(SystemError) {
        file = try MemoryFile(containing: handover.thumbnail.bytes)
      } catch {
        end(handover.lease, with: handover.outcome(becauseOf: error))
        continue
      }
      fetches[handover.lease] = nil
      try channel.send(handover.message, with: file)
    }
    handovers.removeFirst(count)
  }
}
