import ImgModel

/// One seeded run of the scheduler with everything around it simulated: the same seed gives the
/// same run.
package struct Simulation {
  package struct Report: Hashable, Sendable {
    package let seed: UInt64
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
  ///   - stepCount: things that happen before the end.
  ///   - isTraced: whether the report has a digest of the scheduler's effects.
  package static func run(seed: UInt64, stepCount: Int, isTraced: Bool = false) -> Report {
    var scenario = Scenario(seed: seed, isTraced: isTraced)
    for _ in 0..<stepCount where scenario.faults.isEmpty { scenario.happen() }
    if scenario.faults.isEmpty {
      if seed % 4 == 3 { scenario.endByDraining() } else { scenario.end() }
    }
    return scenario.report
  }
}
