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
    package let rideCount: Int
    package let restartCount: Int
    package let lateAnswerCount: Int
  }

  /// Runs a story of faults and changes to its end, where nothing goes wrong any more and all must
  /// come to rest.
  ///
  /// - Parameter stepCount: things that happen before the end.
  package static func run(seed: UInt64, stepCount: Int) -> Report {
    var story = Story(seed: seed)
    for _ in 0..<stepCount where story.faults.isEmpty { story.happen() }
    if story.faults.isEmpty {
      if seed % 4 == 3 { story.endByDraining() } else { story.end() }
    }
    return story.report
  }
}
