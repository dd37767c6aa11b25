import ImgModel
import ImgSettings
import Testing

@Suite struct CoordinatorInvocationTests {
  private func invocation(_ arguments: String...) throws(UsageError) -> CoordinatorInvocation {
    try CoordinatorInvocation(arguments: arguments, environment: ["HOME": "/h"], userID: 1)
  }

  @Test func `arguments make settings`() throws {
    guard case .run(let settings) = try invocation("--transfers=3") else {
      Issue.record("not settings")
      return
    }
    #expect(settings.limits.transfers == 3)
  }

  @Test(arguments: ["--version", "-V"])
  func `the version is printed`(option: String) throws {
    #expect(try invocation(option) == .print("imgcoordinator \(Build.version)\n"))
  }

  @Test func `the help names every setting and fits 80 columns`() throws {
    guard case .print(let help) = try invocation("--help") else {
      Issue.record("not a text")
      return
    }
    for option in Setting.options {
      #expect(help.contains("  \(option.usage)"))
    }
    #expect(help.split(separator: "\n").allSatisfy { $0.count <= HelpText.width })
  }

  @Test func `operands are refused`() {
    #expect(
      throws: UsageError("unexpected argument \"now\": imgcoordinator [options]")
    ) { try invocation("now") }
  }
}
