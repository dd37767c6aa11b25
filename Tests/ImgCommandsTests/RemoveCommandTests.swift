import ImgCommands
import ImgModel
import ImgWire
import Testing

@Suite(.timeLimit(.minutes(20))) struct RemoveCommandTests {
  /// Runs a command against a coordinator that has jobs 3, 2 and 1, all ended, and refuses to
  /// remove some.
  private func run(
    _ commandLine: [String], refusing refused: [UInt64] = [],
    _ code: RequestRefusal.Code = .wrongState
  ) async throws -> ScriptedCoordinator.Result {
    try await ScriptedCoordinator().run(commandLine) { request in
      switch request {
      case .jobs(let jobs):
        [.jobs(JobsPage(id: jobs.id, jobs: [3, 2, 1].map { .sample($0) }, hasMore: false))]
      case .change(let change) where refused.contains(change.job.rawValue):
        [
          .refused(
            RequestRefusal(id: change.id, code: code, message: "job \(change.job) is refused"))
        ]
      case .change(let change):
        [.job(JobReply(id: change.id, status: .sample(change.job.rawValue)))]
      default: [nil]
      }
    }
  }

  /// The jobs whose removal was asked for.
  private func asked(_ result: ScriptedCoordinator.Result) -> [UInt64] {
    result.requests.compactMap {
      guard case .change(let change) = $0, change.change == .remove else { return nil }
      return change.job.rawValue
    }
  }

  @Test(arguments: [
    (["1"], "removed 1 job\n"), (["1", "2"], "removed 2 jobs\n"),
    (["--older-than", "0"], "removed 3 jobs\n"), (["--older-than", "36500d"], "removed 0 jobs\n"),
  ])
  func `remove prints the number of removed jobs`(arguments: [String], sentence: String)
    async throws
  {
    let result = try await run(["remove"] + arguments)
    #expect(result.exitCode == .success)
    #expect(result.messages == sentence)
  }

  @Test(arguments: [RequestRefusal.Code.wrongState, .unknownJob])
  func `remove by age skips refused jobs`(code: RequestRefusal.Code) async throws {
    let result = try await run(["remove", "--older-than", "1d"], refusing: [2], code)
    #expect(result.exitCode == .success)
    #expect(asked(result) == [3, 2, 1])
    #expect(result.messages == "removed 2 jobs\n")
  }

  @Test func `remove by number reports each refusal and removes the others`() async throws {
    let result = try await run(["remove", "1", "2", "3", "4"], refusing: [1, 3])
    #expect(result.exitCode == .wrongUse)
    #expect(asked(result) == [1, 2, 3, 4])
    #expect(
      result.messages == """
        imgctl: job 1 is refused
        imgctl: job 3 is refused
        removed 2 jobs

        """)
  }

  @Test func `remove prints no count if every job is refused`() async throws {
    let result = try await run(["remove", "1"], refusing: [1])
    #expect(result.exitCode == .wrongUse)
    #expect(result.messages == "imgctl: job 1 is refused\n")
  }

  @Test(arguments: [(UInt64(3), ""), (2, "removed 1 job\n")])
  func `remove ends with a count if the coordinator stops`(
    refused: UInt64, messages: String
  ) async throws {
    let result = try await run(["remove", "--older-than", "0s"], refusing: [refused], .stopping)
    #expect(result.exitCode == nil)
    #expect(result.error == "job \(refused) is refused")
    #expect(asked(result).last == refused)
    #expect(result.messages == messages)
  }

  @Test func `remove --json prints the last status of each removed job`() async throws {
    let result = try await run(["remove", "1", "2", "3", "--json"], refusing: [2])
    #expect(result.exitCode == .wrongUse)
    #expect(try result.decodedLines(JobStatus.self) == [.sample(1), .sample(3)])
    #expect(result.messages.contains(#""message":"imgctl: job 2 is refused""#))
  }
}
