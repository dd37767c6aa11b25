import Testing

/// What the README tells people to type exists.
struct ReadmeTests {
  /// The lines of the README's code blocks that call imgctl, without prompts and comments.
  private func calls() throws -> [String] {
    var isInside = false
    return try Repository.text("README.md").split(separator: "\n").compactMap { line in
      if line.hasPrefix("```") { isInside.toggle() }
      let typed = line.prefix { $0 != "#" }
      return isInside && typed.contains(/(?:^|[\s\/(])imgctl\b/) ? String(typed) : nil
    }
  }

  /// The text of everything that defines commands and settings.
  private func definitions() throws -> String {
    try ["Sources/ImgCommands", "Sources/ImgSettings"]
      .flatMap { try Repository.swiftSources(below: $0) }
      .flatMap(\.code)
      .joined(separator: "\n")
  }

  @Test func `every script exists and can be run`() throws {
    let scripts = try Repository.text("README.md").matches(of: /\b(?:scripts|\.ci)\/[\w.-]+\b/)
    #expect(!scripts.isEmpty)
    for script in scripts.map({ String($0.output) }) {
      #expect(Repository.isExecutable(script), "\(script)")
    }
  }

  @Test func `every command of imgctl exists`() throws {
    let definitions = try definitions()
    let commands = try calls().flatMap { call in
      call.matches(of: /(?:^|[\s\/(])imgctl ([a-z]+)/).map { String($0.1) }
    }
    #expect(!commands.isEmpty)
    for command in Set(commands).sorted() {
      let isDefined = ["\"\(command)\"", "\"imgctl \(command)"].contains {
        definitions.contains($0)
      }
      #expect(isDefined, "imgctl \(command)")
    }
  }

  @Test func `every option of imgctl exists`() throws {
    let definitions = try definitions()
    for call in try calls() {
      for option in call.matches(of: /\s(--[a-z-]+)/).map({ String($0.1) }) {
        let isDefined = definitions.contains("\"\(option)\"")
        #expect(isDefined, "\(option) in: \(call)")
      }
    }
  }
}
