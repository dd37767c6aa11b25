import ImgModel
import ImgWire

/// Pictures that are at hand: they need a decoder, or their bodies are gone.
extension Scheduler {
  /// A look-up has found the original of the item's URL, or nothing has to be fetched: it needs a
  /// decoder.
  mutating func awaitDecode(_ id: WorkID) {
    if let failure = reasonNotToDecode(work.item(id)) { return fail([(id, failure)]) }
    jobs.assignStartTags(to: id, in: &work)
    // Crashes of the decoder over the original are attributed to its source.
    fetches.sources.join(id, in: &work)
    guard wait(id, in: .awaitingDecode) else { return }
    guard !isCrowded(work.item(id)) else { return sendBack(id) }
    work.queueDecode(id)
  }

  /// The bodies that these were to be made from, or the originals, are gone.
  mutating func released(_ gone: [LeaseID], by worker: WorkerID) {
    for lease in gone {
      fetches.stopJoining(ofLease: lease, by: worker)
      guard let item = fetches.end(lease, of: worker, in: &workers, at: now.instant) else {
        continue
      }
      routeMiss(item)
    }
  }

  /// A transfer whose leases all belong to aborted items cannot be joined.
  mutating func stopJoiningAborted(_ id: TransferID) {
    let isAborted = fetches.transfers[id]?.leases.allSatisfy { lease in
      fetches.leases[lease].flatMap { work[$0.item] }?.waiters.isEmpty ?? true
    }
    if isAborted == true { fetches.stopJoining(id) }
  }
}

/// Pictures that end decoders: which are left alone for a while, see ``RememberedFailures`` and ``CrashBudget``.
extension Scheduler {
  /// The picture of an item was decoded, or could not be.
  mutating func noteDecode(of item: WorkItem, _ outcome: Outcome) {
    guard item.needsDecoder else { return }
    switch outcome {
    case .failed(let failure, _) where failure.isOfCrash:
      guard !item.url.isLocal else { return }
      _ = fetches.sources.remember(failure, of: item.decodeSubject, at: now.instant)
      if item.jobs.isEmpty { crashBudget.note(item.host, at: now.instant) }
    case .done(_, fromCache: false, _): fetches.sources.forgetFailure(of: item.decodeSubject)
    default: break
    }
  }

  /// Why the picture of an item is not decoded now; `nil` when it is.
  func reasonNotToDecode(_ item: WorkItem) -> Failure? {
    guard !item.url.isLocal, !item.key.isRevalidation, item.needsDecoder else { return nil }
    if let memory = fetches.sources.memory(of: item.decodeSubject, at: now.instant),
      isAnswered(item, by: memory, where: { $0 != .reload })
    {
      return memory.failure.remembered(for: now.instant - memory.since)
    }
    guard item.isOfNoJob,
      let end = crashBudget.spentUntil(item.host, at: now.instant)
    else { return nil }
    let group = HostGroup.name(of: item.host)
    return Failure(
      stage: .decode, code: .decodeCrash, isRetryable: true, retryAt: timeline.wall(end),
      detail: "\(CrashBudget.maximumCount) pictures of \(group) have ended decoders within "
        + "\(CrashBudget.period.components.seconds) s, and its others are not decoded for a while")
  }
}

extension WorkItem {
  /// Whether a decoder reads its picture: the header of one is read without.
  fileprivate var needsDecoder: Bool { key.request.keep != .undecodedOriginal }

  /// What it is a decode of.
  fileprivate var decodeSubject: RememberedFailures.Subject {
    .init(name: key.name, variants: [key.request.variant] + key.request.otherVariants)
  }
}
