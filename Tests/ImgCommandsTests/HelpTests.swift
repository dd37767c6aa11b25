import FoundationEssentials
import ImgCommands
import ImgModel
import ImgSettings
import ImgSystem
import ImgWire
import TestFiles
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

/// What new users type, and what helps them.
@Suite struct MistakeTests {
  private func invocation(_ line: String) throws -> Invocation {
    try Invocation(
      arguments: line.split(separator: " ").map(String.init), environment: ["HOME": "/h"], userID: 1
    )
  }

  @Test(arguments: [
    // Commands of other programs, and files in the place of a command.
    ("download http://h/", "imgctl get URL loads one picture, and imgctl submit FILE a list"),
    ("log", "coordinator.log is the log"), ("logs", "coordinator.log is the log"),
    ("urls.txt", "imgctl get URL|FILE makes one thumbnail, and imgctl submit FILE those of a list"),
    ("http://h/a.jpg", "imgctl get URL|FILE makes one thumbnail"),
    ("top", "imgctl watch JOB follows a job"), ("metrics", "/metrics"),
    ("reload", "imgctl stop && imgctl start"),
    ("set rate-per-host 1/s", "imgctl config set NAME VALUE keeps a setting"),
    ("job 3", "imgctl status JOB shows a job"), ("settings", "imgctl config show"),
    ("resize a.jpg", "imgctl get FILE -o thumbnail.jpg"), ("gallery", "imgctl serve"),
    ("purge", "imgctl cache clean"), ("frobnicate", "; see imgctl help"),
    ("cache frobnicate", "; see imgctl help cache"),
    // Commands that are spelt otherwise.
    ("stat", "did you mean status?"), ("failure", "did you mean failures?"),
    ("exports", "did you mean export?"), ("Submit a", "did you mean submit?"),
    // Options of other commands and programs.
    ("--port 8080", "imgctl serve --listen 127.0.0.1:8080 names the port"),
    ("serve --port 8080", "imgctl serve --listen 127.0.0.1:8080 names the port"),
    ("limits --bandwidth 1M", "imgctl limits --bytes-per-second N limits all transfers"),
    ("start --bytes-per-second-host 1M", "and --bytes-per-second-per-host N those from one host"),
    ("--frobnicate", "; see imgctl help"),
    ("-v", "imgctl --version prints the version, and imgctl help the commands"),
    ("--verbose", "imgctl --version prints the version"),
    ("list -v", "it is an option of submit"),
    ("list --verbose", "it is an option of submit"),
    ("submit a -o d", "imgctl export JOB DIR writes the files"),
    ("submit a --output=d", "imgctl export JOB DIR writes the files"),
    ("submit a --retries 3", "--attempts N of submit"),
    ("submit a -j 4", "imgctl limits --transfers N"),
    ("submit a --store-budget 1G", "it is an option of start"),
    ("submit a --no-cache", "--cache-policy reload"),
    ("submit a --frobnicate", "; see imgctl submit --help"),
    ("submit a --csv", "--input-format csv, tsv or json names the format"),
    ("get a.jpg --url-column 2", "it is an option of submit"),
    ("submit a --input-format parquet", "duckdb makes a list of it: duckdb -jsonlines"),
    ("submit a --input-format text --url-column 2", "--url-column is for tables and JSON"),
    ("submit a --width 300", "--size 300x sets the width"), ("get a.jpg --resize 9", "--size 300x"),
    ("get a.jpg --fit cover", "fill covers the box"),
    ("get a.jpg --rotate 90", "are turned as their metadata"),
    ("get a.jpg --letterbox", "--padding N"),
    ("export 3 d --sheet", "imgctl sheet JOB -o sheet.jpg"),
    ("submit a --export d", "imgctl export JOB DIR writes"),
    ("submit a --resume", "imgctl retry JOB"),
    ("montage d", "imgctl sheet JOB|DIR"), ("get a.jpg --mode cover", "--mode fill covers the box"),
    ("get a.jpg --mode contain", "--mode fit keeps all"), ("get a.jpg --mode crop", "--crop cuts"),
    ("get a.jpg -o a.pdf", "thumbnails are not pdf; end the name in .jpg"),
    ("get a.jpg --size q", "is not a box; write WxH"),
    ("retry 7 --size 384", "it is an option of submit: a job keeps its sizes"),
    ("submit a --expire never", "did you mean --expire-after?"),
    ("submit a --keep-original", "--keep original stores originals"),
    ("cache get u --original", "imgctl get --original URL --cache-policy cache-only"),
    ("remove --all", "imgctl remove --older-than 0s"), ("archive a", "imgctl export JOB DIR"),
    ("cache reset --all", "it removes everything without an option"),
    ("get http://h/ --bg white", "did you mean --background?"),
    ("failures 7 --csv --tsv", "--csv and --tsv exclude each other"),
    // Operands.
    ("cancel", "JOB is missing: imgctl cancel JOB"), ("wait", "JOB is missing: imgctl wait JOB"),
    ("priority 3", "P is missing: imgctl priority JOB P"),
    ("remove", "such as imgctl remove 7 8"),
    ("cancel all", "\"all\" is not a job number; see imgctl list"),
    ("cancel #3", "did you mean 3?"), ("wait job3", "did you mean 3?"),
    ("export thumbs 3", "the number of the job comes first: imgctl export 3 thumbs"),
    ("export thumbs files", "\"thumbs\" is not a job number"),
    // Settings.
    ("limits --store-budget 1G", "imgctl config set --store-budget"),
    ("limits workers=3", "imgctl config set --workers 3"),
    ("limits bytes-per-second 500K", "did you mean --bytes-per-second 500K?"),
    ("limits transfers=5", "did you mean --transfers 5?"),
    ("limits --bytes-per-second 0", "write \"none\" for no limit"),
    ("config set nonsense 1", "imgctl config show --all lists them"),
    ("config set transfer 1", "did you mean transfers?"),
    // Values.
    ("limits --rate-per-host 1/sec", "with /s, /m or /h"),
    ("start --store-budget 80%", "is not a size; write a whole number of bytes"),
    ("submit a --expire-after 7days", "with ms, s, m, h, d or w"),
    ("get http://h/ --quality 80%", "write only digits"),
    ("get http://h/ --quality 0.8", "write only digits"),
    ("get http://h/ -o small.heic", "thumbnails are not heic; end the name in .jpg"),
    ("get http://h/ --format heic", "thumbnails are not heic; write jpeg"),
    ("get http://h/ --size 50%", "sizes are in pixels, such as 256 or 640x480"),
    ("get http://h/ --size 200,300", "write 200x300"),
    ("get http://h/ --size 200*300px", "write 200x300"),
    ("get http://h/ --size 64px48", "\"64p\""),
    ("export a$(b) 7", "imgctl export 7 'a$(b)'"),
    ("get http://h/ --sharpen -o f.jpg", "--sharpen needs a value: --sharpen SIGMA"),
    ("get http://h/ --crop top", "write --crop=top"),
    ("get http://h/ --crop=top", "write centre, attention, entropy, or a point"),
    ("get http://h/ --background mauvish", "a name of CSS such as orange"),
    ("start --allow-network foo", "write an address or a block such as 10.0.0.0/8"),
    ("start --contact ada", "write name@example.org or https://example.org/bot"),
    ("start --decoder-memory 1K", "\"1K\" is not from 64M to 1T"),
  ])
  func `a mistake is answered with the next step`(line: String, advice: String) throws {
    let error = #expect(throws: UsageError.self) { try invocation(line) }
    #expect(error?.description.contains(advice) == true, "\(String(describing: error))")
  }

