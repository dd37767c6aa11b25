import ImgFetch
import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import ImgWorkerMachine

/// Performs groups of changes of the store, and tells the loop about those that something waits for.
/// A store that cannot be written stays as it was.
struct StoreWriter: Sendable {
  let store: SharedStore
  let inbox: Mailbox<Input>

  /// The most changes of one group, and of one transaction.
  static let groupMaximum = 64

  func perform(_ writes: [StoreWrite]) {
    putRobots(writes)
    performPartials(writes)
    performRecords(writes)
  }

  // MARK: - Before all else, because transfers wait for it

  private func putRobots(_ writes: [StoreWrite]) {
    for case .putRobots(let record, let origin) in writes {
      // Without a store this worker remembers it, and each of the others asks for itself.
      try? store.change { store throws(StoreError) in try store.keep(record, of: origin) }
      inbox.post(Input(.robotsStored(origin: origin)))
    }
  }

  private func performPartials(_ writes: [StoreWrite]) {
    let now = WallTime.now
    for write in writes {
      switch write {
      case .putPartial(let put):
        // If it cannot be stored, or read from its file, the picture is fetched from the start.
        if let bytes = try? put.body.content.bytes() {
          try? store.change { store throws(StoreError) in
            try store.putPartial(
              StoredPartial(put.body.resumeState, of: put.name), bytes: bytes, at: now)
          }
        }
        inbox.post(Input(.partialStored(put.transfer)))
      case .removePartial(let name):
        _ = try? store.change { store throws(StoreError) in try store.removePartials(of: [name]) }
      case .put, .renew, .removeStale, .extend, .sweep, .putRobots: break
      }
    }
  }

  // MARK: - Records

  private func performRecords(_ writes: [StoreWrite]) {
    let now = WallTime.now
    var puts: [StorePut] = []
    var staleKeys: [ContentKey] = []
    var accesses: [ThumbnailAccess] = []
    var answers: [LookupResults] = []
    for write in writes {
      switch write {
      case .put(let put): puts.append(put)
      case .renew(let renewal): renew(renewal, at: now)
      case .removeStale(let key): staleKeys.append(key)
      case .extend(let wanted, let answer):
        accesses += wanted
        if let answer { answers.append(answer) }
      case .sweep, .putRobots, .putPartial, .removePartial: break
      }
    }
    if !puts.isEmpty { put(puts, at: now) }
    extend(accesses)
    for answer in answers { inbox.post(Input(.lookedUp(answer))) }
    // Last, because nothing waits for it. What was put replaced what was stale.
    let stale = Set(staleKeys).subtracting(puts.flatMap { $0.records.map(\.key) })
    if !stale.isEmpty {
      // The next look-up that finds one of them asks again.
      _ = try? store.change { store throws(StoreError) in
        try store.removeStale(Array(stale), at: now)
      }
    }
  }

  private func extend(_ accesses: [ThumbnailAccess]) {
    for start in stride(from: 0, to: accesses.count, by: Self.groupMaximum) {
      let group = Array(accesses[start...].prefix(Self.groupMaximum))
      try? store.change { store throws(StoreError) in try store.extend(group) }
    }
  }

  private func renew(_ renewal: StoreRenewal, at now: WallTime) {
    let isThere =
      try? store.change { store throws(StoreError) in
        try store.renew(renewal.renewals, at: now)
      }
    guard let lease = renewal.lease else { return }
    inbox.post(Input(.stored(lease, isThere == false ? .missing : .stored)))
  }

  private func put(_ puts: [StorePut], at now: WallTime) {
    guard puts.count == 1 || error(of: puts, at: now) != nil else {
      return inbox.post(contentsOf: puts.map { Input(.stored($0.lease, .stored)) })
    }
    // One of the group may be the reason, so each is tried by itself, but none after one that finds no
    // room: a full disk is tried twice a group, not once a thumbnail. The next group tries again.
    var errorOfRest: StoreError?
    for put in puts {
      guard let error = errorOfRest ?? error(of: [put], at: now) else {
        inbox.post(Input(.stored(put.lease, .stored)))
        continue
      }
      if error.reason == .full { errorOfRest = error }
      inbox.post(
        Input(
          .stored(put.lease, .refused(StoreRefusal(error))),
          with: .thumbnails([put.thumbnail], upload: nil)))
    }
  }

  /// Stores all of them or none.
  ///
  /// - Returns: why it is none; `nil` if they are in the store.
  private func error(of puts: [StorePut], at now: WallTime) -> StoreError? {
    do throws(StoreError) {
      try store.change { store throws(StoreError) in
        try store.put(puts.flatMap(\.records), at: now)
      }
      return nil
    } catch {
      return error
    }
  }
}
