import ImgModel

/// Pictures that end decoders: which are left alone for a while, see ``RememberedFailures`` and ``CrashBudget``.
extension Scheduler {
  /// The picture of an item was decoded, or could not be.
  mutating func noteDecode(of item: WorkItem, _ outcome: Outcome) {
    switch outcome {
    case .failed(let failure, _) where failure.isOfCrash:
      guard !item.url.isLocal else { return }
      _ = sources.remember(failure, of: item.decodeSubject, at: now.instant)
      if item.jobs.isEmpty { crashBudget.note(item.host, at: now.instant) }
    case .done(_, fromCache: false, _): sources.forgetFailure(of: item.decodeSubject)
    default: break
    }
  }

  /// Why the picture of an item is not decoded now; `nil` when it is.
  func reasonNotToDecode(_ item: WorkItem) -> Failure? {
    guard !item.url.isLocal, !item.key.isRevalidation else { return nil }
    if let memory = sources.memory(of: item.decodeSubject, at: now.instant),
      isAnswered(item, by: memory, where: { $0 != .reload })
    {
      return memory.failure.remembered(for: now.instant - memory.since)
    }
    guard item.jobs.isEmpty,
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
  /// What it is a decode of.
  fileprivate var decodeSubject: RememberedFailures.Subject {
    .init(name: key.name, variants: [key.request.variant] + key.request.otherVariants)
  }
}
