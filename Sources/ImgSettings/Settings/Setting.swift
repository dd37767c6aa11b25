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
  private let getExact: @Sendable (Settings) -> [String]

  /// - Parameters:
  ///   - placeholder: `nil` for a flag without a value.
  ///   - defaultText: `nil` for the text of the default value.
  ///   - value: where the value is.
  ///   - form: how it is read and written.
  init<Value>(
    _ name: String, _ flag: String, _ placeholder: String?, default defaultText: String? = nil,
    help: String, isLimit: Bool = false, isSecret: Bool = false,
    _ value: any WritableKeyPath<Settings, Value> & Sendable, _ form: Form<Value>
  ) {
    let get: @Sendable (Settings) -> [String] = { form.texts($0[keyPath: value]) }
    let defaultText =
      defaultText
      ?? get(Settings(socketPath: "", dataDirectory: "")).joined(separator: ", ")
    self.name = name
    self.defaultText = defaultText
    self.isLimit = isLimit
    self.isSecret = isSecret
    self.get = get
    getExact = { (form.exactTexts ?? form.texts)($0[keyPath: value]) }
    set = { (settings, texts) throws(InvalidValue) in
      settings[keyPath: value] = try form.value(texts)
    }
    option = OptionDescription(
      flag, placeholder, help: "\(help) Default: \(defaultText).", isRepeatable: form.isRepeatable)
    changeOption = OptionDescription(
      flag, placeholder, help: help, isRepeatable: form.isRepeatable)
  }

  /// How a value is written.
  struct Form<Value>: Sendable {
    /// The value of the texts, exactly one unless it is repeatable.
    let value: @Sendable ([String]) throws(InvalidValue) -> Value
    /// The texts that are read; none if it is not set.
    let texts: @Sendable (Value) -> [String]
    var isRepeatable = false
    /// The texts of a value that ``texts`` does not show completely; `nil` for the same.
    var exactTexts: (@Sendable (Value) -> [String])?

    /// A value of one text.
    static func one(
      _ value: @escaping @Sendable (String) throws(InvalidValue) -> Value,
      _ text: @escaping @Sendable (Value) -> String
    ) -> Self {
      Form(
        value: { (texts) throws(InvalidValue) in try value(texts[0]) }, texts: { [text($0)] })
    }

    /// A value that may be absent.
    ///
    /// - Parameters:
    ///   - absent: the word for that; `nil` if it has none.
    ///   - synonym: another word for it, which is read only.
    static func optional<Wrapped>(
      _ form: Form<Wrapped>, or absent: String? = nil, _ synonym: String? = nil
    ) -> Self where Value == Wrapped? {
      Form(
        value: { (texts) throws(InvalidValue) in
          [absent, synonym].contains(texts[0]) ? nil : try form.value(texts)
        }, texts: { $0.map(form.texts) ?? [absent].compactMap(\.self) })
    }

    /// Values of one text each. One that is repeated counts once.
    static func list<Element: Equatable & SendableMetatype>(
      _ value: @escaping @Sendable (String) throws(InvalidValue) -> Element,
      _ text: @escaping @Sendable (Element) -> String
    ) -> Self where Value == [Element] {
      Form(
        value: { (texts) throws(InvalidValue) in
          var values: [Element] = []
          for text in texts {
            let value = try value(text)
            if !values.contains(value) { values.append(value) }
          }
          return values
        }, texts: { $0.map(text) }, isRepeatable: true)
    }
  }

  /// See ``OptionDescription/environmentVariable``.
  package var environmentVariable: String { option.environmentVariable }

  /// The arguments that set what is set in `settings`.
  func arguments(for settings: Settings) -> [String] {
    guard !isSecret else { return [] }
    guard option.placeholder != nil else { return typed(in: settings) }
    return texts(in: settings).flatMap { [option.flag, $0] }
  }

  /// The texts of the value in `settings`; none if it is not set.
  package func texts(in settings: Settings) -> [String] {
    get(settings)
  }

  /// The same with what may be a secret.
  func exactTexts(in settings: Settings) -> [String] {
    getExact(settings)
  }

  /// Sets the value in `settings` from the flag, else from the variable.
  ///
  /// In the variable of a repeatable setting, commas separate the values.
  func read(
    from arguments: ArgumentReader, environment: [String: String], into settings: inout Settings
  ) throws(UsageError) {
    guard let given = GivenTexts(of: option, in: arguments, environment) else { return }
    try put(given.texts, from: given.source, into: &settings)
    settings.sources[option.flag] = given.source == option.flag ? .flag : .variable
  }

  /// Reads the texts of the flag or variable `source`.
  func put(
    _ texts: [String], from source: String, into settings: inout Settings
  ) throws(UsageError) {
    guard option.isRepeatable || texts.count == 1 else {
      throw UsageError("\(source): \(texts.count) values, but it has one")
    }
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
    + "--data-dir. A flag overrides its variable. Durations are 500ms, 30s, 10m, 2h, 1.5d, 2w, or 0.25 "
    + "in seconds; sizes are 64K, 100M or 2G, where 1K, 1KB and 1KiB are 1,024 bytes."
}

