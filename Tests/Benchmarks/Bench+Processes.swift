import ImgClient
import ImgModel
import ImgWire

/// What a person waits for at the command line.
extension Bench {
  private static let processRuns = 50
  private static let submittedLineCount = 200_000

  func measureProcesses(
    _ url: ImageURL, on cluster: Cluster, into report: inout Report
  ) throws {
    try note("processes")
    let place = ["--data-dir", cluster.dataDirectory]
    let commands: [(words: [String], shown: String)] = [
      (["--version"], "imgctl --version"),
      (["status"] + place, "imgctl status"),
      (["get", url.text, "--output", "-"] + place, "imgctl get URL (stored)"),
    ]
    for (words, shown) in commands {
      var (time, memory) = (Samples(), Samples())
      for _ in 0..<options.scaled(Self.processRuns) {
        time.add(try imgctl.run(words) / .milliseconds(1))
        memory.add(try imgctl.peakMemory(words) / Double(1 << 20))
      }
      report.add("\(words[0]), the process", time, "ms", command: shown)
      report.add("\(words[0]), its memory", memory, "MiB", command: "time \(shown)")
    }
  }

  /// Lines that fail without being fetched: what is measured is the way into the journal.
  func measureSubmission(to cluster: Cluster, into report: inout Report) throws {
    let lineCount = options.scaled(Self.submittedLineCount)
    let list = try imgctl.list(
      named: "lines", (1...lineCount).map { "ftp://bench.invalid/picture/\($0).jpg" })
    var rate = Samples()
    for round in 1...options.rounds {
      try note("\(lineCount) lines, round \(round) of \(options.rounds)")
      rate.add(Double(lineCount) / (try cluster.run(["submit", list]).inSeconds))
      try awaitJobs(of: cluster)
    }
    report.add("lines submitted", rate, "/s", command: "imgctl submit LIST (\(lineCount) lines)")
  }

  /// So that the end of one round is not measured in the next.
  private func awaitJobs(of cluster: Cluster) throws {
    let client = try cluster.client()
    for job in try client.jobs().jobs where !job.hasEnded {
      _ = try client.watch(job.job, every: .seconds(1)) { _ in true }
    }
  }
}
