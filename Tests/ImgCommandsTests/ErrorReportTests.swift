import ImgClient
import ImgCommands
import ImgModel
import ImgSettings
import ImgSystem
import ImgWire
import Testing

@Suite struct ErrorReportTests {
  private static let errors: [(any Error & Sendable, String, ExitCode)] = [
    (ClientError.unreachable(socketPath: "/s", reason: "r"), "no_coordinator", .noCoordinator),
    (
      ClientError.denied(socketPath: "/s", ownerID: 7, reason: "r"), "not_permitted", .noCoordinator
    ),
    (
      ClientError.otherStore(socketPath: "/s", theirs: "/a", ours: "/b"), "other_data_directory",
      .wrongUse
    ),
    (ClientError.refused(.unknownJob, message: "there is no job 7"), "unknown_job", .wrongUse),
    (ClientError.refused(.stopping, message: "it is stopping"), "stopping", .noCoordinator),
    (ImageError(code: .unreachable, message: "no answer"), "no_coordinator", .noCoordinator),
    (ImageError(code: .disconnected, message: "it has gone"), "connection_lost", .noCoordinator),
    (ImageError(code: .unknownJob, message: "there is no job 7"), "unknown_job", .wrongUse),
    (UsageError("imgctl get: URL is missing"), "usage", .wrongUse),
    (SystemError(operation: "open /a", code: 2), "system", .wrongUse),
    (Failure(stage: .store, code: .internal, detail: "d"), "internal", .wrongUse),
  ]

  @Test(arguments: errors.indices)
  func `an error has an exit code, a code for scripts and a sentence`(
    index: Int
  ) throws {
    let (error, code, exitCode) = Self.errors[index]
    let report = try #require(ErrorReport(error))
    #expect(report.exitCode == exitCode)
    let sentence = report.line(isJSON: false)
    #expect(sentence.hasPrefix("imgctl"))
    #expect(
      report.line(isJSON: true)
        == #"{"error":{"code":"\#(code)","message":"\#(sentence.dropLast())"},"schema":1}"# + "\n")
  }

  @Test func `a closed output is no error`() {
    #expect(ErrorReport(OutputError.readerLeft) == nil)
  }

  @Test func `neither form contains a password`() throws {
    let report = try #require(ErrorReport(UsageError("imgctl: http://ada:secret@h/ is no list")))
    for isJSON in [false, true] {
      #expect(!report.line(isJSON: isJSON).contains("secret"))
    }
  }

  @Test func `remove prints a refusal as JSON and removes the other jobs`() async throws {
    let result = try await ScriptedCoordinator().run(["remove", "1", "2", "--json"]) { request in
      guard case .change(let change) = request else { return [nil] }
      return change.job.rawValue == 1
        ? [.refused(RequestRefusal(id: change.id, code: .wrongState, message: "job 1 is queued"))]
        : [.job(JobReply(id: change.id, status: .sample(2)))]
    }
    #expect(
      result.messages
        == #"{"error":{"code":"wrong_state","message":"imgctl: job 1 is queued"},"schema":1}"#
        + "\n")
    #expect(try result.decodedLines(JobStatus.self) == [.sample(2)])
  }
}
