import FoundationEssentials
import ImgCommands
import ImgModel
import ImgWire
import Testing

/// What the commands that change one job print.
@Suite(.timeLimit(.minutes(20))) struct JobChangeCommandTests {
  private static let commands: [(String, [String], JobChange, JobRecord.State, String)] = [
    (
      "pause", [], .pause, .paused,
      "job 7 paused after 0 of 20; continue with: imgctl resume 7\n"
    ),
    ("resume", [], .resume, .queued, "job 7 continues after 0 of 20\n"),
    ("cancel", [], .cancel, .cancelled, "job 7 cancelled: 0 done, 0 failed, 0 cancelled\n"),
    ("priority", ["2"], .prioritise(2), .queued, "job 7 has priority 0\n"),
  ]

  private func run(
    _ command: String, _ rest: [String], _ state: JobRecord.State
  ) throws -> ScriptedCoordinator.Result {
    try ScriptedCoordinator().run([command, "7"] + rest) { request in
      guard case .change(let change) = request else { return [nil] }
      return [.job(JobReply(id: change.id, status: .sample(7, state)))]
    }
  }

  @Test func `waiting for a damaged job ends with a failure`() throws {
    let result = try ScriptedCoordinator().run(["wait", "7"]) { request in
      guard case .job(let job) = request else { return [nil] }
      return [.job(JobReply(id: job.id, status: .sample(7, .damaged)))]
    }
    #expect(result.exitCode == .someFailed)
    #expect(result.messages.contains("job 7 damaged"))
  }

  @Test(arguments: commands.indices)
  func `a change prints a sentence, or the job's status with --json`(
    index: Int
  ) throws {
    let (command, rest, change, state, sentence) = Self.commands[index]
    let plain = try run(command, rest, state)
    #expect(plain.exitCode == .success)
    #expect(plain.output.isEmpty)
    #expect(plain.messages == sentence)

    let json = try run(command, rest + ["--json"], state)
    #expect(json.exitCode == .success)
    #expect(json.messages.isEmpty)
    #expect(try json.decodedLines(JobStatus.self) == [.sample(7, state)])
    #expect(
      json.requests
        == [
          .change(
            ChangeRequest(id: RequestID(rawValue: 1), job: JobID(rawValue: 7), change: change))
        ])
  }

  @Test func `wait --json prints an object for each change`() throws {
    let result = try ScriptedCoordinator().run(["wait", "7", "--json"]) { request in
      guard case .job(let job) = request else { return [nil] }
      let seen: [JobStatus] = [
        .sample(7, .queued), .sample(7, .queued), .sample(7, .paused), .sample(7),
      ]
      return seen.map { .job(JobReply(id: job.id, status: $0)) }
    }
    #expect(result.exitCode == .success)
    #expect(
      try result.decodedLines(JobStatus.self)
        == [.sample(7, .queued), .sample(7, .paused), .sample(7)])
    #expect(result.messages.isEmpty)
  }

  @Test func `resume --wait --json prints the ended job once`() throws {
    let result = try ScriptedCoordinator().run(["resume", "7", "--wait", "--json"]) { request in
      switch request {
      case .change(let change): [.job(JobReply(id: change.id, status: .sample(7, .queued)))]
      case .job(let job): [.job(JobReply(id: job.id, status: .sample(7)))]
      default: [nil]
      }
    }
    #expect(result.exitCode == .success)
    #expect(try result.decodedLines(JobStatus.self) == [.sample(7)])
  }
}
