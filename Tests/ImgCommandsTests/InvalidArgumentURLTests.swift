import ImgCommands
import ImgSettings
import Testing

@Suite struct InvalidArgumentURLTests {
  @Test(arguments: [
    ["cache", "rm", "http://h/a", "ftp://h/b"], ["cache", "get", "ftp://h/b", "-o", "b.jpg"],
  ])
  func `the error names the invalid URL`(commandLine: [String]) throws {
    let places = ["--socket", "/nonexistent/socket", "--data-dir", "/nonexistent"]
    let invocation = try Invocation(
      arguments: commandLine + places, environment: [:], userID: 1)
    guard case .run(let command, let settings, _) = invocation else {
      throw UsageError("the command line prints")
    }
    let closed = Output(descriptor: -1)
    let error = #expect(throws: (any Error).self) {
      try command.run(in: CommandContext(settings: settings, output: closed, messages: closed))
    }
    let report = try #require(error.flatMap { ErrorReport($0) })
    #expect(report.exitCode == .wrongUse)
    #expect(report.line(isJSON: false).hasPrefix("imgctl: ftp://h/b: unsupported_scheme"))
    #expect(report.line(isJSON: true).contains(#""code":"unsupported_scheme""#))
  }
}
