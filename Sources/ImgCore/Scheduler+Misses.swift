import ImgModel

/// Look-ups that found nothing: transfers begin in the order of the list, see ``LookupOrder``.
extension Scheduler {
  /// For so long a look-up holds later lines up. A worker that is stopped answers nothing, and is
  /// ended only later (``heartbeatAgeMaximum``).
  static let lookupPatience = Duration.seconds(5)

  /// The store has not got an item: it waits behind earlier lines, or for its transfer.
  mutating func awaitSlot(_ missed: WorkItem) {
    guard isBehindLines(missed) else { return awaitTransfer(missed) }
    var item = missed
    _ = joinSource(&item)
    _ = park(&item, in: .missed)
  }

  /// Whether it waits for earlier lines: not what a viewer waits for, nor what needs no slot.
  func isBehindLines(_ item: WorkItem) -> Bool {
    !isJoinable(item) && !item.url.isLocal && item.key.request.fetch.cachePolicy != .cacheOnly
      && !isStaleWorthAsking(of: item) && item.isOfLines
  }

  /// Whether there is a transfer that it may join.
  func isJoinable(_ item: WorkItem) -> Bool {
    let key = Source.Key(name: item.key.name, host: item.host)
    return sourcesByKey[key].flatMap { sources[$0]?.joinable } != nil
  }

  /// Items of the source that wait for a slot join its transfer instead, which has one.
  mutating func joinTransfer(of source: Source) {
    for member in source.members {
      // Looked up again: the one before may have taken it along.
      if let item = items[member], item.stage == .missed { awaitTransfer(item) }
    }
  }

  /// Lines of a job wait behind others from now on, or wait no more.
  mutating func noteMisses(of id: JobID) {
    if jobs[id]?.lookups.isAnyWaiting == true {
      jobsWithMisses.insert(id)
    } else {
      jobsWithMisses.remove(id)
    }
  }

  /// Look-ups that take too long hold no later lines up.
  mutating func endLookupWaits() {
    while let (lease, until) = lookupDeadlines.first, until <= now.instant {
      lookupDeadlines.remove(lease)
      for waiter in leases[lease].flatMap({ items[$0.item] })?.waiters ?? [] {
        guard case .line(let job, let index) = waiter.who else { continue }
        jobs[job]?.endLookup(of: index)
      }
    }
  }

  /// The item of the line whose turn is next among the lines that wait behind others and may begin;
  /// `nil` when none may.
  func nextMiss() -> (item: WorkItem, urgency: Urgency)? {
    jobsWithMisses.compactMap { id -> (item: WorkItem, urgency: Urgency)? in
      guard let job = jobs[id], let item = job.lookups.next.flatMap({ items[$0] }),
        let waiter = item.waiters.first(where: { $0.isLine(of: id) })
      else { return nil }
      let turn = nextTurn(of: waiter, in: job)
      return (item, Urgency(priority: job.priority, turn: turn, item: item.id))
    }
    .min { $0.urgency < $1.urgency }
  }
}
