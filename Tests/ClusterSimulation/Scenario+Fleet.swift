import ImgModel
import ImgScheduler
import WorkerSimulation

/// What workers with real machines do.
extension Scenario {
  mutating func happen(in fleet: WorkerFleet) {
    switch Int.random(in: 0..<300, using: &random) {
    case 0..<10: submit()
    case 10..<26: view()
    case 26..<32: leave()
    case 32..<42: changeJob()
    case 42..<44: changeLimits()
    case 44..<84: cluster.deliverJournal(.random(in: 1...4, using: &random))
    case 84..<130: if let id = randomWorker() { fleet.deliver(to: id, at: cluster.now) }
    case 130..<180: if let id = randomWorker() { cluster.hear(id, of: fleet) }
    case 180..<250: if let id = randomWorker() { work(id, of: fleet) }
    case 250..<258: becomeReady()
    case 258..<262: die()
    case 262..<265: observe()
    case 265..<270: exitKilled()
    case 270: restart()
    case 271: cluster.setClock(by: .seconds(.random(in: -100_000...100_000, using: &random)))
    case 272: cluster.handle(.failuresForgotten([randomLine()]))
    case 273: cluster.refuseChanges()
    case 274..<276: fleet.store.evict(&random)
    case 276: fleet.store.isFull.toggle()
    case 277: fleet.store.servesStale.toggle()
    case 278..<282: reportStore()
    default: cluster.advance(by: .milliseconds(.random(in: 1...3_000, using: &random)))
    }
  }

  /// The worker ends one of its operations, and with the last one perhaps its process.
  ///
  /// - Returns: whether anything has happened.
  @discardableResult
  private mutating func work(_ id: WorkerID, of fleet: WorkerFleet) -> Bool {
    let hasEnded = fleet.step(id, &random, at: cluster.now)
    guard fleet.hasLeft(id) else { return hasEnded }
    cluster.exit(id, .left, transferringLease: nil)
    return true
  }

  // MARK: - The end

  /// From here on only the deadly pictures do harm.
  func calm(_ fleet: WorkerFleet) {
    fleet.origins.isCalm = true
    fleet.store.isCalm = true
    fleet.store.isFull = false
  }

  /// Messages arrive and operations end until nothing is under way.
  mutating func finishEverything(in fleet: WorkerFleet) {
    var isMoving = true
    while isMoving, faults.isEmpty {
      isMoving = false
      for id in fleet.ids {
        let moves = [
          fleet.deliver(to: id, at: cluster.now), cluster.hear(id, of: fleet), work(id, of: fleet),
        ]
        finalMoveCount += moves.count(where: \.self)
        if moves.contains(true) { isMoving = true }
      }
      if finalMoveCount > Self.finalMoveMaximum {
        cluster.fail("workers go on without end: \(finalMoveCount) moves")
      }
    }
  }
}
