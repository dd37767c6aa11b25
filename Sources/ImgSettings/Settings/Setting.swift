import ImgModel

/// One setting: its flag and variable, its meaning, and how its text is read and written. Flags,
/// variables, help and the table of limits all come from ``all``.
package struct Setting: Sendable {
  /// The name in the table of limits.
  package let name: String
  package let option: OptionDescription
  /// The option of a command that changes the setting of a running coordinator. Its help names no
  /// default, because without the option the setting stays as it is.
  package let changeOption: OptionDescription
  /// The default in the help.
  package let defaultText: String
  /// Whether ``Limits`` contains it.
  package let isLimit: Bool
  /// Whether its value may be a secret. Then ``texts(in:)`` are for people, and other programs get the
  /// value by ``Settings/environment``.
  private let isSecret: Bool

  private let set: @Sendable (inout Settings, [String]) throws(InvalidValue) -> Void
  private let get: @Sendable (Settings) -> [String]

  /// - Parameters:
  ///   - defaultText: `nil` for the text of the default value.
  ///   - set: reads the given texts, exactly one unless the setting is repeatable.
  ///   - get: returns the texts that `set` reads; none if the setting is not set.
  init(
    _ name: String, _ flag: String, _ placeholder: String?, default defaultText: String? = nil,
    help: String, isRepeatable: Bool = false, isLimit: Bool = false, isSecret: Bool = false,
    set: @escaping @Sendable (inout Settings, [String]) throws(InvalidValue) -> Void,
    get: @escaping @Sendable (Settings) -> [String]
  ) {
    let defaultText =
      defaultText
      ?? get(Settings(socketPath: "", dataDirectory: "")).joined(separator: ", ")
    self.name = name
    self.defaultText = defaultText
    self.isLimit = isLimit
    self.isSecret = isSecret
    self.set = set
    self.get = get
    option = OptionDescription(
      flag, placeholder, help: "\(help) Default: \(defaultText).", isRepeatable: isRepeatable)
    changeOption = OptionDescription(flag, placeholder, help: help, isRepeatable: isRepeatable)
  }

  /// A setting that is on or off, and off by default. Its flag has no value; its variable is yes or
  /// no.
  init(
    _ name: String, _ flag: String, help: String,
    isOn: any WritableKeyPath<Settings, Bool> & Sendable
  ) {
    self.init(
      name, flag, nil, help: help,
      set: { (settings, texts) throws(InvalidValue) in
        // The flag has the empty text, the variable never.
        settings[keyPath: isOn] = texts[0].isEmpty ? true : try YesOrNo.value(parsing: texts[0])
      },
      get: { [YesOrNo.text($0[keyPath: isOn])] })
  }

  /// See ``OptionDescription/environmentVariable``.
  package var environmentVariable: String { option.environmentVariable }

  /// The arguments that set what is set in `settings`.
  func arguments(for settings: Settings) -> [String] {
    guard !isSecret else { return [] }
    let texts = texts(in: settings)
    guard option.placeholder == nil else { return texts.flatMap { [option.flag, $0] } }
    return texts == [YesOrNo.text(true)] ? [option.flag] : []
  }

  /// The texts of the value in `settings`; none if it is not set.
  package func texts(in settings: Settings) -> [String] {
    get(settings)
  }

  /// Sets the value in `settings` from the flag, else from the variable.
  ///
  /// In the variable of a repeatable setting, commas separate the values.
  func read(
    from arguments: ArgumentReader, environment: [String: String], into settings: inout Settings
  ) throws(UsageError) {
    guard let given = GivenTexts(of: option, in: arguments, environment) else { return }
    try put(given.texts, from: given.source, into: &settings)
  }

  /// Reads the texts of the flag or variable `source`.
  func put(
    _ texts: [String], from source: String, into settings: inout Settings
  ) throws(UsageError) {
    do {
      try set(&settings, texts)
    } catch {
      throw UsageError(source, error)
    }
  }
}

extension Setting {
  /// The options of a program that takes every setting.
  package static let options = all.map(\.option)

  /// The note below the options of a command that takes settings.
  package static let note =
    "Each setting may also come from an environment variable, such as IMGCTL_DATA_DIR for "
    + "--data-dir. A flag overrides its variable. Durations are 500ms, 30s, 10m, 2h, 1.5d, or 0.25 "
    + "in seconds; sizes are 64K, 100M or 2G, where 1K is 1,024 bytes."

