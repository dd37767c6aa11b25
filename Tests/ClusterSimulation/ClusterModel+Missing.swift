import ImgModel
import ImgScheduler
import ImgWire

/// Pictures that are not there, as far as the scheduler has heard: it asks for none of them again
/// while that is remembered, but for those who want just that.
extension ClusterModel {
  /// To be told of an event before the scheduler is.
  func noteMissing(_ event: Event) {
    switch event {
    case .workerFinished(let worker, let results):
      for result in results.results where result.outcome.isOfMissingPicture {
        guard let transfer = transfer(of: result.lease, by: worker), transfer.isRetried == nil
        else { continue }
        scheduler.sources[transfer.source].map { missing[$0.key.name.text] = now.instant }
      }
    case .workerTransferred(let worker, let leases):
      for lease in leases {
        guard let transfer = transfer(of: lease, by: worker) else { continue }
        scheduler.sources[transfer.source].map { missing[$0.key.name.text] = nil }
      }
    case .failuresForgotten(let urls):
      for url in urls { missing[url] = nil }
    default:
      break
    }
  }

  private func transfer(of lease: LeaseID, by worker: WorkerID) -> LeasedTransfer? {
    guard let held = scheduler.leases[lease], held.worker == worker else { return nil }
    return held.transfer.flatMap { scheduler.transfers[$0] }
  }

  /// A transfer has begun.
  func checkNotKnownToBeMissing(_ url: String) {
    let time = scheduler.limits.rememberFailures
    guard let since = missing[url], now.instant - since < time else { return }
    let isWanted = scheduler.work.all.contains { item in
      item.key.name.text == url
        && (item.key.request.bypassesStore
          || !item.key.request.fetch.cachePolicy.heedsRememberedFailures
          || item.jobs.contains(where: triesAll))
    }
    if !isWanted { fail("\(url) is fetched although it is known to be missing") }
  }

  private func triesAll(_ job: JobID) -> Bool {
    scheduler.jobs[job]?.record.retries.includesFinal ?? false
  }

  func checkMemories(after event: Event) {
    let isOver = scheduler.sources.failures.count > RememberedFailures.maximumCount
    if isOver { fail("too many failures are remembered", after: event) }
    for source in scheduler.sources.all where source.joinable == nil {
      let waiting = scheduler.waitingItems(of: source)
      if !waiting.isEmpty, scheduler.rememberedFailure(of: source, for: waiting) != nil {
        fail("\(source.key.name.text) waits although it is known to be missing", after: event)
      }
    }
  }
}

extension Outcome {
  fileprivate var isOfMissingPicture: Bool {
    guard case .failed(let failure, _) = self else { return false }
    return [404, 410].contains(failure.httpStatus)
  }
}