extension Setting {
  /// All settings in the order of the help.
  package static let all: [Setting] = places + limits + guards

  /// The settings of ``LimitChange``, which `imgctl limits` can change at run time.
  static let changeable = [
    transfers, transfersPerHost, ratePerHost, bytesPerSecond, bytesPerSecondPerHost, memoryBudget,
    defaultExpiry,
  ]

  private static let durations = Settings.durationRange
  private static let processMemory: ClosedRange<Int64> = (64 << 20)...(1 << 40)

  package static let socket = Setting(
    "control socket", "--socket", "PATH",
    default: "$XDG_RUNTIME_DIR/imgctl/control.sock, else /tmp/imgctl-UID/control.sock",
    help: "The socket of the coordinator.", \.socketPath, .one(socketPath, \.self))

  package static let dataDirectory = Setting(
    "data directory", "--data-dir", "DIR",
    default: "$XDG_STATE_HOME/imgctl, else ~/.local/state/imgctl",
    help: "The directory of jobs, and of thumbnails unless --cache-dir is given.",
    \.commonDirectory, .path)

  package static let cacheDirectory = Setting(
    "cache directory", "--cache-dir", "DIR",
    default: "that of --data-dir if it is given, else $XDG_CACHE_HOME/imgctl, else ~/.cache/imgctl",
    help: "The directory of thumbnails, which may be emptied at any time.", \.cacheDirectory, .path)

  package static let storeName = Setting(
    "store name", "--store-name", "NAME",
    help: "The name of the store in the cache directory, which may have several.", \.storeName,
    .one(name, \.self))

  /// The settings of the places of journal and store. A later one overrides what an earlier one implies.
  package static let directories = [dataDirectory, cacheDirectory, storeName]

  /// A setting of commands only.
  package static let autostart = Setting(
    "start by a command", "--autostart", "yes|no",
    default: "yes, but no for a socket below /run, except /run/user",
    help: "Start a coordinator if none answers.", \.autostart,
    .optional(.one(YesOrNo.value(parsing:), YesOrNo.text)))

  private static let places: [Setting] =
    [socket] + directories + [
      Setting(
        "worker program", "--worker-executable", "FILE",
        default: "imgworker beside the coordinator's own program",
        help: "The worker program.", \.workerExecutable, .optional(.path)),
      Setting(
        "exit when idle", "--idle-exit", "DURATION",
        default: "never; 10m if a command started the coordinator",
        help: "Exit after this time without clients and jobs, or \"never\".", \.idleExit,
        .optional(.duration(durations), or: "never")),
    ]

  static let transfers = Setting(
    "transfers, whole cluster", "--transfers", "N",
    help: "The maximum number of concurrent transfers, or \"unlimited\".",
    isLimit: true, \.limits.transfers, .transfers)

  static let transfersPerHost = Setting(
    "transfers, one host", "--transfers-per-host", "N",
    help: "The maximum number of concurrent transfers from one host, or \"unlimited\".",
    isLimit: true, \.limits.transfersPerHost, .transfers)

