import FoundationEssentials
import ImgCommands
import ImgModel
import ImgSettings
import TestFiles
import Testing

/// Where options stand, and what every command takes.
extension InvocationTests {
  @Test(arguments: [
    "--json status 7", "status --json 7", "status 7 --json", "--json -q status 7",
    "--socket /s --json status 7", "--json -- status 7",
  ])
  func `options may precede or follow the command`(commandLine: String) throws {
    let status = try command(commandLine, as: StatusCommand.self)
    #expect(status.subject == .job(JobID(rawValue: 7)))
    #expect(status.isJSON)
  }

  @Test func `an option before the command may have a value`() throws {
    #expect(try settings("--socket list list").socketPath == "list")
    #expect(try settings("--socket=/s list").socketPath == "/s")
    #expect(try settings("--socket /s list --socket /t").socketPath == "/t")
    #expect(try command("-oa.png get http://h/", as: GetCommand.self).outputPath == "a.png")
    let networks = try settings("--allow-network 10.0.0.0/8 start --allow-network 127.0.0.0/8")
    #expect(networks.allowedNetworks.count == 2)
  }

  @Test func `an option may stand between the two words of a command`() throws {
    #expect(try command("--json cache stat", as: CacheStatCommand.self).isJSON)
    #expect(try command("cache --json stat", as: CacheStatCommand.self).isJSON)
  }

  @Test func `after two dashes there are no options`() throws {
    #expect(try command("get -- --json", as: GetCommand.self).picture == "--json")
    #expect(try !command("-- get --json", as: GetCommand.self).isJSON)
    #expect(try command("-- get --json", as: GetCommand.self).picture == "--json")
  }

  @Test func `the last value counts, unless the option is repeatable`() throws {
    let get = try command(
      "get http://h/ -o a.jpg -ob.jpg --size 1 --size 2 --fallback x --fallback y",
      as: GetCommand.self)
    #expect(get.outputPath == "b.jpg")
    #expect(get.options.variant.width == 2)
    #expect(get.fallbacks == ["x", "y"])
  }

  @Test func `a request is strict unless it is lenient`() throws {
    #expect(try !command("get http://h/", as: GetCommand.self).options.isLenient)
    #expect(try command("get http://h/ --lenient", as: GetCommand.self).options.isLenient)
    #expect(try command("submit a.txt --lenient", as: SubmitCommand.self).options.isLenient)
    let put = try command("cache put http://h/ a.jpg --lenient", as: CachePutCommand.self)
    #expect(put.options.isLenient)
    #expect(try command("cache get http://h/ --lenient", as: CacheGetCommand.self).isLenient)
  }

  /// Else an option in front of the command could hide its name.
  @Test func `a flag takes a value in all its commands or in none`() throws {
    var isValued: [String: Bool] = [:]
    for command in CommandTable.all {
      for option in command.grammar.options {
        let takesValue = option.placeholder != nil
        for name in [option.flag, option.shortFlag].compactMap(\.self) {
          #expect(isValued[name] ?? takesValue == takesValue, "\(command.words) \(name)")
          isValued[name] = takesValue
        }
      }
    }
    #expect(isValued["-q"] == false && isValued["-o"] == true)
  }

  @Test func `every command has --quiet`() throws {
    for command in CommandTable.all {
      #expect(command.grammar.options.contains { $0.flag == "--quiet" }, "\(command.words)")
    }
    for commandLine in ["-q status", "status -q", "status --quiet --json"] {
      guard case .run(_, _, let isQuiet) = try invocation(commandLine) else { continue }
      #expect(isQuiet)
    }
    guard case .run(_, _, isQuiet: false) = try invocation("status") else {
      throw UsageError("status is quiet by itself")
    }
  }
}

/// The options that select a variant.
extension InvocationTests {
  private func variant(_ options: String) throws -> Variant {
    try command("get http://h/ \(options)", as: GetCommand.self).options.variant
  }

