import ImgModel

extension Setting {
  /// Every setting, in the order of the help.
  package static let all: [Setting] = places + limits + guards

  /// Those of ``LimitChange``, which can be changed while a coordinator runs.
  static let changeable = [transfers, transfersPerHost, ratePerHost, defaultExpiry]

  private static let durations = Settings.durationRangeMilliseconds
  private static let transferRange =
    Int64(LimitChange.transferRange.lowerBound)...Int64(LimitChange.transferRange.upperBound)

  package static let socket =
    Setting(
      "control socket", "--socket", "PATH",
      default: "$XDG_RUNTIME_DIR/imgctl/control.sock, else /tmp/imgctl-UID/control.sock",
      help: "Where the coordinator listens.",
      set: { (settings, texts) throws(InvalidValue) in
        settings.socketPath = try socketPath(texts[0])
      },
      get: { [$0.socketPath] })

  package static let dataDirectory =
    Setting(
      "data directory", "--data-dir", "DIR",
      default: "$XDG_CACHE_HOME/imgctl, else ~/.cache/imgctl",
      help: "Where jobs and thumbnails are kept.",
      set: { (settings, texts) throws(InvalidValue) in
        settings.dataDirectory = try path(texts[0])
      },
      get: { [$0.dataDirectory] })

  /// Of commands alone.
  package static let autostart =
    Setting(
      "start by a command", "--autostart", "yes|no",
      default: "yes, but no for a socket below /run, except /run/user",
      help: "Whether to start a coordinator when none answers.",
      set: { (settings, texts) throws(InvalidValue) in
        guard ["yes", "no"].contains(texts[0]) else {
          throw InvalidValue("\(Spelling.quoted(texts[0])) is none of yes, no")
        }
        settings.autostart = texts[0] == "yes"
      },
      get: { settings in settings.autostart.map { [$0 ? "yes" : "no"] } ?? [] })

  private static let places: [Setting] = [
    socket,
    dataDirectory,
    Setting(
      "worker program", "--worker-executable", "FILE",
      default: "imgworker beside the coordinator's own program",
      help: "The program of the workers.",
      set: { (settings, texts) throws(InvalidValue) in
        settings.workerExecutable = try path(texts[0])
      },
      get: { settings in settings.workerExecutable.map { [$0] } ?? [] }),
    Setting(
      "leaves when idle", "--idle-exit", "DURATION",
      default: "never; 10m when a command started the coordinator by itself",
      help: "Leave when nobody needed the coordinator for so long, or \"never\".",
      set: { (settings, texts) throws(InvalidValue) in
        settings.idleExitMilliseconds =
          texts[0] == "never"
          ? nil : try UnitScale.duration.value(parsing: texts[0], in: durations)
      },
      get: { settings in [settings.idleExitMilliseconds.map(UnitScale.duration.text) ?? "never"] }),
  ]

  static let transfers = limit(
    "transfers, whole cluster", "--transfers", "N", .count, transferRange, \.transfers,
    help: "Transfers under way at a time.")

  static let transfersPerHost = limit(
    "transfers, one host", "--transfers-per-host", "N", .count, transferRange, \.transfersPerHost,
    help: "Transfers from one host at a time.")

  static let ratePerHost = Setting(
    "transfers begun, one host", "--rate-per-host", "RATE",
    help: "Transfers begun at one host in a time, such as 5/s or 30/m, or \"none\" for any number.",
    isLimit: true,
    set: { (settings, texts) throws(InvalidValue) in
      settings.limits.hostRatePerMinute = try HostRate.perMinute(parsing: texts[0])
    },
    get: { [HostRate.text(perMinute: $0.limits.hostRatePerMinute)] })

  static let defaultExpiry = limit(
    "expiry", "--default-expiry", "DURATION", .duration, durations, \.defaultExpiryMilliseconds,
    help: "How long a thumbnail is kept when the request does not say.")