  static let ratePerHost = Setting(
    "transfer starts, one host", "--rate-per-host", "RATE",
    help: "The maximum rate of transfer starts at one host, such as 5/s or 30/m, or \"none\".",
    isLimit: true, \.limits.hostRatePerMinute,
    .one(HostRate.perMinute(parsing:), HostRate.text(perMinute:)))

  static let bytesPerSecond = Setting(
    "bytes per second, whole cluster", "--bytes-per-second", "SIZE",
    help: "The maximum rate of bytes from all hosts together, such as 5M, or \"none\".",
    isLimit: true, \.limits.bytesPerSecond, .bandwidth)

  static let bytesPerSecondPerHost = Setting(
    "bytes per second, one host", "--bytes-per-second-per-host", "SIZE",
    help: "The maximum rate of bytes from one host, such as 500K, or \"none\".",
    isLimit: true, \.limits.hostBytesPerSecond, .bandwidth)

  static let defaultExpiry = limit(
    "expiry", "--default-expiry", durations, \.limits.defaultExpiry,
    help: "How long a thumbnail is kept if the request does not say.")

  /// A budget below its minimum is raised later, see ``Settings/raiseLimits()``.
  static let memoryBudget = limit(
    "memory budget", "--memory-budget", "SIZE", .size,
    0...LimitChange.memoryBudgetRange.upperBound, \.limits.memoryBudgetByteCount,
    help: "The maximum size of the pictures that all processes keep in memory, at least 10M.")

  static let storeBudget = Setting(
    "store budget", "--store-budget", "SIZE",
    help:
      "The maximum size of the store, at least 10M; 8K for each thumbnail of 256x256. \"auto\": a "
      + "quarter of what is free on its disk at the start, or in the store already.",
    isLimit: true, \.storeBudget,
    .optional(.number(.size, 0...Settings.maximumStoreBudgetByteCount), or: "auto"))

