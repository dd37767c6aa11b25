import SeededRandom
import TestCluster

/// Who is killed, and at how many requests that the origin has seen: all of it follows from a
/// number.
struct KillPlan {
  enum Victim: Hashable {
    case worker
    case coordinator
  }

  struct Kill {
    let requestCount: Int
    let victim: Victim
    /// Which of the workers that there are, counted around.
    let choice: Int
  }

  /// In the order of their requests.
  let kills: [Kill]

  init(seed: UInt64, workerCount: Int, coordinatorCount: Int, requests: Range<Int>) {
    var generator = SeededGenerator(seed: seed)
    let victims =
      [Victim](repeating: .worker, count: workerCount)
      + [Victim](repeating: .coordinator, count: coordinatorCount)
    let moments = victims.indices.map { _ in Int.random(in: requests, using: &generator) }.sorted()
    kills = zip(moments, victims.shuffled(using: &generator)).map { moment, victim in
      Kill(
        requestCount: moment, victim: victim,
        choice: Int.random(in: 0..<1_000, using: &generator))
    }
  }
}

/// A kill as the origin's log saw it.
struct KillRecord {
  let victim: KillPlan.Victim
  /// The length of the log before the kill and once every process that died of it was gone.
  let positions: ClosedRange<Int>
}