  @Test(arguments: [
    ("--crop", ImageVariant.Crop.centre), ("--crop=attention", .attention),
    ("--crop=entropy", .entropy),
    ("--crop=0,0.5", .point(x: .zero, y: Thousandths(count: 500))),
  ])
  func `--crop names the part that is kept`(option: String, crop: ImageVariant.Crop) throws {
    #expect(
      try variant(option) == Variant(ImageVariant(width: 256, height: 256, mode: .fill, crop: crop))
    )
  }

  @Test(
    arguments: [
      ("auto", .auto, nil), ("auto --crop", .auto, .centre),
      ("fill-down", .fillDown, .centre), ("fill-down --crop=entropy", .fillDown, .entropy),
    ] as [(String, ImageVariant.Mode, ImageVariant.Crop?)])
  func `--mode looks at the proportions of the picture`(
    options: String, mode: ImageVariant.Mode, crop: ImageVariant.Crop?
  ) throws {
    #expect(
      try variant("--mode \(options)")
        == Variant(ImageVariant(width: 256, height: 256, mode: mode, crop: crop)))
  }

  @Test func `effects and what is kept are part of the variant`() throws {
    let effects = ImageVariant.Effects(
      isGrayscale: true, blur: Thousandths(count: 2_500), sharpen: Thousandths(count: 500),
      radius: 12, padding: 40, background: RGBColour(red: 255, green: 136, blue: 0))
    #expect(
      try variant(
        "--enlarge --grayscale --blur 2.5 --sharpen .5 --radius 12 --padding 40 --background ff8800 "
          + "--thumb never --keep-profile --keep-metadata")
        == Variant.standard.changed {
          ($0.enlarges, $0.embeddedUse, $0.effects) = (true, .never, effects)
          $0.keptData = ImageVariant.KeptData(profile: true, metadata: true)
        })
  }

  @Test(arguments: [
    ("--frame 3", ImageVariant.Frames.number(3)), ("--at 1.25s", .time(.milliseconds(1_250))),
    ("--at 2", .time(.milliseconds(2_000))),
    ("--at 70ms", .time(.milliseconds(70))), ("--at 1m", .time(.milliseconds(60_000))),
    ("--at 0.5h", .time(.milliseconds(1_800_000))),
    ("--at 1h", .time(.milliseconds(3_600_000))), ("--at 1d", .time(.milliseconds(86_400_000))),
    ("--poster", .poster),
    ("--animated", .all), ("", .first),
  ])
  func `frames are selected in one way`(options: String, frames: ImageVariant.Frames) throws {
    #expect(try variant(options).frames == frames)
    for other in ["--poster --frame 1", "--animated --at 1s", "--at 1s --poster"] {
      #expect(throws: UsageError.self) { try variant(other) }
    }
  }

  @Test(arguments: [
    ("86401s", "is not from 0s to 1d"), ("25h", "is not from 0s to 1d"),
    ("1.2345s", "is not a multiple of 1ms"),
    (
      "soon",
      "is not a duration; write a number of seconds, or one with ms, s, m, h, d or w, such as 0.25, "
        + "500ms or 10m"
    ),
  ])
  func `--at takes a duration of at most a day`(time: String, reason: String) throws {
    let error = #expect(throws: UsageError.self) { try variant("--at \(time)") }
    #expect(try #require(error).description.hasSuffix("--at: \"\(time)\" \(reason)"))
  }

  @Test func `a format without animations takes no --animated`() throws {
    let error = #expect(throws: UsageError.self) { try variant("--animated --format jpeg") }
    #expect(try #require(error).description.contains("webp or gif"))
  }

  @Test func `--depth is for formats that hold 16 bits, and for one frame`() throws {
    #expect(try variant("--depth 16") == Variant.standard.changed { $0.depth = .sixteen })
    #expect(try variant("--depth 8") == .standard)
    for (options, reason) in [
      (
        "--depth 16 --format jpeg",
        "jpeg holds 8 bits a sample; a depth of 16 needs the format auto, compatible, png or avif"
      ),
      ("--depth 16 --animated", "an animation has 8 bits a sample; a depth of 16 is for one frame"),
      ("--depth 12", "--depth: \"12\" is not a depth; write 8 or 16"),
    ] {
      let error = #expect(throws: UsageError.self) { try variant(options) }
      #expect(try #require(error).description.hasSuffix(reason))
    }
  }

  @Test func `--dpr multiplies all lengths`() throws {
    #expect(
      try variant("--size 100x75 --dpr 1.5 --blur 2 --sharpen 1 --radius 3 --padding 5")
        == Variant(
          ImageVariant(
            width: 150, height: 113,
            effects: ImageVariant.Effects(
              blur: Thousandths(count: 3_000), sharpen: Thousandths(count: 1_500), radius: 5,
              padding: 8))))
    #expect(try variant("--size 1 --dpr 0.1").width == 1)
    #expect(try variant("--dpr 1") == .standard)
  }

  @Test(arguments: [
    ("--crop=left", "--crop"), ("--blur -1", "--blur"), ("--blur 100.5", "--blur"),
    ("--sharpen 1.2345", "--sharpen"), ("--radius 1.5", "--radius"),
    ("--padding 1001", "--padding"),
    ("--padding 600 --dpr 2", "the padding must be from 0 to 1000"),
    ("--background sky", "--background"), ("--dpr 0", "--dpr"), ("--dpr 11", "--dpr"),
    ("--frame -1", "--frame"), ("--frame 1000000", "--frame"), ("--at 1.5ms", "--at"),
    ("--at -1s", "--at"), ("--at 86401s", "--at"), ("--at soon", "--at"), ("--at ms", "--at"),
    ("--thumb perhaps", "--thumb"), ("--size 16383 --dpr 2", "width and height"),
    ("--blur 60 --dpr 2", "blur and sharpen"),
  ])
  func `a wrong value is named`(options: String, name: String) throws {
    let error = #expect(throws: UsageError.self) { try variant(options) }
    #expect(try #require(error).description.contains(name))
  }

  @Test func `submit makes several sizes, each once`() throws {
    let options = try command(
      "submit a --size 64 --size 640x480 --size=64 --size 16 --dpr 2 --crop", as: SubmitCommand.self
    ).options
    let boxes = ([options.variant] + options.otherVariants).map { [$0.width, $0.height] }
    #expect(boxes == [[128, 128], [1_280, 960], [32, 32]])
    #expect(options.otherVariants.allSatisfy { $0.crop == .centre })
  }

  @Test func `values may be written as people are used to`() throws {
    for text in ["jpg", "JPG", "JPEG", "Jpeg"] {
      #expect(try variant("--format \(text)").format == .jpeg)
    }
    #expect(try variant("--size 200X100") == variant("--size 200x100"))
    #expect(try variant("--size 200×100") == variant("--size 200x100"))
    #expect(try variant("--crop=smart") == variant("--crop=attention"))
    #expect(try variant("--mode FILL") == variant("--mode fill"))
  }

  @Test func `a side that is not given is left to the proportions of the picture`() throws {
    let wide = try variant("--size 600x --dpr 2")
    #expect([wide.width, wide.height] == [1_200, 16_383])
    let high = try variant("--size x600 --padding 10")
    #expect([high.width, high.height] == [16_363, 600])
  }

  @Test func `a thumbnail that is written has one size`() throws {
    #expect(try variant("--size 64 --size 32").width == 32)
    let nine = (1...9).map { "--size \($0)" }.joined(separator: " ")
    #expect(throws: UsageError.self) { try command("submit a \(nine)", as: SubmitCommand.self) }
    #expect(throws: UsageError.self) {
      try command("submit a --size 1 --size 16383 --dpr 2", as: SubmitCommand.self)
    }
  }
}

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
    let directory = TestDirectory()
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
  func `a file of another form is refused and never shown`(file: String, reason: String) throws {
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
    let directory = TestDirectory()
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

@Suite struct InvalidArgumentURLTests {
  @Test(arguments: [
    ["cache", "rm", "http://h/a", "ftp://h/b"], ["cache", "get", "ftp://h/b", "-o", "b.jpg"],
  ])
  func `the error names the invalid URL`(commandLine: [String]) throws {
    let places = ["--socket", "/nonexistent/socket", "--data-dir", "/nonexistent"]
    let invocation = try Invocation(arguments: commandLine + places, environment: [:], userID: 1)
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

/// What is read as it is meant.
extension InvocationTests {
  @Test(arguments: [
    ("rate-per-host 1/s contact=a@b.org", "--rate-per-host 1/s --contact=a@b.org"),
    ("--require-sandbox rate-per-host 1/s", "--require-sandbox --rate-per-host 1/s"),
    ("--json require-sandbox contact contact", "--json --require-sandbox --contact contact"),
    ("--data-dir contact workers 2", "--data-dir contact --workers 2"),
  ])
  func `settings need no dashes, and values get none`(given: String, prepared: String) throws {
    let arguments = try ConfigSetCommand.prepared(given.split(separator: " ").map(String.init))
    #expect(arguments.joined(separator: " ") == prepared)
  }

  @Test(arguments: [
    ("get a.jpg -q 80", "imgctl get: -q is --quiet; for the quality: --quality 80"),
    ("-q submit list.txt -q80", "imgctl submit: -q is --quiet; for the quality: --quality 80"),
    (
      "info a.jpg b.jpg",
      "imgctl info: unexpected argument \"b.jpg\": info tells of one picture; imgctl info --list - reads several, "
        + "one a line"
    ),
  ])
  func `what is meant otherwise is answered with what to type`(line: String, sentence: String) {
    #expect(throws: UsageError(sentence)) {
      try Invocation(
        arguments: line.split(separator: " ").map(String.init), environment: [:], userID: 1)
    }
  }

  @Test func `a colour has a name of CSS, in any case`() throws {
    let get = try command("get http://h/ --background Orange", as: GetCommand.self)
    #expect(get.options.variant.effects.background == RGBColour(red: 255, green: 165, blue: 0))
  }
}