  private static let limits: [Setting] = [
    Setting(
      "workers", "--workers", "N",
      help: "The number of worker processes, 1 to 256, or \"auto\" for one per core.",
      isLimit: true, \.limits.workers,
      .one(
        { (text) throws(InvalidValue) in
          text == "auto" ? 0 : Int(try UnitScale.count.value(parsing: text, in: 1...256))
        }, { $0 == 0 ? "auto" : "\($0)" })),
    transfers,
    transfersPerHost,
    ratePerHost,
    bytesPerSecond,
    bytesPerSecondPerHost,
    .limit(
      "connecting", "--connect-timeout", durations, \.limits.connectTimeout,
      help: "The time limit for a connection, including TLS."),
    .limit(
      "whole transfer", "--transfer-timeout", durations, \.limits.transferTimeout,
      help: "The time limit from the name look-up to the last byte of the picture."),
    .limit(
      "stalled below 1 KiB/s", "--stall-timeout", durations, \.limits.stallTimeout,
      help: "How long a transfer may stay below 1 KiB/s."),
    .limit(
      "redirects", "--max-redirects", "N", .count, 0...100, \.limits.maxRedirects,
      help: "The maximum number of redirects for one picture."),
    .limit(
      "attempts", "--attempts", "N", .count, 1...100, \.limits.attempts,
      help: "The maximum number of transfers of one URL, if they fail temporarily."),
    .limit(
      "wait before a retry", "--backoff", durations, \.limits.backoff,
      help: "The longest wait before the first retry. It doubles with each retry, up to a minute."),
    .limit(
      "retries of one URL", "--url-timeout", durations, \.limits.urlTimeout,
      help: "No retry of a URL starts later after its first failure."),
    .limit(
      "waiting for the network", "--offline-timeout", .zero...durations.upperBound,
      \.limits.offlineTimeout,
      help:
        "How long jobs wait if no host can be resolved or connected to, or all answer with web pages; "
        + "0 for not at all."),
    .limit(
      "missing pictures remembered", "--remember-failures", .zero...durations.upperBound,
      \.limits.rememberFailures,
      help:
        "How long a 404, a 410 or a decode_crash is remembered and not tried again; 0 for not at all."
    ),
    .limit(
      "body", "--max-body", "SIZE", .size, 1...(16 << 30), \.limits.maxBodyByteCount,
      help: "The maximum size of a response body."),
    .limit(
      "pixels of the decoded frames", "--max-pixels", "N", .pixels, 1...1_000_000_000_000,
      \.limits.maxPixels,
      help: "The maximum number of pixels of a picture, in all decoded frames."),
    .limit(
      "frames in a file", "--max-frames", "N", .count, 1...1_000_000, \.limits.maxFrames,
      help: "The maximum number of frames or pages in the file of a picture."),
    .limit(
      "decoding", "--decode-timeout", durations, \.limits.decodeTimeout,
      help: "The time limit to decode one picture."),
    .limit(
      "encoded thumbnail", "--max-thumbnail", "SIZE", .size, 1...(1 << 30),
      \.limits.maxThumbnailByteCount, help: "The maximum size of an encoded thumbnail."),
    .limit(
      "decoder's private data", "--decoder-memory", "SIZE", .size, processMemory,
      \.limits.decoderMemoryByteCount, help: "The maximum private memory of a decoder, from 64M."),
    .limit(
      "worker's private data", "--worker-memory", "SIZE", .size, processMemory,
      \.limits.workerMemoryByteCount, help: "The maximum private memory of a worker, from 64M."),
    memoryBudget,
    storeBudget,
    .limit(
      "original, kept by auto", "--keep-auto-size", "SIZE", .size, 0...(1 << 40),
      \.limits.autoOriginalByteCount,
      help: "The largest original that --keep auto keeps; 0 for none."),
    .limit(
      "share of such originals", "--keep-auto-percent", "N", .count, 0...90,
      \.limits.autoOriginalPercent,
      help:
        "How much of the store the originals take that --keep auto keeps, in percent. They are evicted "
        + "before all else."),
    defaultExpiry,
    Setting(
      "jobs, after their end", "--keep-jobs", "DURATION",
      help: "How long an ended job is kept with its list and outcomes, or \"forever\".",
      isLimit: true, \.limits.keepJobs, .optional(.duration(durations), or: "forever", "never")),
    .limit(
      "clients connected", "--clients", "N", .count, 1...65_536, \.limits.clients,
      help: "The maximum number of connected clients."),
    .limit(
      "half-sent requests", "--client-timeout", durations, \.limits.clientTimeout,
      help: "The time limit for a client's greeting or the rest of a request. When --clients are "
        + "connected, a client that was idle for this long is closed for a new one."),
    Setting(
      "contact in User-Agent", "--contact", "MAIL|URL",
      help: "A mail address or URL in the User-Agent, for questions from origins, or \"none\".",
      isLimit: true, \.limits.contact, .optional(.one(Contact.init(parsing:), \.text), or: "none")),
  ]

  package static let proxy = Setting(
    "proxy", "--proxy", "URL",
    default: "http_proxy, https_proxy, HTTPS_PROXY, all_proxy or ALL_PROXY of the environment, as "
      + "curl reads them",
    help: "Fetch through this proxy, such as http://proxy.example:3128 (http, https, socks5h or "
      + "socks5), or \"none\". NO_PROXY names hosts that are asked directly, and is kept with it. Other "
      + "users can see the command line (ps): a password belongs into the variable.",
    isSecret: true, \.proxy,
    Form(
      value: { (texts) throws(InvalidValue) in (try ProxyChoice(parsing: texts[0]), .none) },
      texts: {
        $0.inUse.isEmpty ? $0.asked.map { [$0.withoutCredentials.text] } ?? [] : $0.inUse.texts
      },
      exactTexts: { $0.asked?.keptTexts(with: $0.inUse.directHosts) ?? [] }))

