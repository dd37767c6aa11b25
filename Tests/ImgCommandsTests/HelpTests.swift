import FoundationEssentials
import ImgCommands
import ImgModel
import ImgSettings
import Testing

@Suite struct HelpTests {
  private func text(_ commandLine: String) throws -> String {
    let invocation = try Invocation(
      arguments: commandLine.split(separator: " ").map(String.init), environment: [:], userID: 1)
    guard case .print(let text) = invocation else {
      throw UsageError("\(commandLine) runs")
    }
    return text
  }

  private func golden(_ name: String) throws -> String {
    let directory = URL(filePath: #filePath).deletingLastPathComponent()
    return try String(
      contentsOf: directory.appending(path: "Golden/\(name).txt"), encoding: .utf8)
  }

  @Test(arguments: ["--version", "-V", "-qV", "--json --version", "-V status 7"])
  func `the version is that of the build`(commandLine: String) throws {
    #expect(try text(commandLine) == "imgctl \(Build.version)\n")
  }

  @Test(arguments: ["", "help", "--help", "-h", "--json --help", "help help"])
  func `the overview lists the commands and the exit codes`(commandLine: String) throws {
    #expect(try text(commandLine) == golden("help"))
  }

  @Test(arguments: ["help cache", "cache --help", "cache -h", "--json cache -h"])
  func `a group lists its commands`(commandLine: String) throws {
    #expect(try text(commandLine) == golden("help-cache"))
  }

  @Test(arguments: ["help submit", "submit --help", "submit -h --bogus", "-h submit"])
  func `the help of a command is complete`(commandLine: String) throws {
    #expect(try text(commandLine) == golden("help-submit"))
  }

  @Test func `every command has --json`() throws {
    let names = try text("help").split(separator: "\n").drop { $0 != "Commands:" }.dropFirst()
      .prefix { $0.hasPrefix("  ") }
      .map { $0.dropFirst(2).split(separator: "  ")[0] }
    #expect(names.count > 20)
    for name in names {
      #expect(try text("help \(name)").contains("\n  --json"), "\(name)")
    }
  }

  @Test func `the help of limits names no defaults`() throws {
    #expect(
      try text("help limits").contains(
        """
        Options:
          --transfers N             The maximum number of concurrent transfers, or
                                    "unlimited".
          --transfers-per-host N    The maximum number of concurrent transfers from one
                                    host, or "unlimited".
          --rate-per-host RATE      The maximum rate of transfer starts at one host,
                                    such as 5/s or 30/m, or "none".
          --bytes-per-second SIZE   The maximum rate of bytes from all hosts together,
                                    such as 5M, or "none".
          --bytes-per-second-per-host SIZE
                                    The maximum rate of bytes from one host, such as
                                    500K, or "none".
          --memory-budget SIZE      The maximum size of the pictures that all processes
                                    keep in memory, at least 10M.
          --default-expiry DURATION
                                    How long a thumbnail is kept if the request does not
                                    say.

        """))
  }

  @Test(arguments: [
    "submit", "status", "wait", "failures", "retry", "pause", "resume", "cancel", "priority",
    "unpin", "remove", "list", "get", "info", "export", "cache stat", "cache ls", "cache get",
    "cache rm",
    "cache clean",
    "cache reset", "cache verify", "limits", "start", "stop",
    "config show", "config set", "config unset",
    "version",
  ])
  func `every command has help of at most 80 columns with a valid example`(command: String) throws {
    let help = try text("help \(command)")
    #expect(help.hasPrefix("imgctl \(command): "))
    #expect(help.split(separator: "\n").allSatisfy { $0.count <= HelpText.width })
    let examples = help.split(separator: "\n").drop { $0 != "Examples:" }
      .filter { $0.hasPrefix("  imgctl") }
    #expect(!examples.isEmpty)
    for example in examples {
      let words = example.split(separator: " ").prefix { $0 != "<" }.dropFirst().map(String.init)
      #expect(throws: Never.self) {
        try Invocation(arguments: words, environment: ["HOME": "/h"], userID: 1)
      }
    }
  }
}