  /// One line of the table that `imgctl status --limits` prints.
  package struct Row: Hashable, Sendable {
    package let name: String
    package let flag: String
    /// `-` if nothing is set and the default applies.
    package let value: String
    package let defaultText: String
  }

  /// The settings of a coordinator with the defaults: limits first.
  package static func rows(of settings: Settings) -> [Row] {
    (all.filter(\.isLimit) + all.filter { !$0.isLimit }).map { setting in
      let texts = setting.texts(in: settings)
      return Row(
        name: setting.name, flag: setting.option.flag,
        value: texts.isEmpty ? "-" : texts.joined(separator: ", "),
        defaultText: setting.defaultText)
    }
  }
}

extension Setting {
  /// All settings in the order of the help.
  package static let all: [Setting] = places + limits + guards

  /// The settings of ``LimitChange``, which `imgctl limits` can change at run time.
  static let changeable = [transfers, transfersPerHost, ratePerHost, defaultExpiry]

  private static let durations = Settings.durationRange
  private static let processMemory: ClosedRange<Int64> = (64 << 20)...(1 << 40)
  private static let transferRange =
    Int64(LimitChange.transferRange.lowerBound)...Int64(LimitChange.transferRange.upperBound)

  package static let socket =
    Setting(
      "control socket", "--socket", "PATH",
      default: "$XDG_RUNTIME_DIR/imgctl/control.sock, else /tmp/imgctl-UID/control.sock",
      help: "The socket of the coordinator.",
      set: { (settings, texts) throws(InvalidValue) in
        settings.socketPath = try socketPath(texts[0])
      },
      get: { [$0.socketPath] })

  package static let dataDirectory =
    Setting(
      "data directory", "--data-dir", "DIR",
      default: "$XDG_CACHE_HOME/imgctl, else ~/.cache/imgctl",
      help: "The directory of jobs and thumbnails.",
      set: { (settings, texts) throws(InvalidValue) in
        settings.dataDirectory = try path(texts[0])
      },
      get: { [$0.dataDirectory] })

  /// A setting of commands only.
  package static let autostart =
    Setting(
      "start by a command", "--autostart", "yes|no",
      default: "yes, but no for a socket below /run, except /run/user",
      help: "Start a coordinator if none answers.",
      set: { (settings, texts) throws(InvalidValue) in
        settings.autostart = try YesOrNo.value(parsing: texts[0])
      },
      get: { settings in settings.autostart.map { [YesOrNo.text($0)] } ?? [] })

  private static let places: [Setting] = [
    socket,
    dataDirectory,
    Setting(
      "worker program", "--worker-executable", "FILE",
      default: "imgworker beside the coordinator's own program",
      help: "The worker program.",
      set: { (settings, texts) throws(InvalidValue) in
        settings.workerExecutable = try path(texts[0])
      },
      get: { settings in settings.workerExecutable.map { [$0] } ?? [] }),
    Setting(
      "exit when idle", "--idle-exit", "DURATION",
      default: "never; 10m if a command started the coordinator",
      help: "Exit after this time without clients and jobs, or \"never\".",
      set: { (settings, texts) throws(InvalidValue) in
        settings.idleExit =
          texts[0] == "never" ? nil : try Duration(parsing: texts[0], in: durations)
      },
      get: { settings in [settings.idleExit.map(\.text) ?? "never"] }),
  ]

  static let transfers = limit(
    "transfers, whole cluster", "--transfers", "N", .count, transferRange, \.transfers,
    help: "The maximum number of concurrent transfers.")

  static let transfersPerHost = limit(
    "transfers, one host", "--transfers-per-host", "N", .count, transferRange, \.transfersPerHost,
    help: "The maximum number of concurrent transfers from one host.")

  static let ratePerHost = Setting(
    "transfer starts, one host", "--rate-per-host", "RATE",
    help: "The maximum rate of transfer starts at one host, such as 5/s or 30/m, or \"none\".",
    isLimit: true,
    set: { (settings, texts) throws(InvalidValue) in
      settings.limits.hostRatePerMinute = try HostRate.perMinute(parsing: texts[0])
    },
    get: { [HostRate.text(perMinute: $0.limits.hostRatePerMinute)] })

