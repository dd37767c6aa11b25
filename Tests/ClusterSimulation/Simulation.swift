import ImgModel

/// One seeded run of the scheduler with everything around it simulated: the same seed gives the
/// same run.
package struct Simulation {
  /// What runs under the scheduler.
  package enum WorkerKind: String, Hashable, Sendable, CaseIterable {
    /// Models of workers, whose answers may get lost.
    case modelled
    /// The machines of real workers, under a model of their origins, store and decoder.
    case real
  }

  package struct Report: Hashable, Sendable {
    package let seed: UInt64
    package let workers: WorkerKind
    /// What went against the rules; nothing when all is well.
    package let faults: [String]
    package let lineCount: Int
    package let transferCount: Int
    package let attachedCount: Int
    package let restartCount: Int
    package let lateAnswerCount: Int
    /// Of everything that the scheduler wanted done; `nil` when that was not asked for.
    package let traceDigest: UInt64?
  }

  /// Runs a scenario of faults and changes to its end, where nothing goes wrong any more and all must
  /// come to rest.
  ///
  /// - Parameters:
  ///   - workers: what runs under the scheduler.
  ///   - stepCount: things that happen before the end.
  ///   - isTraced: whether the report has a digest of the scheduler's effects.
  package static func run(
    seed: UInt64, workers: WorkerKind, stepCount: Int, isTraced: Bool = false
  ) -> Report {
    var scenario = Scenario(seed: seed, workers: workers, isTraced: isTraced)
    for _ in 0..<stepCount where scenario.faults.isEmpty { scenario.happen() }
    if scenario.faults.isEmpty {
      if seed % 4 == 3 { scenario.endByDraining() } else { scenario.end() }
    }
    return scenario.report
  }
}
