import ImgModel
import ImgScheduler

/// What befalls the processes: workers, be they models or with real machines, and the coordinator.
extension Scenario {
  mutating func randomWorker(
    where isFit: (WorkerID) -> Bool = { _ in true }
  ) -> WorkerID? {
    cluster.livingWorkers.filter(isFit).randomElement(using: &random)
  }

  mutating func becomeReady() {
    let cluster = cluster
    let isStarting = { !cluster.isReady($0) && !cluster.killed.contains($0) }
    if let id = randomWorker(where: isStarting) { cluster.ready(id) }
  }

  mutating func observe() {
    let cluster = cluster
    let isObserved = { cluster.isReady($0) && !cluster.killed.contains($0) }
    guard let id = randomWorker(where: isObserved) else { return }
    let lease = cluster.decodes(of: id).randomElement(using: &random)
    let age = Duration.seconds(Int.random(in: 0...12, using: &random))
    let time = lease == nil ? Duration.zero : .seconds(Int.random(in: 0...40, using: &random))
    cluster.handle(
      .workerObserved(
        id, Observation(heartbeatAge: age, readingLease: lease, readingTime: time)))
  }

  // MARK: - Ends

  mutating func die() {
    guard let id = randomWorker() else { return }
    // One worker's failed starts stay below the number that ends the cluster.
    if !cluster.isReady(id) {
      guard failedStartCount < Supervisor.failedStartsMaximum - 1 else { return }
      failedStartCount += 1
    }
    let ends: [WorkerEnd] = [
      .left, .crashed("SIGSEGV"), .crashedInStore("SIGSEGV"), .killed("SIGKILL"),
    ]
    exit(id, ends.randomElement(using: &random) ?? .left)
  }

  mutating func exitKilled() {
    for id in cluster.killed where cluster.hasProcess(id) { exit(id, .killed("SIGKILL")) }
  }

  private mutating func exit(_ id: WorkerID, _ end: WorkerEnd) {
    let transferring = cluster.receivingTransfers(of: id).randomElement(using: &random)
    cluster.exit(id, end, transferringLease: transferring)
  }

  /// The coordinator is killed, and with it everything that was not durable.
  mutating func restart() {
    lateAnswerCount += cluster.scheduler.lateAnswerCount
    restartCount += 1
    // A failed start that no coordinator remembers counts no more.
    failedStartCount = 0
    // Its workers are gone too, and the next one's are numbered from 1 again.
    oldAnswers = []
    expectedViewers.formIntersection(cluster.answers.keys)
    cluster.restart()
  }
}
