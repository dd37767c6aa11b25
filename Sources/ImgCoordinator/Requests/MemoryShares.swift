import ImgModel
import ImgScheduler
import ImgWire

/// Shares the memory budget out to the processes that keep pictures in memory.
///
/// All processes have the same share, and the connections of a process divide its share. So a process that opens many
/// connections takes nothing from others. Processes that this PID namespace cannot number count as one.
///
/// There is no minimum: of the standard budget, each of 512 processes has 80 KiB. A cache with such a share keeps
/// small thumbnails alone.
final class MemoryShares {
  private struct Member {
    let request: RequestID
    let processID: Int32
    /// What the client was told last.
    var told: Int64
  }

  private let clients: ClientTable
  private let scheduler: SchedulerDriver
  private var members: [ClientID: Member] = [:]
  /// The connections of each process.
  private var connectionCounts: [Int32: Int] = [:]
  /// Whether a client may have another share than it was told.
  private(set) var hasChanges = false

  init(clients: ClientTable, scheduler: SchedulerDriver) {
    self.clients = clients
    self.scheduler = scheduler
  }

  var status: ClusterStatus.Memory {
    ClusterStatus.Memory(
      processCount: connectionCounts.count, shareByteCount: processShareByteCount)
  }

  private var processShareByteCount: Int64 {
    scheduler.state.limits.memoryBudgetByteCount / Int64(max(1, connectionCounts.count))
  }

  private func shareByteCount(of processID: Int32) -> Int64 {
    processShareByteCount / Int64(connectionCounts[processID] ?? 1)
  }

  // MARK: - Changes

  /// Tells a client its share. The others are told theirs with the next ``tellChanges()``.
  func add(_ client: ClientConnection, _ request: RequestID) {
    if members[client.id] == nil { connectionCounts[client.processID, default: 0] += 1 }
    let share = shareByteCount(of: client.processID)
    members[client.id] = Member(request: request, processID: client.processID, told: share)
    clients.send(.memoryShare(request, byteCount: share), to: client)
    hasChanges = true
  }

  /// A client was closed.
  func remove(_ client: ClientConnection) {
    guard let member = members.removeValue(forKey: client.id),
      let count = connectionCounts[member.processID]
    else { return }
    connectionCounts[member.processID] = count == 1 ? nil : count - 1
    hasChanges = true
  }

  /// The budget may be another one.
  func sharesChanged() {
    hasChanges = true
  }

  /// Tells each client its share if that has changed. One that has not read the last yet is told the newest once it
  /// has, so that a client that reads nothing has one of them in its queue at most.
  func tellChanges() {
    guard hasChanges else { return }
    hasChanges = false
    for (id, member) in members {
      let share = shareByteCount(of: member.processID)
      guard share != member.told, let client = clients[id] else { continue }
      guard !clients.isBehind(client) else {
        hasChanges = true
        continue
      }
      members[id]?.told = share
      clients.send(.memoryShare(member.request, byteCount: share), to: client)
    }
  }
}