  @Test(arguments: [
    "ls", "jobs", "ps", "version", "cancel 3 4", "get http://h/ --keep all",
    "submit a --timeout 5s", "submit a --rate-per-host 1/s", "submit a --expire-after 1w",
    "start --store-budget 1GB", "get http://h/ --size 256px", "submit a --size 640PXx480px",
    "--data-dir transfers limits", "limits --data-dir workers",
  ])
  func `what people are used to is read as it is meant`(line: String) throws {
    guard case .run = try invocation(line) else { throw UsageError("\(line) prints") }
  }

  // MARK: - Without a coordinator

  /// Runs a command without a coordinator.
  ///
  /// - Returns: what it says, with the error.
  private func messages(
    _ line: String, environment: [String: String] = [:], in directory: String
  ) throws -> String {
    let arguments = line.replacing("DIR", with: directory).split(separator: " ").map(String.init)
    let invocation = try Invocation(arguments: arguments, environment: environment, userID: 1)
    guard case .run(let command, let settings, _) = invocation else {
      throw UsageError("\(line) prints")
    }
    let output = try FileIO.create(directory + "/output")
    let file = try FileIO.create(directory + "/messages")
    let places = TypedPlaces(in: arguments)
    var error = ""
    do {
      _ = try command.run(
        in: CommandContext(
          settings: settings, output: Output(descriptor: output.rawValue),
          messages: Output(descriptor: file.rawValue, capacity: 0), places: places))
    } catch let thrown {
      error = ErrorReport(thrown)?.line(isJSON: false, places: places) ?? ""
    }
    return try String(contentsOfFile: directory + "/messages", encoding: .utf8) + error
  }

