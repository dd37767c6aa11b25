import ClusterSimulation
import Testing

/// The scheduler in random runs full of faults, see ``Simulation``.
@Suite struct RandomTests {
  private static let stepCount = 120
  private static let seedsPerCase = 10

  /// Runs one seed and says how to see it again when something goes against the rules.
  private func run(_ seed: UInt64) {
    let report = Simulation.run(seed: seed, stepCount: Self.stepCount)
    guard let fault = report.faults.first else { return }
    Issue.record(
      """
      seed \(seed): \(fault)
      replay: scripts/simulate --seed \(seed) --steps \(Self.stepCount)
      """)
  }

  @Test(arguments: Array(stride(from: 0, to: 200, by: seedsPerCase)))
  func `fixed seeds run clean`(first: Int) {
    for seed in first..<(first + Self.seedsPerCase) { run(UInt64(seed)) }
  }

  @Test(arguments: 0..<4)
  func `fresh seeds run clean`(_: Int) {
    for _ in 0..<5 { run(.random(in: 0...UInt64.max / 2)) }
  }

  @Test(arguments: [4, 42] as [UInt64])
  func `the same seed gives the same run`(seed: UInt64) {
    let reports = (0..<2).map { _ in Simulation.run(seed: seed, stepCount: Self.stepCount) }
    #expect(reports[0] == reports[1])
    #expect(reports[0].transferCount > 0)
  }
}
