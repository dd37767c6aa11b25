import ImgCommands
import ImgModel
import ImgWire
import Testing

/// What `--quiet` leaves.
@Suite(.timeLimit(.minutes(20))) struct QuietTests {
  private func run(_ commandLine: String...) async throws -> ScriptedCoordinator.Result {
    try await ScriptedCoordinator().run(commandLine) { request in
      switch request {
      case .job(let job): [.job(JobReply(id: job.id, status: .sample(7, .damaged)))]
      case .change(let change) where change.job.rawValue == 1:
        [.refused(RequestRefusal(id: change.id, code: .wrongState, message: "job 1 runs"))]
      case .change(let change): [.job(JobReply(id: change.id, status: .sample(7, .paused)))]
      default: [nil]
      }
    }
  }

  @Test(arguments: ["-q", "--quiet"])
  func `--quiet omits notes`(option: String) async throws {
    #expect(try await run("pause", "7").messages.hasPrefix("job 7 paused"))
    let quiet = try await run("pause", "7", option)
    #expect(quiet.exitCode == .success)
    #expect(quiet.messages.isEmpty)
  }

  @Test func `--quiet omits progress and keeps the exit code`() async throws {
    #expect(try await run("wait", "7").messages.contains("job 7"))
    let quiet = try await run("-q", "wait", "7")
    #expect(quiet.exitCode == .someFailed)
    #expect(quiet.messages.isEmpty)
  }

  @Test func `--quiet keeps results`() async throws {
    let quiet = try await run("-q", "wait", "7", "--json")
    #expect(try quiet.decodedLines(JobStatus.self) == [.sample(7, .damaged)])
  }

  @Test func `--quiet keeps errors`() async throws {
    let quiet = try await run("-q", "remove", "1", "2")
    #expect(quiet.exitCode == .wrongUse)
    #expect(quiet.messages == "imgctl: job 1 runs\n")
  }
}
