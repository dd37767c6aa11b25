import ImgCommands
import ImgModel
import ImgSystem
import ImgWire
import Testing

/// What a person is told whose list was under way when its coordinator left.
@Suite(.timeLimit(.minutes(20))) struct SubmitCommandTests {
  /// Submits a list that is longer than what a socket holds unread.
  private func submit(
    _ replies: @escaping @Sendable (ClientMessage) -> [CoordinatorReply?]
  ) async throws -> ScriptedCoordinator.Result {
    let coordinator = try ScriptedCoordinator()
    let path = coordinator.directory + "/urls.txt"
    let lines = (0..<100_000).map { "https://example.org/\($0).jpg" }
    try FileIO.replace(path: path, with: Array(lines.joined(separator: "\n").utf8))
    return try await coordinator.run(["submit", path], replies: replies)
  }

  @Test func `a list is not accepted if the coordinator ends in the middle`() async throws {
    let result = try await submit { request in
      if case .submitLines = request { [nil] } else { [] }
    }
    #expect(
      result.error
        == "the coordinator has gone; the list had not arrived whole and was not accepted")
    #expect(result.output.isEmpty)
  }

  @Test func `if the reply to a complete list is missing, the error points to imgctl list`()
    async throws
  {
    let result = try await submit { request in
      if case .submitEnd = request { [nil] } else { [] }
    }
    #expect(
      result.error
        == "the coordinator has gone; whether it accepted the list is not known: imgctl list tells")
    #expect(result.output.isEmpty)
  }

  @Test func `the coordinator's last reason is reported`() async throws {
    let result = try await submit { request in
      guard case .submitLines(let lines) = request else { return [] }
      let refusal = RequestRefusal(id: lines.id, code: .journal, message: "the disk is full")
      return [.refused(refusal), nil]
    }
    #expect(result.error == "the disk is full")
  }

  @Test func `a list that is accepted prints the job's number`() async throws {
    let record = JobRecord(
      id: JobID(rawValue: 7), options: RequestOptions(variant: .standard),
      submittedAt: WallTime(rawValue: 0))
    let result = try await submit { request in
      switch request {
      case .submitEnd(let end):
        [.submitted(Submitted(id: end.id, job: record.id, total: 100_000))]
      case .job(let request): [.job(JobReply(id: request.id, status: JobStatus(record)))]
      default: []
      }
    }
    #expect(result.exitCode == .success)
    #expect(result.output == "7\n")
  }
}
