import ImgModel
import ImgWire

/// From an assignment to a transfer, or to the decoder.
extension WorkerMachine {
  /// Starts a transfer for each assignment.
  mutating func startTransfers(for batch: Batch) {
    for order in orders(of: batch) {
      tasks.add(FetchTask(order, stage: .transferring))
      checkRobots(for: order, then: .start(transfers.start(order)))
    }
  }

  /// Attaches each assignment to a transfer of its URL. If the transfer is over, the thumbnail is
  /// made from the original in the store.
  mutating func attachAll(of batch: Batch) {
    for order in orders(of: batch) {
      tasks.add(FetchTask(order, stage: .waitingForRobots))
      if transfers.hasTransfer(for: order.transferKey) {
        checkRobots(for: order, then: .attach(order.lease))
      } else {
        // What is already on this machine needs no permission.
        attach(order.lease)
      }
    }
  }

  /// Makes each thumbnail from the original in the store, or from the URL itself.
  mutating func decodeAll(of batch: Batch) {
    for order in orders(of: batch) {
      tasks.add(FetchTask(order, stage: .findingOriginal))
      if order.url.isLocal {
        decode(order.lease, SourceBody(), from: .url)
      } else {
        effects.append(.findOriginal(order))
      }
    }
  }

  /// Attaches a lease that robots.txt permits, unless the transfer was redirected to where the lease does
  /// not permit.
  mutating func attach(_ lease: LeaseID) {
    let order = tasks[lease].order
    if let url = refusedRedirect(of: order) { return refuse(lease, redirectedTo: url) }
    switch transfers.attach(lease, key: order.transferKey) {
    case .receiving:
      tasks.update(lease) { $0.stage = .transferring }
      planUpdates(of: lease)
    case .received(let share): decode(share)
    case .none:
      tasks.update(lease) { $0.stage = .findingOriginal }
      effects.append(.findOriginal(order))
    }
  }

  mutating func originalFound(_ lease: LeaseID, _ isThere: Bool) {
    guard isThere else { return release(lease) }
    decode(lease, SourceBody(), from: .storedOriginal)
  }

  mutating func decodeUpload(_ upload: Upload) {
    do throws(Failure) {
      let order = try FetchOrder(upload, at: now.instant)
      let body = SourceBody.local(byteCount: upload.byteCount)
      tasks.add(FetchTask(order, stage: .decoding(body)))
      decode(order.lease, body, from: .upload(byteCount: upload.byteCount))
    } catch {
      refuse(upload.lease, because: error)
    }
  }

  /// Cancels a lease. A transfer without other leases is aborted; a decode that has begun runs to
  /// its end and is dropped.
  mutating func cancel(_ lease: LeaseID) {
    guard tasks.contains(lease) else { return }
    switch tasks[lease].stage {
    case .waitingForRobots, .findingOriginal: finish(lease, with: .cancelled)
    case .transferring:
      leaveTransfer(lease)
      finish(lease, with: .cancelled)
    case .decoding:
      tasks.update(lease) { $0.isCancelled = true }
      effects.append(.cancelDecode(lease))
    case .revalidating, .renewing, .storing, .delivering, .failing:
      tasks.update(lease) { $0.isCancelled = true }
    }
  }

  /// Takes a lease off a transfer whose body is on its way. The last one aborts the transfer.
  mutating func leaveTransfer(_ lease: LeaseID) {
    if let transfer = transfers.leave(lease) { effects.append(.cancelTransfer(transfer)) }
  }

  /// The assignments that name a URL; the others have failed.
  private mutating func orders(of batch: Batch) -> [FetchOrder] {
    batch.items.compactMap { item in
      do throws(Failure) {
        return try FetchOrder(item, of: batch, at: now.instant)
      } catch {
        refuse(item.lease, because: error)
        return nil
      }
    }
  }

  /// The lease fails before it becomes a task.
  private mutating func refuse(_ lease: LeaseID, because failure: Failure) {
    report.finished.append(FetchResults.Result(lease: lease, outcome: .failed(failure)))
  }
}