  private static let limits: [Setting] = [
    Setting(
      "workers", "--workers", "N", help: "Worker processes, or \"auto\" for one a core.",
      isLimit: true,
      set: { (settings, texts) throws(InvalidValue) in
        settings.limits.workers =
          texts[0] == "auto" ? 0 : Int(try UnitScale.count.value(parsing: texts[0], in: 1...256))
      },
      get: { [$0.limits.workers == 0 ? "auto" : "\($0.limits.workers)"] }),
    transfers,
    transfersPerHost,
    ratePerHost,
    .limit(
      "connecting", "--connect-timeout", "DURATION", .duration, durations,
      \.connectTimeoutMilliseconds, help: "Until a connection stands, TLS included."),
    .limit(
      "whole transfer", "--transfer-timeout", "DURATION", .duration, durations,
      \.transferTimeoutMilliseconds,
      help: "From the look-up of the name to the last byte of the picture."),
    .limit(
      "stalled below 1 KiB/s", "--stall-timeout", "DURATION", .duration, durations,
      \.stallTimeoutMilliseconds, help: "How long a transfer may stay below 1 KiB/s."),
    .limit(
      "redirects", "--max-redirects", "N", .count, 0...100, \.maxRedirects,
      help: "Redirects followed for one picture."),
    .limit(
      "attempts", "--attempts", "N", .count, 1...100, \.attempts,
      help: "Transfers of one URL, while they fail in a way that may pass."),
    .limit(
      "wait before a retry", "--backoff", "DURATION", .duration, durations,
      \.backoffMilliseconds,
      help: "The longest wait before the first retry; it doubles with each, up to a minute."),
    .limit(
      "retries of one URL", "--url-timeout", "DURATION", .duration, durations,
      \.urlTimeoutMilliseconds, help: "From its first failure on; no retry begins later."),
    .limit(
      "missing pictures remembered", "--remember-failures", "DURATION", .duration,
      0...durations.upperBound, \.rememberFailuresMilliseconds,
      help: "How long a picture is not asked for again after a 404 or 410; 0 for no such time."),
    .limit(
      "body", "--max-body", "SIZE", .size, 1...(16 << 30), \.maxBodyByteCount,
      help: "Bytes of one picture as it is sent."),
    .limit(
      "pixels, of the frames that are decoded", "--max-pixels", "N", .pixels, 1...1_000_000_000_000,
      \.maxPixels,
      help: "Pixels of one picture, in the frames of it that are decoded."),
    .limit(
      "frames that are decoded", "--max-frames", "N", .count, 1...1_000_000, \.maxFrames,
      help: "Frames of one picture."),
    .limit(
      "decoding", "--decode-timeout", "DURATION", .duration, durations,
      \.decodeTimeoutMilliseconds, help: "Time to decode one picture."),
    .limit(
      "worker's private data", "--worker-memory", "SIZE", .size, (64 << 20)...(1 << 40),
      \.workerMemoryByteCount, help: "Private memory of one worker."),
    .limit(
      "store budget", "--store-budget", "SIZE", .size, 0...(16 << 40), \.storeBudgetByteCount,
      help: "Room for thumbnails; less than 10M is raised to it."),
    defaultExpiry,
    Setting(
      "jobs, after their end", "--keep-jobs", "DURATION",
      help: "How long a job is kept after its end, list and outcomes, or \"forever\".",
      isLimit: true,
      set: { (settings, texts) throws(InvalidValue) in
        settings.limits.keepJobsMilliseconds =
          texts[0] == "forever"
          ? nil : try UnitScale.duration.value(parsing: texts[0], in: durations)
      },
      get: { [$0.limits.keepJobsMilliseconds.map(UnitScale.duration.text) ?? "forever"] }),
    .limit(
      "clients connected", "--clients", "N", .count, 1...65_536, \.clients,
      help: "Clients that may be connected at a time."),
    .limit(
      "requests half-sent", "--client-timeout", "DURATION", .duration, durations,
      \.clientTimeoutMilliseconds,
      help: "How long a client may take to greet or to send the rest of a request; one that has "
        + "been idle for so long makes room when no more may connect."),
    Setting(
      "contact, told to origins", "--contact", "MAIL|URL",
      help: "Where whoever runs an origin can ask about the requests: part of the User-Agent; or "
        + "\"none\".",
      isLimit: true,
      set: { (settings, texts) throws(InvalidValue) in
        settings.limits.contact = texts[0] == "none" ? nil : try Contact.check(texts[0])
      },
      get: { [$0.limits.contact ?? "none"] }),
  ]

  private static let guards: [Setting] = [
    Setting(
      "networks allowed", "--allow-network", "CIDR",
      default: "none, so that loopback, private and link-local addresses are refused",
      help: "Fetch from this network too. Repeatable; commas separate in the variable.",
      isRepeatable: true,
      set: { (settings, texts) throws(InvalidValue) in
        var networks: [NetworkRange] = []
        for text in texts {
          networks.append(try NetworkRange(parsing: text))
        }
        settings.allowedNetworks = networks
      },
      get: { $0.allowedNetworks.map(\.text) }),
    Setting(
      "directories allowed", "--allow-directory", "DIR",
      default: "none, so that file: URLs in lists are refused",
      help: "Read files below it that lists name. Repeatable; commas separate in the variable.",
      isRepeatable: true,
      set: { (settings, texts) throws(InvalidValue) in
        var directories: [String] = []
        for text in texts { directories.append(try path(text)) }
        settings.allowedDirectories = directories
      },
      get: { $0.allowedDirectories }),
    Setting(
      "authorities trusted", "--ca-file", "FILE",
      default: "those of the system",
      help: "Trust servers by the authorities whose certificates (PEM) it holds.",
      set: { (settings, texts) throws(InvalidValue) in
        settings.authorityFile = try path(texts[0])
      },
      get: { settings in settings.authorityFile.map { [$0] } ?? [] }),
  ]

  /// A limit that is one number.
  private static func limit<Value: FixedWidthInteger & SendableMetatype>(
    _ name: String, _ flag: String, _ placeholder: String, _ scale: UnitScale,
    _ range: ClosedRange<Int64>, _ value: any WritableKeyPath<Limits, Value> & Sendable,
    help: String
  ) -> Setting {
    Setting(
      name, flag, placeholder, help: help, isLimit: true,
      set: { (settings, texts) throws(InvalidValue) in
        settings.limits[keyPath: value] = Value(try scale.value(parsing: texts[0], in: range))
      },
      get: { [scale.text(Int64($0.limits[keyPath: value]))] })
  }

  private static func path(_ text: String) throws(InvalidValue) -> String {
    guard !text.isEmpty else { throw InvalidValue("a path is not empty") }
    return text
  }

  private static func socketPath(_ text: String) throws(InvalidValue) -> String {
    let limit = Settings.maximumSocketPathByteCount
    guard text.utf8.count <= limit else {
      throw InvalidValue("the path of a socket has at most \(limit) bytes")
    }
    return try path(text)
  }
}
