import FoundationEssentials
import ImgCommands
import ImgModel
import ImgSettings
import TestFiles
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

  // MARK: - Cookies

  private func cookies(_ file: String) throws -> [String] {
    let directory = try TestDirectory()
    let path = directory.path + "/cookies.txt"
    try file.write(toFile: path, atomically: false, encoding: .utf8)
    return try get("--cookies", path).cookies.lines
  }

  @Test(arguments: ["\n", "\r\n"])
  func `a cookie file is read as curl and yt-dlp read it`(end: String) throws {
    let lines = [
      "# Netscape HTTP Cookie File", "# a comment", "", "  ",
      ".example.org\tTRUE\t/\tTRUE\t99999999999\tid\t1",
      "#HttpOnly_example.org\tFALSE\t/a\tFALSE\t0\tsession\t2",
      "example.org\tFALSE\t/\tFALSE\t1\texpired\t3",
    ]
    let read = [
      "example.org\tTRUE\t/\tTRUE\t99999999999\tid\t1",
      "example.org\tFALSE\t/a\tFALSE\t0\tsession\t2",
    ]
    #expect(try cookies(lines.joined(separator: end) + end) == read)
    #expect(try cookies(lines.joined(separator: end)) == read)
  }

  @Test(arguments: [
    ("[{\"name\": \"id\", \"value\": \"secret\"}]", "it is JSON"),
    (" {\"cookies\": []}", "it is JSON"), ("Cookie: id=secret", "it is a header field"),
    ("Set-Cookie: id=secret", "it is a header field"),
    ("SQLite format 3\0", "it is the database of a browser"),
    ("# one\nid=secret\n", "line 2: a cookie has 7 fields with tabs between them, not 1"),
    ("", "it has no cookies"), ("# Netscape HTTP Cookie File\n\n", "it has no cookies"),
    ("h\tTRUE\t/\tFALSE\t1\tid\tsecret", "all its cookies have expired; export it again"),
  ])
  func `a file of another form is refused without showing what it holds`(
    file: String, reason: String
  ) throws {
    let error = #expect(throws: UsageError.self) { try cookies(file) }
    #expect(error?.description.contains("imgctl get: --cookies: ") == true)
    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    #expect(error?.description.contains("secret") == false)
  }

  @Test func `a cookie file that is missing or too large is refused`() throws {
    #expect(throws: UsageError.self) { try get("--cookies", "/nowhere/cookies.txt") }
    #expect(throws: UsageError.self) { try cookies(String(repeating: "#", count: 5 << 20)) }
  }

  @Test func `a Referer is a URL, or the origin of each picture`() throws {
    #expect(try submit("--referer", "auto", "--no-respect-opt-out").referer == .ownOrigin)
    let options = try get("--referer", "HTTPS://Example.org/page")
    #expect(options.referer == .none)
    let field = try HeaderField(name: "referer", value: "https://example.org/page")
    #expect(options.headers == (try HeaderFields([field])))
    for text in ["automatic", "ftp://h/", "http://a:secret@h/", "file:///a"] {
      let error = #expect(throws: UsageError.self) { try get("--referer", text) }
      #expect(error?.description.contains("secret") == false)
    }
    #expect(throws: UsageError.self) { try get("--referer", "http://h/", "--header", "Referer: a") }
  }

  @Test func `a list takes all passwords of a file, and get those of its hosts`() throws {
    let directory = try TestDirectory()
    let path = try directory.write(
      Array(
        """
        # machine no.example login a password b
        machine H login ada password "p\\"q r"
        macdef init
        machine macro.example login a password b

        machine h login other password other
        machine other.example
          login bob
          account c password d
        machine half.example login eve
        default login all password all
        """.utf8), to: "netrc")
    let all = try submit("--netrc-file", path).headers
    #expect(all.map(\.host) == ["h", "other.example"])
    #expect(all.map(\.value) == ["Basic YWRhOnAicSBy", "Basic Ym9iOmQ="])
    #expect(try get("--netrc-file", path).headers.map(\.host) == ["h"])
    #expect(try get("--netrc-file", path, "--fallback", "http://other.example/").headers.count == 2)
    #expect(throws: UsageError.self) {
      try get("--netrc-file", path, "--header", "Authorization: a")
    }
    #expect(throws: UsageError.self) { try get("--netrc-file", path + "-none") }
    let many = (0...HeaderFields.maximumCount).map { "machine h\($0) login a password b\n" }
    let long = try directory.write(Array(many.joined().utf8), to: "long")
    let error = #expect(throws: UsageError.self) { try submit("--netrc-file", long) }
    #expect(error?.description.contains("33 hosts, but at most 32") == true)
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
