import FoundationEssentials
import ImgClient
import ImgSystem
import ImgWire
import TestCluster
import Testing

extension Cluster {
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

extension ProgramResult {
  func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try JSONDecoder().decode(type, from: Data(outputBytes))
  }
}

/// Looks again and again, for what nobody tells of, until it is so.
///
/// - Returns: whether it was so before a program's patience ended.
func eventually(_ condition: () throws -> Bool) throws -> Bool {
  let deadline = ContinuousClock.now + ProgramRun.patience
  while ContinuousClock.now < deadline {
    if try condition() { return true }
    ThisProcess.pause(for: .milliseconds(5))
  }
  return false
}
