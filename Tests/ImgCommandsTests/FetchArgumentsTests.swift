import ImgCommands
import ImgModel
import ImgSettings
import Testing

/// The options that say how origins are asked.
@Suite(.timeLimit(.minutes(20))) struct FetchArgumentsTests {
  private func command<C: Command>(_ words: [String], as type: C.Type) throws -> C {
    let invocation = try Invocation(
      arguments: words, environment: ["HOME": "/home/ada"], userID: 1_000)
    guard case .run(let command, _, _) = invocation else { throw UsageError("prints") }
    return try #require(command as? C)
  }

  private func submit(_ options: String...) throws -> FetchOptions {
    try command(["submit", "-"] + options, as: SubmitCommand.self).options.fetch
  }

  private func get(_ options: String...) throws -> FetchOptions {
    try command(["get", "http://h/"] + options, as: GetCommand.self).options.fetch
  }

  @Test func `headers and ignored parameters are repeatable`() throws {
    let options = try submit(
      "--header", "X-B: c: d", "--header", "Authorization:a", "--ignore-query", "X-Amz-*",
      "--ignore-query=v")
    let fields = [("authorization", "a"), ("x-b", "c: d")]
    #expect(options.headers == (try HeaderFields(try fields.map(HeaderField.init))))
    #expect(options.ignoredQuery == (try QueryFilter(["v", "X-Amz-*"])))
  }

  @Test(arguments: [
    "no colon: in the name", "a secret", ": secret", "Cookie: secret", "a: b\rsecret",
  ])
  func `an invalid header is refused without showing its value`(text: String) {
    let error = #expect(throws: UsageError.self) { try submit("--header", text) }
    #expect(error?.description.hasPrefix("imgctl submit: --header: ") == true)
    #expect(error?.description.contains("secret") == false)
  }

  @Test func `lists respect the opt-out by default, and get only on request`() throws {
    #expect(try submit() == FetchOptions(respectsOptOut: true))
    #expect(try submit("--no-respect-opt-out") == FetchOptions())
    #expect(try get() == FetchOptions())
    #expect(try get("--respect-opt-out") == FetchOptions(respectsOptOut: true))
    #expect(try get("--no-respect-opt-out") == FetchOptions())
    #expect(try get("--respect-robots") == FetchOptions(respectsRobots: true))
    #expect(throws: UsageError.self) { try get("--respect-opt-out", "--no-respect-opt-out") }
  }

  @Test func `get and cache get take --cache-key`() throws {
    let key = FetchOptions(cacheKey: try CacheKey("photo-17"))
    #expect(try get("--cache-key", "photo-17") == key)
    let words = ["http://h/", "--cache-key", "photo-17"]
    #expect(try command(["cache", "get"] + words, as: CacheGetCommand.self).fetch == key)
    #expect(try command(["cache", "rm"] + words, as: CacheRmCommand.self).fetch == key)
    #expect(throws: UsageError.self) { try submit("--cache-key", "photo-17") }
    #expect(throws: UsageError.self) { try get("--cache-key", "photo 17") }
  }

  @Test func `headers have a size limit`() {
    let options = (0...HeaderFields.maximumCount).flatMap { ["--header", "a\($0): b"] }
    #expect(throws: UsageError.self) {
      try command(["submit", "-"] + options, as: SubmitCommand.self)
    }
  }
}
