import ImgModel

/// The leases of this worker that have no result yet.
struct FetchTasks {
  private var tasks: [LeaseID: FetchTask] = [:]

  var isEmpty: Bool { tasks.isEmpty }
  var count: Int { tasks.count }

  func contains(_ lease: LeaseID) -> Bool { tasks[lease] != nil }

  mutating func add(_ task: FetchTask) {
    let previous = tasks.updateValue(task, forKey: task.order.lease)
    precondition(previous == nil, "a lease is assigned once")
  }

  /// - Precondition: the lease has no result yet.
  subscript(lease: LeaseID) -> FetchTask {
    guard let task = tasks[lease] else {
      preconditionFailure("lease \(lease.rawValue) has no task")
    }
    return task
  }

  /// - Precondition: the lease has no result yet.
  mutating func update(_ lease: LeaseID, _ change: (inout FetchTask) -> Void) {
    guard let index = tasks.index(forKey: lease) else {
      preconditionFailure("lease \(lease.rawValue) has no task")
    }
    change(&tasks.values[index])
  }

  /// - Precondition: the lease has no result yet.
  mutating func remove(_ lease: LeaseID) -> FetchTask {
    guard let task = tasks.removeValue(forKey: lease) else {
      preconditionFailure("lease \(lease.rawValue) has no task")
    }
    return task
  }
}
