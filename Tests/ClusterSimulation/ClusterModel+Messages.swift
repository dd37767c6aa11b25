import ImgModel
import ImgScheduler
import ImgWire

/// What the scheduler tells workers, be they models or with real machines.
extension ClusterModel {
  func send(_ message: CoordinatorMessage, to id: WorkerID) {
    guard isReady(id) else { return fail("a message to \(id), which is not ready: \(message)") }
    note(message)
    if let fleet { fleet.send(message, to: id) } else { receive(message, at: id) }
    guard let worker = scheduler.workers[id] else { return }
    if worker.lookups.count > credits.lookups { fail("too many look-ups") }
    if worker.fetches.count > credits.leases { fail("too many leases") }
  }

  private func note(_ message: CoordinatorMessage) {
    switch message {
    case .welcome, .sweep, .unpin, .decoderExited:
      fail("the driver sends \(message), not the scheduler")
    case .lookup(let batch):
      if batch.request.bypassesStore { fail("a look-up of what bypasses the store") }
      lookupStarts += batch.items.map(\.url)
    case .fetch(let batch): batch.items.forEach { noteFetch($0, of: batch) }
    case .attach(let batch): attachedCount += batch.items.count
    case .decode(let batch): decodeStarts += batch.items.map(\.url)
    case .decodeUpload(let picture): decodeStarts.append(picture.url ?? Self.uploaded)
    case .followRedirects(let list):
      for host in list.transfers.compactMap({ scheduler.transfers[$0]?.host }) {
        checkRate(of: host)
      }
    case .preview(let list):
      previewLeases += list.leases
      checkLeases(of: list)
    case .progress(let list):
      progressLeases += list.leases
      checkLeases(of: list)
    case .cancel, .drain: break
    }
  }

  /// Nothing is wanted of what has ended.
  private func checkLeases(of list: LeaseList) {
    for lease in list.leases where scheduler.leases[lease] == nil {
      fail("previews or progress of \(lease), which has ended")
    }
  }

  /// A transfer begins: the origin sees it.
  private func noteFetch(_ item: Assignment, of batch: Batch) {
    if batch.request.fetch.cachePolicy == .cacheOnly {
      fail("\(item.url) is fetched against its policy")
    }
    fetchStarts.append(item.url)
    begunTransfers.append(item.lease)
    checkNotKnownToBeMissing(item.url)
    if let host = host(of: item.url) { checkRate(of: host) }
  }

  // MARK: - Models of workers

  private func receive(_ message: CoordinatorMessage, at id: WorkerID) {
    switch message {
    case .lookup(let batch): workers[id]?.lookups.append(batch)
    case .fetch(let batch): batch.items.forEach { fetch($0, of: batch, by: id) }
    case .attach(let batch): batch.items.forEach { attach($0, of: batch, at: id) }
    case .decode(let batch): batch.items.forEach { decode($0, of: batch, by: id) }
    case .decodeUpload(let picture): decode(picture, by: id)
    case .followRedirects(let list):
      list.transfers.forEach { follow(LeaseID(rawValue: $0.rawValue), by: id) }
    case .cancel(let list):
      workers[id]?.cancelled.formUnion(list.leases)
    case .drain:
      if workers[id]?.isDraining == true { fail("told to drain twice") }
      workers[id]?.isDraining = true
    // A model makes no previews and reports no progress; a real machine does.
    case .welcome, .preview, .progress, .sweep, .unpin, .decoderExited: break
    }
  }

  private func fetch(_ item: Assignment, of batch: Batch, by id: WorkerID) {
    let part = batch.request.keep.part
    let isReceived = { (transfer: WorkerModel.Transfer) in
      transfer.url == item.url && transfer.part == part
    }
    if workers.values.contains(where: { $0.receiving.contains(where: isReceived) }) {
      fail("\(item.url) is fetched twice at a time")
    }
    let host = host(of: item.url)
    workers[id]?.transfers.append(
      WorkerModel.Transfer(
        id: item.lease, url: item.url, part: part, host: host))
    workers[id]?.fetches.append(lease(item, of: batch, transfer: item.lease))
    if let host { checkLimits(of: host) }
  }

  /// A transfer goes on at the host where its redirect leads.
  private func follow(_ id: LeaseID, by worker: WorkerID) {
    guard let transfer = workers[worker]?.transfer(id), transfer.state == .redirected,
      let host = transfer.host
    else { return }
    workers[worker]?.setState(.receiving, of: id)
    checkLimits(of: host)
  }

  private func attach(_ item: Assignment, of batch: Batch, at id: WorkerID) {
    if let transfer = workers[id]?.joinableTransfer(of: item.url, batch.request.keep.part) {
      workers[id]?.fetches.append(lease(item, of: batch, transfer: transfer.id))
    } else {
      decode(item, of: batch, by: id)
    }
  }

  private func decode(_ item: Assignment, of batch: Batch, by id: WorkerID) {
    let isAtHand =
      store.hasOriginal(of: item.url, for: batch.request.fetch.cachePolicy)
      || item.url.hasPrefix("data:")
    if isAtHand {
      workers[id]?.transfers.append(
        WorkerModel.Transfer(
          id: item.lease, url: item.url, isOriginal: true, state: .gone))
      workers[id]?.fetches.append(lease(item, of: batch, transfer: item.lease))
    } else {
      mail.append(.workerReleased(id, [item.lease]))
    }
  }

  private func decode(_ picture: Upload, by id: WorkerID) {
    let url = picture.url ?? Self.uploaded
    // No other request joins it.
    workers[id]?.transfers.append(
      WorkerModel.Transfer(id: picture.lease, url: url, state: .gone))
    workers[id]?.fetches.append(
      WorkerModel.Fetch(
        lease: picture.lease, url: url, variant: picture.request.variant,
        keep: picture.request.keep,
        retention: picture.retention, policy: .cacheElseLoad,
        bypassesStore: picture.url == nil,
        transfer: picture.lease))
  }

  private func lease(
    _ item: Assignment, of batch: Batch, transfer: LeaseID
  ) -> WorkerModel.Fetch {
    WorkerModel.Fetch(
      lease: item.lease, url: item.url, variant: batch.request.variant, keep: batch.request.keep,
      retention: batch.retention, policy: batch.request.fetch.cachePolicy,
      bypassesStore: batch.request.bypassesStore, transfer: transfer)
  }
}