  static let defaultExpiry = limit(
    "expiry", "--default-expiry", durations, \.defaultExpiry,
    help: "How long a thumbnail is kept if the request does not say.")

  private static let limits: [Setting] = [
    Setting(
      "workers", "--workers", "N",
      help: "The number of worker processes, or \"auto\" for one per core.",
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
      "connecting", "--connect-timeout", durations, \.connectTimeout,
      help: "The time limit for a connection, including TLS."),
    .limit(
      "whole transfer", "--transfer-timeout", durations, \.transferTimeout,
      help: "The time limit from the name look-up to the last byte of the picture."),
    .limit(
      "stalled below 1 KiB/s", "--stall-timeout", durations, \.stallTimeout,
      help: "How long a transfer may stay below 1 KiB/s."),
    .limit(
      "redirects", "--max-redirects", "N", .count, 0...100, \.maxRedirects,
      help: "The maximum number of redirects for one picture."),
    .limit(
      "attempts", "--attempts", "N", .count, 1...100, \.attempts,
      help: "The maximum number of transfers of one URL, if they fail temporarily."),
    .limit(
      "wait before a retry", "--backoff", durations, \.backoff,
      help: "The longest wait before the first retry. It doubles with each retry, up to a minute."),
    .limit(
      "retries of one URL", "--url-timeout", durations, \.urlTimeout,
      help: "No retry of a URL starts later after its first failure."),
    .limit(
      "missing pictures remembered", "--remember-failures", .zero...durations.upperBound,
      \.rememberFailures,
      help:
        "How long a 404, a 410 or a decode_crash is remembered and not tried again; 0 for not at all."
    ),
    .limit(
      "body", "--max-body", "SIZE", .size, 1...(16 << 30), \.maxBodyByteCount,
      help: "The maximum size of a response body."),
    .limit(
      "pixels of the decoded frames", "--max-pixels", "N", .pixels, 1...1_000_000_000_000,
      \.maxPixels,
      help: "The maximum number of pixels of a picture, in all decoded frames."),
    .limit(
      "frames in a file", "--max-frames", "N", .count, 1...1_000_000, \.maxFrames,
      help: "The maximum number of frames or pages in the file of a picture."),
    .limit(
      "decoding", "--decode-timeout", durations, \.decodeTimeout,
      help: "The time limit to decode one picture."),
    .limit(
      "encoded thumbnail", "--max-thumbnail", "SIZE", .size, 1...(1 << 30),
      \.maxThumbnailByteCount, help: "The maximum size of an encoded thumbnail."),
    .limit(
      "decoder's private data", "--decoder-memory", "SIZE", .size, processMemory,
      \.decoderMemoryByteCount, help: "The maximum private memory of a decoder."),
    .limit(
      "worker's private data", "--worker-memory", "SIZE", .size, processMemory,
      \.workerMemoryByteCount, help: "The maximum private memory of a worker."),
    Setting(
      "store budget", "--store-budget", "SIZE",
      help:
        "The maximum size of the store, at least 10M; 8K for each thumbnail of 256x256. \"auto\": a "
        + "quarter of what is free on its disk at the start, or in the store already.",
      isLimit: true,
      set: { (settings, texts) throws(InvalidValue) in
        settings.isStoreBudgetAutomatic = texts[0] == "auto"
        if settings.isStoreBudgetAutomatic { return }
        settings.limits.storeBudgetByteCount = try UnitScale.size.value(
          parsing: texts[0], in: 0...(16 << 40))
      },
      get: {
        [$0.isStoreBudgetAutomatic ? "auto" : UnitScale.size.text($0.limits.storeBudgetByteCount)]
      }),
    defaultExpiry,
    Setting(
      "jobs, after their end", "--keep-jobs", "DURATION",
      help: "How long an ended job is kept with its list and outcomes, or \"forever\".",
      isLimit: true,
      set: { (settings, texts) throws(InvalidValue) in
        settings.limits.keepJobs =
          texts[0] == "forever" ? nil : try Duration(parsing: texts[0], in: durations)
      },
      get: { [$0.limits.keepJobs.map(\.text) ?? "forever"] }),
    .limit(
      "clients connected", "--clients", "N", .count, 1...65_536, \.clients,
      help: "The maximum number of connected clients."),
    .limit(
      "half-sent requests", "--client-timeout", durations, \.clientTimeout,
      help: "The time limit for a client's greeting or the rest of a request. When --clients are "
        + "connected, a client that was idle for this long is closed for a new one."),
    Setting(
      "contact in User-Agent", "--contact", "MAIL|URL",
      help: "A mail address or URL in the User-Agent, for questions from origins, or \"none\".",
      isLimit: true,
      set: { (settings, texts) throws(InvalidValue) in
        settings.limits.contact = texts[0] == "none" ? nil : try Contact.check(texts[0])
      },
      get: { [$0.limits.contact ?? "none"] }),
  ]

