import ClusterSimulation

/// What is wrong with the command line, as a sentence.
struct UsageError: Error {
  let message: String
}

/// Which runs are wanted.
struct SimulationInvocation {
  /// The seeds are `firstSeed`, `firstSeed` + 1, …
  private(set) var firstSeed: UInt64 = 0
  private(set) var seedCount = 1_000
  private(set) var stepCount = 400
  /// Each seed runs once with each of these.
  private(set) var workers = Simulation.WorkerKind.allCases
  /// Whether each run prints a digest of what the scheduler wanted done.
  private(set) var isTraced = false

  static let usage = """
    usage: scripts/simulate [--seeds N] [--from SEED] [--steps N] [--workers KIND]
                            [--trace-digest]
           scripts/simulate --seed SEED [--steps N] [--workers KIND] [--trace-digest]
      --seeds N     how many runs, each with a seed of its own (1000)
      --from SEED   the first of the seeds (0)
      --seed SEED   replay one run
      --steps N     how much happens in a run (400); a replay needs the number of the first run
      --workers KIND
                    modelled: only with models of workers; real: only with the machines of real
                    workers; without this option each seed runs with both
      --trace-digest
                    print a digest of the scheduler's decisions for each seed: equal digests before
                    and after a change show that it decides alike
    """

  init(_ arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    while let flag = rest.popFirst() {
      switch flag {
      case "--seeds": seedCount = Int(try Self.number(of: flag, in: &rest, 1...10_000_000))
      case "--from": firstSeed = try Self.number(of: flag, in: &rest, 0...UInt64.max / 2)
      case "--steps": stepCount = Int(try Self.number(of: flag, in: &rest, 1...1_000_000))
      case "--seed":
        firstSeed = try Self.number(of: flag, in: &rest, 0...UInt64.max / 2)
        seedCount = 1
      case "--workers": workers = [try Self.workers(rest.popFirst())]
      case "--trace-digest": isTraced = true
      default: throw UsageError(message: "\(flag) is not known")
      }
    }
  }

  private static func workers(_ text: String?) throws(UsageError) -> Simulation.WorkerKind {
    guard let kind = text.flatMap({ Simulation.WorkerKind(rawValue: $0) }) else {
      throw UsageError(message: "--workers needs modelled or real")
    }
    return kind
  }

  private static func number(
    of flag: String, in rest: inout ArraySlice<String>, _ range: ClosedRange<UInt64>
  ) throws(UsageError) -> UInt64 {
    guard let text = rest.popFirst() else { throw UsageError(message: "\(flag) needs a number") }
    guard let number = UInt64(text), range.contains(number) else {
      throw UsageError(
        message: "\(flag): \(text) is no number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