  @Test(arguments: [
    "list", "failures 3", "status 3", "wait 3", "cancel 3", "retry 3", "remove 3", "stop",
    "export 3 DIR/out", "export 3 DIR/out --fetch",
  ])
  func `a data directory that is none is named, and none is made there`(line: String) throws {
    let testDirectory = TestDirectory()
    try withExtendedLifetime(testDirectory) {
      let directory = testDirectory.path
      let place = directory + "/mistyped"
      let sentence = "no coordinator runs, and no data directory is at \(place); check "
      let said = try messages("--data-dir \(place) \(line)", in: directory)
      #expect(said.contains(sentence + "--data-dir\n"), "\(said)")
      let variable = try messages(
        line, environment: ["IMGCTL_DATA_DIR": place], in: directory)
      #expect(variable.contains(sentence + "IMGCTL_DATA_DIR\n"), "\(variable)")
      #expect(!FileManager.default.fileExists(atPath: place))
      let emptiness = "no coordinator runs, and \(directory) has no jobs yet; check --data-dir\n"
      #expect(try messages("--data-dir DIR \(line)", in: directory).contains(emptiness))
      // Such as of a backup that failed.
      try FileManager.default.createDirectory(
        atPath: directory + "/journal", withIntermediateDirectories: false)
      #expect(try messages("--data-dir DIR \(line)", in: directory).contains(emptiness))
    }
  }