  static let proxy = Setting(
    "proxy", "--proxy", "URL",
    default: "http_proxy, https_proxy, HTTPS_PROXY, all_proxy or ALL_PROXY of the environment, as "
      + "curl reads them",
    help: "Fetch through this proxy, such as http://proxy.example:3128 (http, https, socks5h or "
      + "socks5), or \"none\". NO_PROXY names hosts that are asked directly. Other users can see the "
      + "command line (ps): a password belongs into the variable.",
    isSecret: true,
    set: { (settings, texts) throws(InvalidValue) in
      settings.proxyChoice = try ProxyChoice(parsing: texts[0])
    },
    get: { $0.proxies.texts })

  private static let guards: [Setting] = [
    Setting(
      "allowed networks", "--allow-network", "CIDR",
      default: "none: loopback, private and link-local addresses are refused",
      help: "Also fetch from this network. Repeatable; separated by commas in the variable.",
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
      "allowed directories", "--allow-directory", "DIR",
      default: "none: file: URLs in lists are refused",
      help: "Allow file: URLs below this directory in lists. Repeatable; separated by commas in "
        + "the variable.",
      isRepeatable: true,
      set: { (settings, texts) throws(InvalidValue) in
        var directories: [String] = []
        for text in texts { directories.append(try path(text)) }
        settings.allowedDirectories = directories
      },
      get: { $0.allowedDirectories }),
    Setting(
      "optional formats", "--allow-format", "FORMAT",
      default: "none: JPEG 2000 is refused",
      help: "Also decode this format: jp2 for JPEG 2000, whose decoder has known faults. "
        + "Repeatable; separated by commas in the variable.",
      isRepeatable: true,
      set: { (settings, texts) throws(InvalidValue) in
        var formats: [ImageFormat] = []
        for text in texts {
          guard let format = ImageFormat(rawValue: text), format.isOptional else {
            throw InvalidValue("\"\(text)\" is not jp2")
          }
          if !formats.contains(format) { formats.append(format) }
        }
        settings.limits.allowedFormats = formats
      },
      get: { $0.limits.allowedFormats.map(\.rawValue) }),
    Setting(
      "trusted authorities", "--ca-file", "FILE",
      default: "the authorities of the system",
      help: "A PEM file with the certificates of the trusted authorities.",
      set: { (settings, texts) throws(InvalidValue) in
        settings.authorityFile = try path(texts[0])
      },
      get: { settings in settings.authorityFile.map { [$0] } ?? [] }),
    proxy,
    Setting(
      "sandbox required", "--require-sandbox",
      help: "Decode nothing if the kernel lacks no_new_privs, seccomp or Landlock.",
      isOn: \.requiresSandbox),
  ]

  /// A limit with one number.
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

  /// A limit with one duration.
  private static func limit(
    _ name: String, _ flag: String, _ range: ClosedRange<Duration>,
    _ value: any WritableKeyPath<Limits, Duration> & Sendable, help: String
  ) -> Setting {
    Setting(
      name, flag, "DURATION", help: help, isLimit: true,
      set: { (settings, texts) throws(InvalidValue) in
        settings.limits[keyPath: value] = try Duration(parsing: texts[0], in: range)
      },
      get: { [$0.limits[keyPath: value].text] })
  }

  private static func path(_ text: String) throws(InvalidValue) -> String {
    guard !text.isEmpty else { throw InvalidValue("the path is empty") }
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
