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
    let report = Simulation.run(
      seed: seed, stepCount: invocation.stepCount, isTraced: invocation.isTraced)
    total.withLock { total in
      total.add(report)
      for fault in report.faults.prefix(3) { print("seed \(seed): \(fault)") }
    }
  }
  return total.withLock { total in
    for line in total.digestLines { print(line) }
    print(total.summary)
    for seed in total.faultySeeds.sorted().prefix(10) {
      print("replay: scripts/simulate --seed \(seed) --steps \(invocation.stepCount)")
    }
    return total.faultySeeds.isEmpty
  }
}

/// What all runs together have done.
struct SimulationTotal {
  private(set) var faultySeeds: [UInt64] = []
  private var runCount = 0
  private var lineCount = 0
  private var transferCount = 0
  private var attachedCount = 0
  private var restartCount = 0
  private var lateAnswerCount = 0
  private var digests: [UInt64: UInt64] = [:]

  mutating func add(_ report: Simulation.Report) {
    runCount += 1
    lineCount += report.lineCount
    transferCount += report.transferCount
    attachedCount += report.attachedCount
    restartCount += report.restartCount
    lateAnswerCount += report.lateAnswerCount
    digests[report.seed] = report.traceDigest
    if !report.faults.isEmpty { faultySeeds.append(report.seed) }
  }

  /// The digest of each traced run, in the order of the seeds.
  var digestLines: [String] {
    digests.sorted { $0.key < $1.key }.map { seed, digest in
      "seed \(seed): \(String(digest, radix: 16))"
    }
  }

  var summary: String {
    """
    \(runCount) seeds, \(faultySeeds.count) faulty: \(lineCount) lines, \(transferCount) transfers, \
    \(attachedCount) attached leases, \(restartCount) restarts of the coordinator, \(lateAnswerCount) late answers
    """
  }
}