  @Test(arguments: ["cache rm http://h/a.jpg", "cache reset"])
  func `a removal in a named directory that has no store is refused`(line: String) throws {
    let testDirectory = TestDirectory()
    try withExtendedLifetime(testDirectory) {
      let directory = testDirectory.path
      let said = try messages("\(line) --data-dir DIR --cache-dir DIR/wrong", in: directory)
      #expect(
        said.contains(
          "imgctl \(line.split(separator: " h")[0]): no store is in \(directory)/wrong; check"))
    }
  }

  @Test(arguments: [
    ("submit http://h/a.jpg", "imgctl --data-dir DIR get loads one picture"),
    ("submit DIR/missing.txt", "imgctl --data-dir DIR get URL loads one picture"),
    ("submit DIR/empty", "no picture is in DIR/empty\n"),
    ("submit DIR/empty.txt", "contains no URL; a list has one URL a line"),
    ("submit DIR/list.utf16", "list.utf16 is UTF-16; save it as UTF-8"),
    ("get DIR/missing.jpg", "no such file: \"DIR/missing.jpg\"; a URL begins with https://"),
    ("status", "start one with: imgctl --data-dir DIR start"),
    ("limits", "start one with: imgctl --data-dir DIR start"),
  ])
  func `what is no list is answered with the command for it`(line: String, advice: String) throws {
    let testDirectory = TestDirectory()
    try withExtendedLifetime(testDirectory) {
      let directory = testDirectory.path
      try FileIO.replace(path: directory + "/empty.txt", with: [])
      try FileIO.replace(path: directory + "/list.utf16", with: [0xFF, 0xFE, 0x68, 0, 0x74, 0])
      try FileManager.default.createDirectory(
        atPath: directory + "/empty", withIntermediateDirectories: false)
      let said = try messages("--data-dir DIR \(line)", in: directory)
      #expect(said.contains(advice.replacing("DIR", with: directory)), "\(said)")
    }
  }

  // MARK: - Places

  @Test(arguments: [
    ("--data-dir d list", "with: imgctl start", "with: imgctl --data-dir d start"),
    ("list --data-dir=d", "again (imgctl start)", "again (imgctl --data-dir d start)"),
    ("--socket s --data-dir d list", "imgctl wait 7", "imgctl --socket s --data-dir d wait 7"),
    ("list --data-dir d --data-dir e", "imgctl wait 7", "imgctl --data-dir e wait 7"),
    (
      "--data-dir it's list", "imgctl stop && imgctl start",
      #"imgctl --data-dir 'it'\''s' stop && imgctl --data-dir 'it'\''s' start"#
    ),
    ("--frobnicate --data-dir d list", "see imgctl list", "see imgctl --data-dir d list"),
    ("--data-dir d list", "the end of imgctl wait 7", "the end of imgctl --data-dir d wait 7"),
    (
      "--data-dir d cancel", "imgctl cancel: JOB is missing: imgctl cancel JOB",
      "imgctl cancel: JOB is missing: imgctl --data-dir d cancel JOB"
    ),
  ])
  func `an advised command has the places of the command line`(
    line: String, text: String, completed: String
  ) {
    let places = TypedPlaces(in: line.split(separator: " ").map(String.init))
    #expect(places.completed(text) == completed)
  }

  @Test func `an advised command is that of the script that names itself`() {
    let script = ["IMGCTL_COMMAND": "imgctl-service"]
    let places = TypedPlaces(in: ["list"], environment: script)
    #expect(places.completed("see imgctl list") == "see imgctl-service list")
    #expect(places.completed("imgctl: no such job") == "imgctl: no such job")
    let typed = TypedPlaces(in: ["list", "--socket", "s"], environment: script)
    #expect(typed.completed("see imgctl list") == "see imgctl-service --socket s list")
  }

  @Test(arguments: [
    "imgctl cache rm: URL is missing", "imgctl: imgctl cache rm: URL is missing",
    "it is an option of submit", "open /srv/imgctl list", "imgctl sets it itself",
    "see imgctl help", "imgctl: unknown option", "imgctl 0.1.0 has no setting",
  ])
  func `what is no advised command has no places`(text: String) {
    #expect(TypedPlaces(in: ["--data-dir", "d", "list"]).completed(text) == text)
    let none = [["list"], ["list", "--", "--data-dir", "d"]]
    for arguments in none {
      #expect(TypedPlaces(in: arguments).completed("imgctl start") == "imgctl start")
    }
  }

  @Test func `advice of the coordinator and of the library has them, too, also in JSON`()
    async throws
  {
    let refused = try await ScriptedCoordinator().run([
      "--data-dir", "pic tures", "cancel", "7", "8",
    ]) {
      request in
      switch request {
      case .change(let id, _, _):
        [.refused(id, .wrongState, message: "; imgctl retry 7 continues it")]
      default: [nil]
      }
    }
    #expect(refused.messages.contains("imgctl --data-dir 'pic tures' retry 7 continues it"))
    let report = ErrorReport(.wrongUse, code: "usage", "imgctl: see imgctl list")
    #expect(
      report.line(isJSON: true, places: TypedPlaces(in: ["--socket", "s"])).contains(
        "see imgctl --socket s list"))
  }
}
