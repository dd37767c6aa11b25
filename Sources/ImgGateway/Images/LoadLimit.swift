import ImgClient
@_spi(Containers) import ImgModel
import Synchronization

/// How many loads may be under way at the same time. Further requests are refused, not queued: their clients
/// are told to come back.
///
/// The loads of one group of hosts (see ``HostGroup``) may be at most three times as many as those that are
/// free. So a group that does not answer takes three quarters at most, a second one three quarters of the rest,
/// and others go on (dynamic thresholds, Choudhury and Hahne, IEEE/ACM Transactions on Networking 6.2, 1998).
/// Many slow groups would still take all of them. While none is free, a group that is slow loses its oldest load
/// for that of another one, see ``SlowGroups``. Without slow ones, the group with the most loads loses its oldest
/// one for a load of a group that has none, or still has fewer with it. Where two groups could take a load from
/// each other by turns, neither does. Where no group has more than one, none is lost: else, of more hosts than
/// there are loads, each would lose the load that is about to end, and none would end.
final class LoadLimit: Sendable {
  private struct State {
    var count = 0
    var lastNumber: UInt64 = 0
    /// The loads of each group, the oldest first.
    var groups: [String: [Load]] = [:]
    var slowGroups = SlowGroups()

    mutating func add(to group: String, at now: ContinuousClock.Instant) -> Load {
      lastNumber += 1
      count += 1
      let load = Load(number: lastNumber, begin: now, cancellation: Cancellation())
      groups[group, default: []].append(load)
      return load
    }

    /// - Returns: whether there was one.
    mutating func remove(_ number: UInt64, of group: String) -> Bool {
      guard let index = groups[group]?.firstIndex(where: { $0.number == number }) else {
        return false
      }
      count -= 1
      groups[group]?.remove(at: index)
      if groups[group]?.isEmpty == true { groups[group] = nil }
      return true
    }

    /// Makes room for a load of a group, where no load is free.
    ///
    /// - Returns: the load that is lost for it; `nil` if the group has to wait.
    mutating func makeRoom(for group: String, at now: ContinuousClock.Instant) -> Load? {
      if slowGroups.beginLook(at: now) {
        for (other, loads) in groups { slowGroups.note(other, began: loads[0].begin, at: now) }
      }
      guard !slowGroups.contains(group, at: now) else { return nil }
      return removeOldestOfSlowGroups(at: now) ?? removeOldestOfLargestGroup(for: group)
    }

    private mutating func removeOldestOfSlowGroups(at now: ContinuousClock.Instant) -> Load? {
      var found: (group: String, load: Load)?
      for (group, loads) in groups
      where loads[0].number < found?.load.number ?? .max && slowGroups.contains(group, at: now) {
        found = (group, loads[0])
      }
      guard let (group, load) = found else { return nil }
      // It has had its chance, and is slow for as long as others need the room.
      slowGroups.renew(group, at: now)
      _ = remove(load.number, of: group)
      return load
    }

    /// Removes the oldest load of the group that has most; among equals, of the one whose oldest is oldest.
    private mutating func removeOldestOfLargestGroup(for group: String) -> Load? {
      let ofGroup = groups[group]?.count ?? 0
      let largest = groups.max {
        ($0.value.count, $1.value[0].number) < ($1.value.count, $0.value[0].number)
      }
      guard let (largestGroup, loads) = largest, loads.count > max(1, ofGroup > 0 ? ofGroup + 1 : 0)
      else { return nil }
      _ = remove(loads[0].number, of: largestGroup)
      return loads[0]
    }
  }

  private struct Load {
    let number: UInt64
    let begin: ContinuousClock.Instant
    let cancellation: Cancellation
  }

  let maximum: Int
  private let state = Mutex(State())

  private let now: @Sendable () -> ContinuousClock.Instant

  private static let loadsPerFreeOne = 3

  init(_ maximum: Int, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.maximum = maximum
    self.now = now
  }

  /// The loads that are under way.
  var count: Int { state.withLock(\.count) }

  /// Loads a picture, unless too many loads are under way, or too many of its hosts.
  ///
  /// - Parameter url: may be no URL, which needs no host to fail.
  /// - Returns: `nil` without a load, and where the load failed after it was cancelled in favour of another.
  func load<Value: Sendable, Failure: Error>(
    of url: String, _ body: @escaping @Sendable () async throws(Failure) -> Value
  ) async throws(Failure) -> Value? {
    try await load(from: (try? ImageURL(line: url))?.host ?? "", body)
  }

