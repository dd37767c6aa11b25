import ClusterSimulation
import Dispatch
import Glibc
import Synchronization

// Runs the scheduler's simulation with many seeds, on all cores: see `SimulationInvocation.usage`.

do {
  let invocation = try SimulationInvocation(Array(CommandLine.arguments.dropFirst()))
  exit(simulate(invocation) ? 0 : 1)
} catch {
  print("imgsimulate: \(error.message)\n\(SimulationInvocation.usage)")
  exit(2)
}

/// - Returns: whether all runs were clean.
func simulate(_ invocation: SimulationInvocation) -> Bool {
  let total = Mutex(SimulationTotal())
  DispatchQueue.concurrentPerform(iterations: invocation.seedCount) { index in
    let seed = invocation.firstSeed + UInt64(index)
    for workers in invocation.workers {
      let report = Simulation.run(
        seed: seed, workers: workers, stepCount: invocation.stepCount,
        isTraced: invocation.isTraced)
      total.withLock { total in
        total.add(report)
        for fault in report.faults.prefix(3) {
          print("seed \(seed), \(workers.rawValue) workers: \(fault)")
        }
      }
    }
  }
  return total.withLock { total in
    for line in total.digestLines { print(line) }
    print(total.summary)
    for run in total.faultyRuns.sorted().prefix(10) {
      print(
        "replay: scripts/simulate --seed \(run.seed) --steps \(invocation.stepCount) "
          + "--workers \(run.workers.rawValue)")
    }
    return total.faultyRuns.isEmpty
  }
}

/// One seed with one kind of workers.
struct SimulationRun: Hashable, Comparable {
  let seed: UInt64
  let workers: Simulation.WorkerKind

  static func < (left: SimulationRun, right: SimulationRun) -> Bool {
    (left.seed, left.workers.rawValue) < (right.seed, right.workers.rawValue)
  }
}

/// What all runs together have done.
struct SimulationTotal {
  private(set) var faultyRuns: [SimulationRun] = []
  private var runCount = 0
  private var lineCount = 0
  private var transferCount = 0
  private var attachedCount = 0
  private var restartCount = 0
  private var lateAnswerCount = 0
  private var digests: [SimulationRun: UInt64] = [:]

  mutating func add(_ report: Simulation.Report) {
    let run = SimulationRun(seed: report.seed, workers: report.workers)
    runCount += 1
    lineCount += report.lineCount
    transferCount += report.transferCount
    attachedCount += report.attachedCount
    restartCount += report.restartCount
    lateAnswerCount += report.lateAnswerCount
    digests[run] = report.traceDigest
    if !report.faults.isEmpty { faultyRuns.append(run) }
  }

  /// The digest of each traced run, in the order of the seeds.
  var digestLines: [String] {
    digests.sorted { $0.key < $1.key }.map { run, digest in
      "seed \(run.seed), \(run.workers.rawValue) workers: \(String(digest, radix: 16))"
    }
  }

  var summary: String {
    """
    \(runCount) runs, \(faultyRuns.count) faulty: \(lineCount) lines, \(transferCount) transfers, \
    \(attachedCount) attached leases, \(restartCount) restarts of the coordinator, \(lateAnswerCount) late answers
    """
  }
}
