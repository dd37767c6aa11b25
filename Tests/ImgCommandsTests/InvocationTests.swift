import ImgCommands
import ImgSettings
import ImgWire
import Testing

@Suite struct InvocationTests {
  private func invocation(_ commandLine: String) throws(UsageError) -> Invocation {
    try Invocation(
      arguments: commandLine.split(separator: " ").map(String.init),
      environment: ["HOME": "/home/ada", "IMGCTL_TRANSFERS": "9"], userID: 1_000)
  }

  private func command<C: Command>(_ commandLine: String, as type: C.Type) throws -> C {
    guard case .run(let command, _) = try invocation(commandLine) else {
      throw UsageError("\(commandLine) prints")
    }
    return try #require(command as? C)
  }

  private func settings(_ commandLine: String) throws -> Settings {
    guard case .run(_, let settings) = try invocation(commandLine) else {
      throw UsageError("\(commandLine) prints")
    }
    return settings
  }

  private func text(_ commandLine: String) throws -> String {
    guard case .print(let text) = try invocation(commandLine) else {
      throw UsageError("\(commandLine) runs")
    }
    return text
  }

  @Test func `submit has a list and says what to make of it`() throws {
    let plain = try command("submit urls.txt", as: SubmitCommand.self)
    #expect(plain.listPath == "urls.txt")
    #expect(plain.options == RequestOptions(variant: .standard))
    #expect(!plain.isWaiting && !plain.isJSON)

    let full = try command(
      "submit - --size 640x480 --mode fill --crop --format webp --quality 90 "
        + "--expire-after 2h --priority -2 --wait --json", as: SubmitCommand.self)
    #expect(full.listPath == "-")
    #expect(
      full.options
        == RequestOptions(
          variant: try Variant(
            width: 640, height: 480, mode: .fill, isCropped: true, format: .webp, quality: 90),
          expireAfterMilliseconds: 7_200_000, priority: -2))
    #expect(full.isWaiting && full.isJSON)
  }

  @Test func `one number is a square`() throws {
    let variant = try command("submit - --size 64", as: SubmitCommand.self).options.variant
    #expect(variant.width == 64 && variant.height == 64)
  }

  @Test func `a crop implies fill where no mode is given`() throws {
    let variant = try command("get http://h/ --crop", as: GetCommand.self).options.variant
    #expect(variant.mode == .fill && variant.isCropped)
  }

  @Test func `status is about the cluster, its limits or a job`() throws {
    #expect(try command("status", as: StatusCommand.self).subject == .cluster)
    #expect(try command("status --limits --json", as: StatusCommand.self).subject == .limits)
    let watch = try command("status 7 --watch", as: StatusCommand.self)
    #expect(watch.subject == .job(JobID(rawValue: 7)))
    #expect(watch.isWatching)
  }

  @Test func `a job is named by its number`() throws {
    let job = JobID(rawValue: 7)
    #expect(try command("wait 7", as: WaitCommand.self).job == job)
    #expect(try command("failures 7 --json", as: FailuresCommand.self).job == job)
    #expect(try command("cancel 7", as: CancelCommand.self).job == job)
    let export = try command("export 7 out", as: ExportCommand.self)
    #expect(export.job == job && export.directory == "out")
  }

  @Test func `get writes to a file or to standard output`() throws {
    #expect(try command("get http://h/", as: GetCommand.self).outputPath == nil)
    #expect(try command("get http://h/ -o -", as: GetCommand.self).outputPath == nil)
    let file = try command("get http://h/ -o a.jpg --json", as: GetCommand.self)
    #expect(file.outputPath == "a.jpg" && file.isJSON && file.url == "http://h/")
  }

  @Test func `the commands of the cache have two words`() throws {
    #expect(try command("cache stat --json", as: CacheStatCommand.self).isJSON)
    #expect(try !command("cache ls", as: CacheLsCommand.self).isJSON)
    #expect(
      try command("cache rm http://a/ http://b/", as: CacheRmCommand.self).urls
        == ["http://a/", "http://b/"])
    _ = try command("cache clean", as: CacheCleanCommand.self)
    _ = try command("cache reset", as: CacheResetCommand.self)
  }

  @Test func `start takes every setting, and stays`() throws {
    #expect(try command("start --foreground", as: StartCommand.self).isInForeground)
    let settings = try settings("start --workers 3")
    #expect(settings.limits.workers == 3)
    #expect(settings.limits.transfers == 9)
    #expect(settings.idleExitMilliseconds == nil)
  }

  @Test func `other commands take the places, and start a coordinator that leaves`() throws {
    let settings = try settings("list --socket /s --data-dir /d")
    #expect(settings.socketPath == "/s")
    #expect(settings.dataDirectory == "/d")
    #expect(settings.limits.transfers == 9)
    #expect(settings.idleExitMilliseconds == 600_000)
    _ = try command("stop", as: StopCommand.self)
  }

  @Test(arguments: [
    ("sumbit a", "imgctl: there is no command \"sumbit\"; did you mean submit?"),
    ("frobnicate", "imgctl: there is no command \"frobnicate\""),
    ("--socket /s list", "imgctl: there is no command \"--socket\""),
    ("cache", "imgctl cache: no command; see imgctl help cache"),
    ("cache lst", "imgctl cache: there is no command \"lst\"; did you mean ls?"),
    ("help statsu", "imgctl: there is no command \"statsu\"; did you mean status?"),
    ("submit", "imgctl submit: FILE|- is missing: imgctl submit FILE|- [options]"),
    ("submit a b", "imgctl submit: \"b\" is one word too many: imgctl submit FILE|- [options]"),
    ("submit a --siz 3", "imgctl submit: there is no option \"--siz\"; did you mean --size?"),
    ("submit a --workers 3", "imgctl submit: there is no option \"--workers\""),
    ("submit a --size 0x3", "imgctl submit: --size: \"0\" is not from 1 to 16383"),
    (
      "submit a --size 1x",
      "imgctl submit: --size: \"1x\" is not a box; write WxH, such as 640x480"
    ),
    (
      "submit a --size 1x2x3",
      "imgctl submit: --size: \"1x2x3\" is not a box; write WxH, such as 640x480"
    ),
    (
      "submit a --mode fil",
      "imgctl submit: --mode: \"fil\" is none of fit, fill, stretch; did you mean fill?"
    ),
    (
      "submit a --format jpg",
      "imgctl submit: --format: \"jpg\" is none of auto, jpeg, png, webp, avif; did you mean jpeg?"
    ),
    ("submit a --quality 101", "imgctl submit: --quality: \"101\" is not from 1 to 100"),
    (
      "submit a --crop --mode fit",
      "imgctl submit: --crop cuts what sticks out of the box, so it goes with --mode fill"
    ),
    ("submit a --priority 3", "imgctl submit: --priority: \"3\" is not from -2 to 2"),
    (
      "submit a --expire-after 7",
      "imgctl submit: --expire-after: \"7\" is not a duration; write a whole number with ms, s, m, h or d, such as 500ms or 10m"
    ),
    ("wait seven", "imgctl wait: JOB: \"seven\" is no job; imgctl list shows their numbers"),
    ("cancel 0", "imgctl cancel: JOB: \"0\" is no job; imgctl list shows their numbers"),
    ("export 7", "imgctl export: DIR is missing: imgctl export JOB DIR [options]"),
    (
      "status 7 --limits",
      "imgctl status: --limits is about the whole cluster and does not change; give it alone"
    ),
    (
      "get http://h/ --json -o -",
      "imgctl get: --json and --output - would both write to standard output"
    ),
    ("cache rm", "imgctl cache rm: URL is missing: imgctl cache rm URL... [options]"),
    ("start --workers 0", "imgctl start: --workers: \"0\" is not from 1 to 256"),
  ])
  func `a wrong command line is answered with a sentence`(commandLine: String, sentence: String) {
    #expect(throws: UsageError(sentence)) { try invocation(commandLine) }
  }

  @Test func `an error in the environment names command and variable`() {
    #expect(
      throws: UsageError("imgctl list: IMGCTL_TRANSFERS: \"0\" is not from 1 to 1024")
    ) {
      try Invocation(
        arguments: ["list"], environment: ["HOME": "/h", "IMGCTL_TRANSFERS": "0"], userID: 1)
    }
  }
}