  private static let guards: [Setting] = [
    Setting(
      "allowed networks", "--allow-network", "CIDR",
      default: "none: loopback, private and link-local addresses are refused",
      help: "Also fetch from this network. Repeatable; separated by commas in the variable.",
      \.allowedNetworks, .list(NetworkRange.init(parsing:), \.text)),
    Setting(
      "allowed directories", "--allow-directory", "DIR",
      default: "none: file: URLs in lists are refused",
      help: "Allow file: URLs below this directory in lists. Repeatable; separated by commas in "
        + "the variable.",
      \.allowedDirectories, .list(path, \.self)),
    Setting(
      "optional formats", "--allow-format", "FORMAT",
      default: "none: JPEG 2000 is refused",
      help: "Also decode this format: jp2 for JPEG 2000, whose decoder has known faults. "
        + "Repeatable; separated by commas in the variable.",
      \.limits.allowedFormats, .list(optionalFormat, \.rawValue)),
    Setting(
      "trusted authorities", "--ca-file", "FILE",
      default: "the authorities of the system",
      help: "A PEM file with the certificates of the trusted authorities, in place of those of the "
        + "system.", \.authorityFile, .optional(.path)),
    proxy,
    Setting(
      "sandbox required", "--require-sandbox", nil,
      help: "Decode nothing if the kernel lacks no_new_privs, seccomp or Landlock.",
      \.requiresSandbox, .flag),
  ]

  /// A limit with one number.
  private static func limit<Value: FixedWidthInteger & SendableMetatype>(
    _ name: String, _ flag: String, _ placeholder: String, _ scale: UnitScale,
    _ range: ClosedRange<Int64>, _ value: any WritableKeyPath<Settings, Value> & Sendable,
    help: String
  ) -> Setting {
    Setting(name, flag, placeholder, help: help, isLimit: true, value, .number(scale, range))
  }

  /// A limit with one duration.
  private static func limit(
    _ name: String, _ flag: String, _ range: ClosedRange<Duration>,
    _ value: any WritableKeyPath<Settings, Duration> & Sendable, help: String
  ) -> Setting {
    Setting(name, flag, "DURATION", help: help, isLimit: true, value, .duration(range))
  }

  private static func optionalFormat(_ text: String) throws(InvalidValue) -> ImageFormat {
    guard let format = ImageFormat(rawValue: text), format.isOptional else {
      throw InvalidValue("\"\(text)\" is not jp2")
    }
    return format
  }

  fileprivate static func path(_ text: String) throws(InvalidValue) -> String {
    guard !text.isEmpty else { throw InvalidValue("the path is empty") }
    return text
  }

  /// The name of a directory beside which others are made, such as `thumbnails.lock`.
  private static func name(_ text: String) throws(InvalidValue) -> String {
    let isPlain = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
    guard isPlain, (1...maximumNameByteCount).contains(text.utf8.count) else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is no name of 1 to \(maximumNameByteCount) letters, digits, - and _"
      )
    }
    return text
  }

  private static let maximumNameByteCount = 64

  private static func socketPath(_ text: String) throws(InvalidValue) -> String {
    let limit = Settings.maximumSocketPathByteCount
    guard text.utf8.count <= limit else {
      throw InvalidValue("the path of a socket has at most \(limit) bytes")
    }
    return try path(text)
  }
}

extension Setting.Form where Value: FixedWidthInteger & SendableMetatype {
  static func number(_ scale: UnitScale, _ range: ClosedRange<Int64>) -> Self {
    .one(
      { (text) throws(InvalidValue) in Value(try scale.value(parsing: text, in: range)) },
      { scale.text(Int64($0)) })
  }
}

extension Setting.Form<Duration> {
  static func duration(_ range: ClosedRange<Duration>) -> Self {
    .one(
      { (text) throws(InvalidValue) in try Duration(parsing: text, in: range) }, \.text)
  }
}

extension Setting.Form<String> {
  static var path: Self { .one(Setting.path, \.self) }
}

extension Setting.Form<Bool> {
  /// On or off: the flag has the empty text, the variable never.
  static var flag: Self {
    .one(
      { (text) throws(InvalidValue) in text.isEmpty ? true : try YesOrNo.value(parsing: text) },
      YesOrNo.text)
  }
}

extension Settings {
  /// `nil` for an automatic one.
  fileprivate var storeBudget: Int64? {
    get { isStoreBudgetAutomatic ? nil : limits.storeBudgetByteCount }
    set {
      isStoreBudgetAutomatic = newValue == nil
      limits.storeBudgetByteCount = newValue ?? limits.storeBudgetByteCount
    }
  }
}
