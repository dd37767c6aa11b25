import ImgCommands
import ImgModel
import ImgSettings
import Testing

@Suite struct InvocationTests {
  func invocation(_ commandLine: String) throws(UsageError) -> Invocation {
    try Invocation(
      arguments: commandLine.split(separator: " ").map(String.init),
      environment: ["HOME": "/home/ada", "IMGCTL_TRANSFERS": "9"], userID: 1_000)
  }

  func command<C: Command>(_ commandLine: String, as type: C.Type) throws -> C {
    guard case .run(let command, _, _) = try invocation(commandLine) else {
      throw UsageError("\(commandLine) prints")
    }
    return try #require(command as? C)
  }

  func settings(_ commandLine: String) throws -> Settings {
    guard case .run(_, let settings, _) = try invocation(commandLine) else {
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

  @Test func `submit takes a list and options`() throws {
    let plain = try command("submit urls.txt", as: SubmitCommand.self)
    #expect(plain.listPaths == ["urls.txt"])
    let politeness = FetchOptions(respectsOptOut: true)
    #expect(plain.options == RequestOptions(variant: .standard, fetch: politeness))
    #expect(plain.order == .firstInFirstOut)
    #expect(!plain.isWaiting && !plain.isJSON)
    #expect(plain.pinPolicy == .whileActive)
    #expect(try command("submit - --pin", as: SubmitCommand.self).pinPolicy == .untilExported)
    #expect(try command("submit - --no-pin", as: SubmitCommand.self).pinPolicy == .none)

    let lazy = try command("submit - --decode lazy --keep original", as: SubmitCommand.self)
    #expect(lazy.options.keep == .undecodedOriginal)
    #expect(try command("submit - --decode eager", as: SubmitCommand.self).options == plain.options)

    let full = try command(
      "submit - --size 640x480 --mode fill --crop --format webp --quality 90 "
        + "--expire-after 2h --priority -2 --delay 250ms --order lifo --wait --json",
      as: SubmitCommand.self)
    #expect(full.listPaths == ["-"])
    #expect(
      full.options
        == RequestOptions(
          variant: try Variant(
            ImageVariant(
              width: 640, height: 480, mode: .fill, crop: .centre, format: .webp, quality: 90)),
          expiry: Expiry(.after(.seconds(7_200))), priority: -2, delay: .milliseconds(250),
          fetch: politeness))
    #expect(full.order == .lastInFirstOut)
    #expect(full.isWaiting && full.isJSON)
  }

  @Test func `one number is a square`() throws {
    let variant = try command("submit - --size 64", as: SubmitCommand.self).options.variant
    #expect(variant.width == 64 && variant.height == 64)
  }

  @Test func `--crop implies --mode fill`() throws {
    let variant = try command("get http://h/ --crop", as: GetCommand.self).options.variant
    #expect(variant.mode == .fill && variant.crop == .centre)
  }

  @Test func `status shows the cluster, its limits or a job`() throws {
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
    #expect(try command("cancel 7 8", as: CancelCommand.self).jobs == [job, JobID(rawValue: 8)])
    let export = try command("export 7 out", as: ExportCommand.self)
    #expect(export.job == job && export.directory == "out")
  }

  @Test func `pause, resume, retry and priority take a job`() throws {
    let job = JobID(rawValue: 7)
    #expect(try command("pause 7", as: PauseCommand.self).jobs == [job])
    #expect(try command("unpin 7", as: UnpinCommand.self).jobs == [job])
    let resume = try command("resume 7 --wait", as: ResumeCommand.self)
    #expect(resume.jobs == [job] && resume.isWaiting)
    let retry = try command("retry 7", as: RetryCommand.self)
    #expect(retry.job == job && !retry.includesFinal && !retry.isWaiting && !retry.isJSON)
    let retryAll = try command("retry 7 --all --wait --json", as: RetryCommand.self)
    #expect(retryAll.includesFinal && retryAll.isWaiting && retryAll.isJSON)
    #expect(try command("priority 7 2", as: PriorityCommand.self).priority == 2)
    let least = try command("priority 7 -2", as: PriorityCommand.self)
    #expect(least.job == job && least.priority == -2)
  }

  @Test func `remove takes job numbers or an age`() throws {
    #expect(
      try command("remove 7 12", as: RemoveCommand.self).subject
        == .jobs([JobID(rawValue: 7), JobID(rawValue: 12)]))
    #expect(
      try command("remove --older-than 2d", as: RemoveCommand.self).subject
        == .olderThan(.seconds(172_800)))
    #expect(
      try command("remove --older-than 0s", as: RemoveCommand.self).subject
        == .olderThan(.zero))
  }

  @Test func `limits changes only the given limits`() throws {
    #expect(try command("limits --json", as: LimitsCommand.self).change == nil)
    #expect(
      try command("limits --transfers 1", as: LimitsCommand.self).change
        == LimitChange(transfers: 1))
    let change = "limits --transfers 3 --transfers-per-host 2 --rate-per-host 5/s"
    #expect(
      try command(change, as: LimitsCommand.self).change
        == LimitChange(transfers: 3, transfersPerHost: 2, hostRatePerMinute: 300))
    #expect(
      try command("limits --rate-per-host none", as: LimitsCommand.self).change
        == LimitChange(hostRatePerMinute: 0))
    #expect(
      try command("limits --default-expiry 1h", as: LimitsCommand.self).change
        == LimitChange(defaultExpiry: .seconds(3_600)))
    #expect(
      try command("limits --memory-budget 80M", as: LimitsCommand.self).change
        == LimitChange(memoryBudgetByteCount: 80 << 20))
  }

  @Test(
    arguments: [
      ("", .standard), ("--expire-after 31556926s", Expiry(.after(.seconds(31_556_926)))),
      ("--expire-after 2027-01-01", Expiry(.at(WallTime(rawValue: 1_798_761_600_000)))),
      (
        "--expires-at 2027-01-01T12:00:00+02:00", Expiry(.at(WallTime(rawValue: 1_798_797_600_000)))
      ),
      ("--expire-on-access", Expiry(.standard, isSliding: true)),
      ("--expire-on-access --expire-after 1h", Expiry(.after(.seconds(3_600)), isSliding: true)),
    ] as [(String, Expiry)])
  func `submit and get take an expiry`(arguments: String, expiry: Expiry) throws {
    #expect(try command("submit - \(arguments)", as: SubmitCommand.self).options.expiry == expiry)
    #expect(try command("get http://h/ \(arguments)", as: GetCommand.self).options.expiry == expiry)
  }

  @Test(
    arguments: [
      ("0.25", .milliseconds(250)), ("3", .seconds(3)), ("1.5m", .seconds(90)),
    ] as [(String, Duration)])
  func `a delay has the syntax of sleep`(text: String, delay: Duration) throws {
    let submit = try command("submit - --delay \(text)", as: SubmitCommand.self)
    #expect(submit.options.delay == delay)
    let get = try command("get http://h/ --delay \(text)", as: GetCommand.self)
    #expect(get.options.delay == delay)
  }

  @Test func `get, info and submit take a timeout from 1 ms to a day`() throws {
    for command in ["get http://h/", "info http://h/", "info --list -", "submit -"] {
      #expect(try options("\(command)").timeout == nil)
      #expect(try options("\(command) --timeout 1").timeout == .seconds(1))
      #expect(try options("\(command) --timeout 250ms").timeout == .milliseconds(250))
      for value in ["0", "25h", "-1", "x"] {
        #expect(throws: UsageError.self) { try options("\(command) --timeout \(value)") }
      }
    }
  }

  private func options(_ line: String) throws -> RequestOptions {
    switch line.prefix(while: { $0 != " " }) {
    case "get": try command(line, as: GetCommand.self).options
    case "info": try command(line, as: InfoCommand.self).options
    default: try command(line, as: SubmitCommand.self).options
    }
  }

  @Test func `the commands of the cache have two words`() throws {
    #expect(try command("cache stat --json", as: CacheStatCommand.self).isJSON)
    #expect(try !command("cache ls", as: CacheLsCommand.self).isJSON)
    #expect(
      try command("cache rm http://a/ http://b/", as: CacheRmCommand.self).urls
        == ["http://a/", "http://b/"])
    let clean = try command("cache clean", as: CacheCleanCommand.self)
    #expect(!clean.isWaiting && !clean.isJSON)
    let waiting = try command("cache clean --wait --json", as: CacheCleanCommand.self)
    #expect(waiting.isWaiting && waiting.isJSON)
    let put = try command(
      "cache put http://a/ - --size 64 --keep all --expire-after 1h --json",
      as: CachePutCommand.self)
    #expect(put.url == "http://a/" && put.path == "-" && put.isJSON)
    #expect(
      put.options
        == RequestOptions(
          variant: try Variant(ImageVariant(width: 64, height: 64)),
          expiry: Expiry(.after(.seconds(3_600))), keep: .all))
    let get = try command("cache get http://a/ --size 64 -o a.jpg", as: CacheGetCommand.self)
    #expect(get.urls == ["http://a/"] && get.variant.width == 64)
    _ = try command("cache reset", as: CacheResetCommand.self)
    _ = try command("cache compact", as: CacheCompactCommand.self)
    #expect(try !command("cache verify", as: CacheVerifyCommand.self).isRepairing)
    #expect(try command("cache verify --repair", as: CacheVerifyCommand.self).isRepairing)
  }

  private func admits(
    _ arguments: String, url: String = "https://example.org:8443/a.jpg", byteCount: Int64 = 100,
    age: Int64 = 5_000, isExpired: Bool = false
  ) throws -> Bool {
    let now = WallTime(rawValue: 1_800_000_000_000)
    return try command("cache ls \(arguments)", as: CacheLsCommand.self).filter.admits(
      url: url, byteCount: byteCount, storedAt: now.advanced(by: .milliseconds(-age)),
      expiresAt: now.advanced(by: .milliseconds(isExpired ? 0 : 1)), at: now)
  }

  @Test func `cache ls combines its filters`() throws {
    #expect(try admits(""))
    #expect(try admits("", isExpired: true))
    #expect(try admits("--host Example.ORG"))
    #expect(try !admits("--host example.org", url: "https://www.example.org/a.jpg"))
    #expect(try !admits("--host www.example.org"))
    #expect(try admits("--older-than 4999ms") && !admits("--older-than 5s"))
    #expect(try admits("--newer-than 5001ms") && !admits("--newer-than 5s"))
    // A clock that was set back.
    #expect(try admits("--newer-than 5s", age: -1) && !admits("--older-than 0s", age: -1))
    #expect(try admits("--larger-than 99") && !admits("--larger-than 100"))
    #expect(try admits("--smaller-than 101") && !admits("--smaller-than 100"))
    #expect(try admits("--larger-than 99 --smaller-than 101"))
    #expect(try admits("--fresh") && !admits("--fresh", isExpired: true))
    #expect(try !admits("--expired") && admits("--expired", isExpired: true))
    #expect(try !admits("--host example.org --larger-than 100"))
  }

  @Test(arguments: [
    ("--host example.org:80", "--host: \"example.org:80\" is not a host"),
    ("--host http://h/", "--host: \"http://h/\" is not a host"),
    ("--expired --fresh", "--expired and --fresh exclude each other"),
    ("--larger-than 5 --smaller-than 6", "no value lies between --larger-than and --smaller-than"),
    ("--older-than 5x", "--older-than: \"5x\" is not a duration"),
  ])
  func `contradictory filters of cache ls are refused`(arguments: String, reason: String) throws {
    let error = #expect(throws: UsageError.self) { try invocation("cache ls \(arguments)") }
    #expect(error?.description.contains(reason) == true)
  }

  @Test func `start takes every setting and never exits when idle`() throws {
    #expect(try command("start --foreground", as: StartCommand.self).isInForeground)
    let settings = try settings("start --workers 3")
    #expect(settings.limits.workers == 3)
    #expect(settings.limits.transfers == 9)
    #expect(settings.idleExit == nil)
  }

  @Test func `other commands take the paths and start a coordinator that exits when idle`() throws {
    let settings = try settings("list --socket /s --data-dir /d")
    #expect(settings.socketPath == "/s")
    #expect(settings.dataDirectory == "/d")
    #expect(settings.limits.transfers == 9)
    #expect(settings.idleExit == .seconds(600))
    _ = try command("stop", as: StopCommand.self)
  }

  @Test(arguments: [
    ("sumbit a", "imgctl: there is no command \"sumbit\"; did you mean submit?"),
    ("frobnicate", "imgctl: there is no command \"frobnicate\"; see imgctl help"),
    ("--jsno list", "imgctl: unknown option \"--jsno\"; did you mean --json?"),
    ("--socket", "imgctl: --socket needs a value: --socket PATH"),
    ("--json", "imgctl: no command given; see imgctl help"),
    ("--json cache", "imgctl cache: no command given; see imgctl help cache"),
    (
      "--size 3 list",
      "imgctl list: unknown option \"--size\"; it is an option of submit, of get, of cache get"
    ),
    (
      "logs x",
      "imgctl: there is no command \"logs\"; imgctl status names the data directory, whose "
        + "coordinator.log is the log; a service logs to its manager, such as journalctl"
    ),
    (
      "top",
      "imgctl: there is no command \"top\"; imgctl status shows the cluster, and imgctl watch JOB "
        + "follows a job"
    ),
    ("stpo", "imgctl: there is no command \"stpo\"; did you mean stop?"),
    (
      "get http://h/ -o a.tiff",
      "imgctl get: --output: \"a.tiff\": thumbnails are not tiff; end the name in .jpg, .png, .webp, .avif "
        + "or .gif"
    ),
    (
      "submit a --size 600x --crop",
      "imgctl submit: --size: an open side, as in 600x, goes with --mode fit, without --crop"
    ),
    (
      "get http://h/ --crop smart",
      "imgctl get: --crop takes its value behind =: write --crop=smart, or "
        + "./smart for a file"
    ),
    ("-2 list", "imgctl: there is no command \"-2\"; see imgctl help"),
    ("hepl", "imgctl: there is no command \"hepl\"; did you mean help?"),
    ("cache", "imgctl cache: no command given; see imgctl help cache"),
    ("cache lst", "imgctl cache: there is no command \"lst\"; did you mean ls?"),
    ("help statsu", "imgctl: there is no command \"statsu\"; did you mean status?"),
    ("submit", "imgctl submit: FILE|DIR|- is missing: imgctl submit FILE|DIR|-... [options]"),
    ("export 7 a b", "imgctl export: unexpected argument \"b\": imgctl export JOB DIR [options]"),
    ("submit a --siz 3", "imgctl submit: unknown option \"--siz\"; did you mean --size?"),
    (
      "submit a --workers 3",
      "imgctl submit: unknown option \"--workers\"; it is an option of start, of config set"
    ),
    ("submit a --size 0x3", "imgctl submit: --size: \"0\" is not from 1 to 16383"),
    (
      "submit a --size x",
      "imgctl submit: --size: \"x\" is not a box; write WxH, such as 640x480, or 600x for a width alone"
    ),
    (
      "submit a --size 1x2x3",
      "imgctl submit: --size: \"1x2x3\" is not a box; write WxH, such as 640x480, or 600x for a width alone"
    ),
    (
      "submit a --mode fil",
      "imgctl submit: --mode: \"fil\" is not one of fit, fill, fill-down, auto, stretch, "
        + "stretch-down, own-size; "
        + "did you mean fill?"
    ),
    (
      "submit a --format jpgg",
      "imgctl submit: --format: \"jpgg\" is not one of auto, jpeg, png, webp, avif, gif, "
        + "compatible; "
        + "did you mean jpeg?"
    ),
    ("submit a --quality 101", "imgctl submit: --quality: \"101\" is not from 1 to 100"),
    (
      "submit a --crop --mode fit",
      "imgctl submit: a crop needs the mode fill, fill-down or auto, because other modes have "
        + "nothing to crop"
    ),
    ("submit a --pin --no-pin", "imgctl submit: --pin and --no-pin exclude each other"),
    ("submit a --priority 3", "imgctl submit: --priority: \"3\" is not from -2 to 2"),
    (
      "submit a --expire-after 7y",
      "imgctl submit: --expire-after: \"7y\" is not a duration; write a number of seconds, or one with ms, s, m, h, d or w, such as 0.25, 500ms or 10m"
    ),
    (
      "submit a --expires-at 1h",
      "imgctl submit: --expires-at: \"1h\" is not a date; write one such as 2027-01-01, 2027-01-01T12:00:00Z or 2027-01-01T12:00:00+02:00"
    ),
    (
      "submit a --expire-after 1h --expires-at 2027-01-01",
      "imgctl submit: --expire-after and --expires-at exclude each other"
    ),
    (
      "get http://h/ --expires-at 2027-01-01 --expire-on-access",
      "imgctl get: --expire-on-access needs a duration, not a date"
    ),
    (
      "limits --default-expiry 0s",
      "imgctl limits: --default-expiry: \"0s\" is not from 1ms to 36500d"
    ),
    ("info", "imgctl info: name a picture, or a list with --list"),
    ("info a.jpg --list b", "imgctl info: give a picture or --list, not both"),
    (
      "get a.jpg --keep thumbnial",
      "imgctl get: --keep: \"thumbnial\" is not one of none, thumbnail, auto, original, all; "
        + "did you mean thumbnail?"
    ),
    (
      "get a.jpg --keep pixel-facts",
      "imgctl get: --keep: facts are kept by imgctl info, and by imgctl submit --info-only"
    ),
    (
      "get a.jpg --crop attention",
      "imgctl get: --crop takes its value behind =: write --crop=attention, or ./attention for a "
        + "file"
    ),
    (
      "get a.jpg --crop 0.5,0.5",
      "imgctl get: --crop takes its value behind =: write --crop=0.5,0.5, or ./0.5,0.5 for a file"
    ),
    ("submit a --info-only --size 64", "imgctl submit: --size: --info-only makes no thumbnails"),
    ("submit a --info-only --lenient", "imgctl submit: --lenient: --info-only makes no thumbnails"),
    ("submit a --info-only --keep all", "imgctl submit: --keep: --info-only stores facts alone"),
    (
      "submit a --info-only --decode lazy",
      "imgctl submit: --decode: --info-only stores facts alone"
    ),
    (
      "submit a --decode lazy --size 64 --size 32",
      "imgctl submit: --size: --decode lazy makes no thumbnails"
    ),
    (
      "cache put http://h/ a --decode lazy --size 64",
      "imgctl cache put: --size: --decode lazy makes no thumbnails"
    ),
    (
      "submit a --decode lazy --keep all",
      "imgctl submit: --keep all: --decode lazy stores the original alone; leave --keep out"
    ),
    (
      "submit a --decode layz",
      "imgctl submit: --decode: \"layz\" is not one of eager, lazy; did you mean lazy?"
    ),
    (
      "get a --decode lazy",
      "imgctl get: unknown option \"--decode\"; it is an option of submit, of cache put"
    ),
    ("wait seven", "imgctl wait: JOB: \"seven\" is not a job number; see imgctl list"),
    ("cancel 0", "imgctl cancel: JOB: \"0\" is not a job number; see imgctl list"),
    ("export 7", "imgctl export: DIR is missing: imgctl export JOB DIR [options]"),
    ("status 7 --limits", "imgctl status: --limits goes with neither JOB nor --watch"),
    (
      "get http://h/ --json -o -",
      "imgctl get: --json and --output - would both write to standard output"
    ),
    (
      "cache put http://h/",
      "imgctl cache put: FILE|- is missing: imgctl cache put URL FILE|- [options]"
    ),
    (
      "submit a --cache-policy protcol",
      "imgctl submit: --cache-policy: \"protcol\" is not one of protocol, reload, cache-else-load, "
        + "cache-only; did you mean protocol?"
    ),
    (
      "get http://h/ --no-cache --cache-policy reload",
      "imgctl get: --no-cache and --cache-policy exclude each other"
    ),
    (
      "cache put http://h/ a.jpg --keep none",
      "imgctl cache put: --keep none: put would store nothing"
    ),
    (
      "cache put http://h/ a.jpg --delay 1s",
      "imgctl cache put: unknown option \"--delay\"; it is an option of submit, of get"
    ),
    (
      "get http://h/ --priority 1",
      "imgctl get: unknown option \"--priority\"; it is an option of submit"
    ),
    (
      "submit a --order filo",
      "imgctl submit: --order: \"filo\" is not one of fifo, lifo; did you mean fifo?"
    ),
    ("get http://h/ --delay 25h", "imgctl get: --delay: \"25h\" is not from 0s to 1d"),
    ("submit a --delay 0.0001", "imgctl submit: --delay: \"0.0001\" is not a multiple of 1ms"),
    ("priority 7", "imgctl priority: P is missing: imgctl priority JOB P [options]"),
    ("priority 7 -3", "imgctl priority: P: \"-3\" is not from -2 to 2"),
    ("priority 7 -x", "imgctl priority: unknown option \"-x\"; see imgctl priority --help"),
    (
      "remove",
      "imgctl remove: give either job numbers or --older-than, such as imgctl remove 7 8, or imgctl remove "
        + "--older-than 30d"
    ),
    ("remove 7 x", "imgctl remove: JOB: \"x\" is not a job number; see imgctl list"),
    ("limits --transfers 16385", "imgctl limits: --transfers: \"16385\" is not from 1 to 16384"),
    (
      "limits --rate-per-host 100/h",
      "imgctl limits: --rate-per-host: \"100/h\" is not a whole number a minute; write 1/m or 2/m"
    ),
    (
      "limits --workers 3",
      "imgctl limits: --workers cannot change while the coordinator runs: imgctl config set --workers 3, then imgctl stop && imgctl start; of a service: set IMGCTL_WORKERS=3 in /etc/default/imgctl, then: systemctl restart imgcoordinator"
    ),
    (
      "cache get http://h/ --json -o -",
      "imgctl cache get: --json and --output - would both write to standard output"
    ),
    ("cache rm", "imgctl cache rm: URL is missing: imgctl cache rm URL... [options]"),
    ("start --workers 0", "imgctl start: --workers: \"0\" is not from 1 to 256"),
    (
      "limits --store-budget=1G",
      "imgctl limits: --store-budget cannot change while the coordinator runs: imgctl config set --store-budget 1G, then imgctl stop && imgctl start; of a service: set IMGCTL_STORE_BUDGET=1G in /etc/default/imgctl, then: systemctl restart imgcoordinator"
    ),
    (
      "config set",
      "imgctl config set: no setting is given, such as imgctl config set --rate-per-host 1/s"
    ),
    (
      "config set rate-per-host 1/h",
      "imgctl config set: --rate-per-host: \"1/h\" is too low; rates are whole numbers a minute, and the lowest is 1/m"
    ),
  ])
  func `a wrong command line is refused with a sentence`(commandLine: String, sentence: String) {
    #expect(throws: UsageError(sentence)) { try invocation(commandLine) }
  }

  @Test func `an error in the environment names command and variable`() {
    #expect(throws: UsageError("imgctl list: IMGCTL_TRANSFERS: \"99999\" is not from 1 to 16384")) {
      try Invocation(
        arguments: ["list"], environment: ["HOME": "/h", "IMGCTL_TRANSFERS": "99999"], userID: 1)
    }
  }
}
