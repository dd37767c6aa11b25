import StoreCrashSupport
import Synchronization

/// What the threads of a soak did, and what they found wrong.
final class SoakTally: Sendable {
  private struct Sums {
    var reads = 0
    var writes = 0
    var findings: [String] = []
  }

  private let sums = Mutex(Sums())

  func addReader(_ count: Int, _ finding: String?) {
    sums.withLock { sums in
      sums.reads += count
      if let finding { sums.findings.append("a reader: \(finding)") }
    }
  }

  func addWriter(_ count: Int, _ finding: String?) {
    sums.withLock { sums in
      sums.writes += count
      if let finding { sums.findings.append("a writer: \(finding)") }
    }
  }

  func add(_ defects: [String]) {
    sums.withLock { $0.findings += defects }
  }

  /// - Returns: a line on what was done, and one for each finding.
  func report(
    in time: Duration, figures: PictureStore.Figures, threads: String
  ) -> (text: String, isWell: Bool) {
    sums.withLock { sums in
      let summary = """
        \(threads) for \(time.components.seconds) s: \(sums.reads) reads, \(sums.writes) writes, \
        \(figures.evictionCount) evictions, \(figures.entryCount) pictures left in \
        \(figures.occupiedByteCount) bytes of a file of \(figures.fileByteCount); \
        \(sums.findings.count) findings
        """
      let lines = [summary] + sums.findings
      return (lines.map { $0 + "\n" }.joined(), sums.findings.isEmpty)
    }
  }
}
