import ImgCommands
import ImgModel
import ImgSettings
import ImgWire
import Testing

/// `imgctl get`, and what it has in common with `submit`.
extension InvocationTests {
  @Test func `get takes a delay and a viewer`() throws {
    let plain = try command("get http://h/", as: GetCommand.self)
    #expect(plain.viewer == nil && plain.options.delay == .zero)
    let get = try command("get http://h/ --viewer left --delay 250ms", as: GetCommand.self)
    #expect(get.viewer == "left" && get.options.delay == .milliseconds(250))
    let longest = String(repeating: "v", count: GetRequest.maximumViewerByteCount)
    #expect(try command("get http://h/ --viewer \(longest)", as: GetCommand.self).viewer == longest)
    for name in ["", longest + "v"] {
      #expect(
        throws: UsageError("imgctl get: --viewer: a viewer's name has 1 to 200 bytes")
      ) { try invocation("get http://h/ --viewer=\(name)") }
    }
  }

  @Test func `get takes --progress, and submit does not`() throws {
    #expect(try !command("get http://h/", as: GetCommand.self).showsProgress)
    #expect(try command("get http://h/ --progress", as: GetCommand.self).showsProgress)
    #expect(
      throws: UsageError("imgctl submit: unknown option \"--progress\"")
    ) { try invocation("submit - --progress") }
  }

  @Test func `get takes --incremental, with a file or JSON for the previews`() throws {
    #expect(try !command("get http://h/", as: GetCommand.self).isIncremental)
    for options in ["-o a.png", "--json", "--json -o a.png"] {
      let text = "get http://h/ --incremental \(options)"
      #expect(try command(text, as: GetCommand.self).isIncremental)
    }
    for options in ["", " -o -"] {
      #expect(
        throws: UsageError(
          "imgctl get: --incremental: standard output takes one picture; use -o FILE for "
            + "previews, or --json")
      ) { try invocation("get http://h/ --incremental\(options)") }
    }
    #expect(
      throws: UsageError("imgctl submit: unknown option \"--incremental\"")
    ) { try invocation("submit - --incremental") }
  }

  @Test func `get takes --no-cache`() throws {
    #expect(try !command("get http://h/", as: GetCommand.self).bypassesStore)
    #expect(try command("get http://h/ --no-cache", as: GetCommand.self).bypassesStore)
    #expect(
      throws: UsageError("imgctl submit: unknown option \"--no-cache\"")
    ) { try invocation("submit - --no-cache") }
  }

  @Test func `get writes to a file or to standard output`() throws {
    #expect(try command("get http://h/", as: GetCommand.self).outputPath == nil)
    #expect(try command("get http://h/ -o -", as: GetCommand.self).outputPath == nil)
    let file = try command("get http://h/ -o a.jpg --json", as: GetCommand.self)
    #expect(file.outputPath == "a.jpg" && file.isJSON && file.picture == "http://h/")
  }

  @Test(arguments: CachePolicy.allCases)
  func `submit and get take each cache policy`(policy: CachePolicy) throws {
    let option = "--cache-policy \(policy.rawValue)"
    #expect(
      try command("submit a \(option)", as: SubmitCommand.self).options.fetch.cachePolicy == policy)
    #expect(
      try command("get http://h/ \(option)", as: GetCommand.self).options.fetch.cachePolicy
        == policy)
    #expect(
      try command("submit a", as: SubmitCommand.self).options.fetch.cachePolicy == .cacheElseLoad)
  }
}

/// The format of a thumbnail and the name of its file.
extension InvocationTests {
  @Test(
    arguments: [
      ("-o a.png", .png), ("-oa.JPG", .jpeg), ("-o a.webp", .webp), ("--output=b.d/a.avif", .avif),
      ("-o a.txt", .auto), ("-o a", .auto), ("-o a.gif", .gif), ("-o a.tif", .auto),
      ("-o -", .auto), ("", .auto),
      ("-o a.jpg --format webp", .webp), ("-o a.jpg --format auto", .auto),
    ] as [(String, Variant.Format)])
  func `the extension of the output file selects the format unless an option does`(
    options: String, format: Variant.Format
  ) throws {
    let get = try command("get http://h/ \(options)", as: GetCommand.self)
    #expect(get.options.variant == Variant.standard.encoded(as: format))
    let cacheGet = try command("cache get http://h/ \(options)", as: CacheGetCommand.self)
    #expect(cacheGet.variant == Variant.standard.encoded(as: format))
  }
}
