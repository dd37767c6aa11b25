import TestCluster
import TestFiles
import Testing

/// Readers and writers at once; `scripts/soak` does it for a minute, under the thread sanitiser.
@Suite(.timeLimit(.minutes(20)))
struct SoakTests {
  @Test(arguments: [1, 2])
  func `eight readers and four writers a process see no inconsistency`(
    processCount: Int
  ) throws {
    let directory = try TestDirectory()
    let run = try ProgramRun(
      try Programs.path(of: "imgcrashtest"),
      [
        "soak", directory.file("store"), "--readers", "8", "--writers", "4",
        "--processes", "\(processCount)", "--operations", "150",
      ],
      environment: ["SWIFT_BACKTRACE": "enable=no"], in: directory)
    let result = try run.wait(atMost: .seconds(120))
    #expect(result.exitCode == 0, "\(result.output) \(result.messages)")
    #expect(result.output.contains("1200 reads, 600 writes"))
    #expect(result.output.contains("; 0 findings"))
  }
}
