import ImgClient
import ImgModel
import ImgSystem
import ImgWire

/// What hosts that do not answer do to one that does.
extension Bench {
  private static let slowHostCount = 1_000

  func measureSlowHosts(into report: inout Report) throws {
    let listener = try SilentListener()
    let count = options.scaled(Self.slowHostCount)
    // Each a host of its own, for which the limit of a host is no limit.
    let slow = try imgctl.list(
      named: "slow",
      (0..<count).map { "http://127.1.\($0 / 250).\($0 % 250 + 1):\(listener.port)/a.jpg" })
    var (alone, beside): ([Double], [Double]) = ([], [])
    for round in 1...options.rounds {
      try note("slow hosts, round \(round) of \(options.rounds)")
      alone.append(try fastRate("alone-\(round)", beside: nil))
      beside.append(try fastRate("beside-\(round)", beside: slow))
    }
    let submit = "imgctl submit --wait LIST (\(lineCount) URLs of one host)"
    report.add("a fast host alone", Samples(alone), "/s", command: submit)
    report.add(
      "beside \(count) slow hosts", Samples(beside), "/s",
      command: "\(submit), while as many hosts as there are places do not answer for 2s each")
  }

  /// - Parameter slow: a list that is submitted before.
  private func fastRate(_ name: String, beside slow: String?) throws -> Double {
    let cluster = try start(
      name, settings: ["--transfer-timeout", "2s", "--attempts", "1"])
    if let slow {
      try cluster.run(["submit", slow])
      let client = try cluster.client()
      // The rest of the places is for hosts that are known to be prompt.
      let limits = Limits()
      while try client.status().transfers < limits.transfers - limits.transfersPerHost {
        ThisProcess.pause(for: .milliseconds(10))
      }
    }
    let duration = try cluster.run(["submit", "--wait", options.listPath])
    // What the slow hosts have left to do is of no interest.
    for job in try cluster.client().jobs().jobs where !job.hasEnded {
      try cluster.run(["cancel", "\(job.job)"])
    }
    try cluster.stop()
    return Double(lineCount) / duration.inSeconds
  }

  private var lineCount: Int { decoding.pictureCount }
}
