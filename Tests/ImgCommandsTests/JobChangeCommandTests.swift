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
  ) async throws -> ScriptedCoordinator.Result {
    try await ScriptedCoordinator().run([command, "7"] + rest) { request in
      guard case .change(let change) = request else { return [nil] }
      return [.job(JobReply(id: change.id, status: .sample(7, state)))]
    }
  }

  @Test func `waiting for a damaged job ends with a failure`() async throws {
    let result = try await ScriptedCoordinator().run(["wait", "7"]) { request in
      guard case .job(let job) = request else { return [nil] }
      return [.job(JobReply(id: job.id, status: .sample(7, .damaged)))]
    }
    #expect(result.exitCode == .someFailed)
    #expect(result.messages.contains("job 7 damaged"))
  }

  @Test(arguments: commands.indices)
  func `a change prints a sentence, or the job's status with --json`(
    index: Int
  ) async throws {
    let (command, rest, change, state, sentence) = Self.commands[index]
    let plain = try await run(command, rest, state)
    #expect(plain.exitCode == .success)
    #expect(plain.output.isEmpty)
    #expect(plain.messages == sentence)

    let json = try await run(command, rest + ["--json"], state)
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

  @Test(arguments: ["wait", "watch"])
  func `--json prints an object for each change that is seen, and the end once`(
    command: String
  ) async throws {
    let seen: [JobStatus] = [
      .sample(7, .queued), .sample(7, .queued), .sample(7, .paused), .sample(7),
    ]
    let result = try await ScriptedCoordinator().run([command, "7", "--json"]) { request in
      guard case .job(let job) = request else { return [nil] }
      return seen.map { .job(JobReply(id: job.id, status: $0)) }
    }
    #expect(result.exitCode == .success)
    // Changes that come at the same time may be one.
    let printed = try result.decodedLines(JobStatus.self)
    #expect(printed.last == .sample(7))
    #expect(Set(printed).count == printed.count)
    let positions = printed.compactMap { seen.lastIndex(of: $0) }
    #expect(positions.sorted() == positions)
    #expect(positions.count == printed.count)
    #expect(result.messages.isEmpty)
  }

  @Test func `watch ends well whatever came of the job, and wait tells`() async throws {
    for (command, code) in [("watch", ExitCode.success), ("wait", .someFailed)] {
      let result = try await ScriptedCoordinator().run([command, "7"]) { request in
        guard case .job(let job) = request else { return [nil] }
        return [.job(JobReply(id: job.id, status: .sample(7, .damaged)))]
      }
      #expect(result.exitCode == code)
    }
  }

  @Test func `resume --wait --json prints the ended job once`() async throws {
    let result = try await ScriptedCoordinator().run(["resume", "7", "--wait", "--json"]) {
      request in
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
