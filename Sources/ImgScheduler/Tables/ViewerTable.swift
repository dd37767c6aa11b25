package import ImgModel
package import ImgWire

/// A request of a client that waits for one picture now.
package enum Viewer {
  /// Nothing begins for it before its delay is over.
  case delayed(GetRequest, ImageURL)
  case waiting(name: String?, WorkID)

  package var name: String? {
    switch self {
    case .delayed(let request, _): request.viewer
    case .waiting(let name, _): name
    }
  }
}

/// The viewers, by number and by name, and what they are told while they wait.
package struct ViewerTable {
  private var viewers = NumberedTable<ViewerID, Viewer>()
  private var names: [String: ViewerID] = [:]
  /// When viewers that wait are told why.
  private var reports = PriorityQueue<ViewerID, Instant>()
  /// What they were told last.
  private var reported: [ViewerID: Wait] = [:]
  /// Leases whose viewers have changed, with what they want to be told; `nil` if none is left. Their workers do
  /// not know yet.
  private var wantedUpdates: [(lease: LeaseID, updates: ArrivalUpdates?)] = []

  /// Viewers that are told what they wait for. Further ones hear only their answer.
  static let reportMaximum = 1_024
  private static let reportInterval = Duration.seconds(1)

  package var isEmpty: Bool { viewers.isEmpty }
  package var count: Int { viewers.count }
  package var nameCount: Int { names.count }
  package var all: NumberedTable<ViewerID, Viewer> { viewers }
  package var isAnyReportPending: Bool { !reports.isEmpty || !reported.isEmpty }

  /// - Returns: `nil` when the viewer has its answer, or has left.
  package subscript(id: ViewerID) -> Viewer? { viewers[id] }

  /// The viewer of a name that still waits.
  func viewer(named name: String) -> ViewerID? { names[name] }

  /// The numbers of all viewers, the oldest first.
  var ids: [ViewerID] { viewers.keys.sorted() }

  /// A viewer arrives whose delay is to pass first.
  ///
  /// - Precondition: the viewer is a new one.
  mutating func delay(_ id: ViewerID, _ request: GetRequest, for url: ImageURL) {
    precondition(viewers[id] == nil, "\(id) arrives twice")
    viewers.set(id, to: .delayed(request, url))
    if let name = request.viewer { names[name] = id }
  }

  /// A viewer waits for an item from now on.
  ///
  /// - Parameter reportAt: when it is first told why, if it still waits then.
  /// - Precondition: it waits for no other item.
  mutating func wait(_ id: ViewerID, name: String?, for item: WorkID, reportAt: Instant?) {
    if case .waiting = viewers[id] { preconditionFailure("\(id) waits for two items") }
    viewers.set(id, to: .waiting(name: name, item))
    if let name { names[name] = id }
    if let reportAt, reports.count < Self.reportMaximum { reports.set(id, to: reportAt) }
  }

  /// A viewer has its answer, or has left.
  ///
  /// - Returns: what it was; `nil` when it was not there any more.
  @discardableResult
  mutating func remove(_ id: ViewerID) -> Viewer? {
    let removed = viewers.remove(id)
    reports.remove(id)
    reported[id] = nil
    if let name = removed?.name, names[name] == id { names[name] = nil }
    return removed
  }

  // MARK: - Reports

  /// When ``takeDueReport(at:)`` has something to return; `nil` while no viewer waits.
  var reportDeadline: Instant? { reports.first?.priority }

  /// Takes a viewer that has waited for a while; its next report is due later.
  mutating func takeDueReport(at now: Instant) -> (viewer: ViewerID, item: WorkID)? {
    while let (viewer, due) = reports.first, due <= now {
      guard case .waiting(_, let item) = viewers[viewer] else {
        reports.remove(viewer)
        continue
      }
      reports.set(viewer, to: now + Self.reportInterval)
      return (viewer, item)
    }
    return nil
  }

  /// - Returns: whether the wait is news to the viewer.
  mutating func report(_ wait: Wait, to viewer: ViewerID) -> Bool {
    guard wait.isNews(after: reported[viewer]) else { return false }
    reported[viewer] = wait
    return true
  }

  // MARK: - Updates

  /// Viewers wait for a lease, and may want to be told of its picture while it arrives.
  ///
  /// - Parameter updates: `nil` if no viewer waits any more.
  mutating func want(_ updates: ArrivalUpdates?, of lease: LeaseID) {
    wantedUpdates.append((lease, updates))
  }

  /// Tells workers what viewers want, after the messages that grant the leases.
  mutating func requestUpdates(in leases: LeaseTable) -> [Effect] {
    guard !wantedUpdates.isEmpty else { return [] }
    defer { wantedUpdates = [] }
    return wantedUpdates.compactMap { lease, updates in
      // It may have ended since.
      leases[lease].map { .send(.updates(lease, updates), to: $0.worker) }
    }
  }
}