  /// Loads from a host, unless too many loads are under way.
  ///
  /// - Returns: the same.
  func load<Value: Sendable, Failure: Error>(
    from host: String, _ body: @escaping @Sendable () async throws(Failure) -> Value
  ) async throws(Failure) -> Value? {
    let group = HostGroup.name(of: host)
    guard let load = begin(group) else { return nil }
    // Immediate, so that a load costs no change of threads before it waits.
    let task = Task.immediate { () async -> Result<Value, Failure> in
      do throws(Failure) {
        return .success(try await body())
      } catch {
        return .failure(error)
      }
    }
    load.cancellation.set { task.cancel() }
    let result = await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
    let isSuccess = if case .success = result { true } else { false }
    let isDisplaced = !end(load, group, isSuccess: isSuccess)
    if isDisplaced, case .failure = result { return nil }
    return try result.get()
  }

  private func begin(_ group: String) -> Load? {
    let now = now()
    let (load, displaced) = state.withLock { state -> (Load?, Load?) in
      let free = maximum - state.count
      if free > 0 {
        guard state.groups[group]?.count ?? 0 < Self.loadsPerFreeOne * free else {
          return (nil, nil)
        }
        return (state.add(to: group, at: now), nil)
      }
      guard let displaced = state.makeRoom(for: group, at: now) else { return (nil, nil) }
      return (state.add(to: group, at: now), displaced)
    }
    displaced?.cancellation.cancel()
    return load
  }

  /// - Returns: `false` for a load that was cancelled in favour of another.
  private func end(_ load: Load, _ group: String, isSuccess: Bool) -> Bool {
    let now = now()
    return state.withLock { state in
      let isOwn = state.remove(load.number, of: group)
      if isOwn, isSuccess { state.slowGroups.noteSuccess(of: group, began: load.begin, at: now) }
      return isOwn
    }
  }
}

/// Cancels a load, also one whose task is only about to be known.
private final class Cancellation: Sendable {
  private enum State {
    case pending
    case ready(@Sendable () -> Void)
    case cancelled
  }

  private let state = Mutex(State.pending)

  func set(_ cancel: @escaping @Sendable () -> Void) {
    let isCancelled = state.withLock { state in
      if case .cancelled = state { return true }
      state = .ready(cancel)
      return false
    }
    if isCancelled { cancel() }
  }

  func cancel() {
    let last = state.withLock { state in
      defer { state = .cancelled }
      return state
    }
    if case .ready(let cancel) = last { cancel() }
  }
}

/// The groups of hosts whose loads took long when others needed their room.
private struct SlowGroups {
  /// When a load of the group was slow last.
  private var times = LeastRecentlyUsed<String, ContinuousClock.Instant>()
  /// When slow loads were looked for last.
  private var lastLook: ContinuousClock.Instant?

  /// Longer than loads take where the cluster is merely busy.
  private static let slowTime = Duration.seconds(10)
  /// How long a group that has no slow load any more counts as slow.
  private static let memory = Duration.seconds(600)
  /// Names of some megabytes. Beyond that, the group that was slow longest ago is forgotten.
  private static let capacity = 32_768
  /// Between two looks, which cost time for each load.
  private static let interval = Duration.seconds(1)

  /// Whether it is time to look at all loads, which it is at most once a second.
  mutating func beginLook(at now: ContinuousClock.Instant) -> Bool {
    if let lastLook, now - lastLook < Self.interval { return false }
    lastLook = now
    return true
  }

  /// Looks at the oldest load of a group.
  mutating func note(
    _ group: String, began begin: ContinuousClock.Instant, at now: ContinuousClock.Instant
  ) {
    if now - begin >= Self.slowTime { renew(group, at: now) }
  }

  mutating func renew(_ group: String, at now: ContinuousClock.Instant) {
    times.insert(now, as: group, cost: 1)
    times.trim(toCost: Self.capacity)
  }

  /// A load of the group has ended well. One slow picture does not make a group of many hosts slow.
  mutating func noteSuccess(
    of group: String, began begin: ContinuousClock.Instant, at now: ContinuousClock.Instant
  ) {
    if now - begin < Self.slowTime { times.remove(group) }
  }

  func contains(_ group: String, at now: ContinuousClock.Instant) -> Bool {
    times.value(of: group).map { now - $0 < Self.memory } ?? false
  }
}
