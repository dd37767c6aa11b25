import FoundationEssentials
import ImgClient
import ImgModel
import ImgSystem
import TestCluster
import Testing

extension Cluster {
  /// A cluster of one worker, which answers all look-ups of a list at once, so that the list is
  /// fetched in its order: of two, the faster one's part goes first.
  static func inOrder(_ settings: [String: String] = [:]) throws -> Cluster {
    try Cluster(settings.merging(["WORKERS": "1"]) { given, _ in given })
  }

  /// What `imgctl failures` lists: code by URL. Each line has a reason, too.
  func failures(of job: JobID) throws -> [String: String] {
    let result = try imgctl("failures", "\(job)")
    let rows = result.lines.map { $0.split(separator: "\t").map(String.init) }
    return try rows.reduce(into: [:]) { failures, row in
      try #require(row.count == 4 && !row[3].isEmpty)
      failures[row[2]] = row[0]
    }
  }

  /// What `imgctl status JOB --json` prints.
  func status(of job: JobID) throws -> JobStatus {
    try imgctl("status", "\(job)", "--json").decoded(JobStatus.self)
  }

  /// What `imgctl status --json` prints.
  func status() throws -> ClusterStatus {
    try imgctl("status", "--json").decoded(ClusterStatus.self)
  }

  /// What `imgctl list --json` prints.
  func jobs() throws -> [JobID] {
    try imgctl("list", "--json").lines.map {
      try JSONDecoder().decode(JobStatus.self, from: Data($0.utf8)).job
    }
  }

  /// Waits until what was asked for so far competes for a transfer or is beyond that. A status that
  /// is asked for now is answered after all lines in hand have been handed out to be looked up.
  ///
  /// - Returns: whether it did in time.
  func waitUntilLookedUp() throws -> Bool {
    try waitUntil(\.isNothingLookedUp)
  }

  /// Runs `imgctl` and expects it to be refused: exit status 2 and a sentence that says why.
  func expectRefused(
    _ arguments: String..., because reason: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let result = try begin(arguments).wait()
    #expect(result.exitCode == 2, sourceLocation: sourceLocation)
    #expect(result.messages.contains(reason), sourceLocation: sourceLocation)
  }

  /// Expects that a job ended as its list was made to.
  func expect(
    _ status: JobStatus, endedAs list: MixedList, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(status.state == .finished, sourceLocation: sourceLocation)
    #expect(status.total == list.lines.count, sourceLocation: sourceLocation)
    #expect(status.done == list.doneCount, sourceLocation: sourceLocation)
    #expect(status.failed == list.failures.count, sourceLocation: sourceLocation)
    let rest = [status.cancelled, status.queued, status.running]
    #expect(rest == [0, 0, 0], sourceLocation: sourceLocation)
    let failures = try failures(of: status.job)
    #expect(failures == list.failures, sourceLocation: sourceLocation)
  }

  /// Asks for the cluster's state until it meets a condition.
  ///
  /// - Returns: whether it did before a program's patience ended.
  func waitUntil(_ condition: (ClusterStatus) throws -> Bool) throws -> Bool {
    let client = try client()
    return try eventually { try condition(try client.status()) }
  }
}

extension ClusterStatus {
  /// Whether what has come in so far waits for a transfer or is beyond it: who waits for a place
  /// competes for it only then.
  var isNothingLookedUp: Bool { workers.allSatisfy { $0.lookingUp == 0 } }
}

extension ProgramResult {
  /// The last object that was printed: where changes are shown, the final one.
  func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try JSONDecoder().decode(type, from: Data(try #require(lines.last).utf8))
  }

  /// All objects that were printed, one a line.
  func decodedLines<Value: Decodable>(_ type: Value.Type) throws -> [Value] {
    try lines.map { try JSONDecoder().decode(type, from: Data($0.utf8)) }
  }
}

/// Polls a condition until it is true.
///
/// - Returns: whether it was so before the time ended, by default a program's patience.
func eventually(
  within time: Duration = ProgramRun.patience, _ condition: () throws -> Bool
) throws -> Bool {
  let deadline = ContinuousClock.now + time
  while ContinuousClock.now < deadline {
    if try condition() { return true }
    ThisProcess.pause(for: .milliseconds(5))
  }
  return false
}
