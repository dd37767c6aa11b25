import ImgClient
import ImgModel
import ImgSettings
import ImgSystem

/// What helps people who type the options and commands of other programs.
extension CommandTable {
  /// What to type in place of options that other programs have, or other commands of this one. A sentence
  /// without a command is for all others.
  static let optionAdvice: [String: [(command: String?, text: String)]] = {
    let output = [
      ("imgctl submit" as String?, "imgctl export JOB DIR writes the files of a job"),
      ("imgctl retry", "imgctl export JOB DIR writes the files of a job"),
    ]
    let attempts = [
      (
        nil as String?,
        "--attempts N of submit, or of start, sets how often a URL is tried"
      )
    ]
    let transfers = [
      (
        nil as String?,
        "imgctl limits --transfers N sets how many transfers run at once, and imgctl start --workers N "
          + "the processes"
      )
    ]
    let bandwidth = [
      (
        nil as String?,
        "imgctl limits --bytes-per-second N limits all transfers together, and --bytes-per-second-per-host N "
          + "those from one host"
      )
    ]
    let certificates = [
      (
        nil as String?,
        "certificates are always checked; imgctl start --ca-file FILE trusts other authorities"
      )
    ]
    let table = [
      (
        "imgctl submit" as String?,
        "--input-format csv, tsv or json names the format, and --url-column NAME the column"
      )
    ]
    let size = [
      (
        nil as String?,
        "--size 300x sets the width, --size x200 the height, and --size 300x200 the box"
      )
    ]
    let mode = [
      (
        nil as String?,
        "--mode fit keeps all of the picture, fill covers the box, and stretch fills it exactly"
      )
    ]
    let turns = [
      (nil as String?, "pictures are turned as their metadata says, and not otherwise")
    ]
    let sizes = "it is an option of submit: a job keeps its sizes"
    return [
      "--output": output, "-o": output, "--output-dir": output, "--out": output,
      "--retries": attempts, "--tries": attempts, "--retry": attempts,
      "-j": transfers, "--jobs": transfers, "--threads": transfers, "--concurrency": transfers,
      "--parallel": transfers,
      "--insecure": certificates, "-k": certificates, "--no-check-certificate": certificates,
      "--csv": table, "--tsv": table, "--json-lines": table, "--url-col": table,
      "--width": size, "--height": size, "--resize": size, "-w": size,
      "--fit": mode, "--fill": mode, "--cover": mode, "--contain": mode,
      "--letterbox": [
        (nil, "--padding N adds a border, and --background COLOUR fills it")
      ],
      "--rotate": turns, "--flip": turns,
      "--trim": [(nil, "borders are not looked for; --crop cuts to the box")],
      "--sheet": [
        ("imgctl export", "imgctl sheet JOB -o sheet.jpg draws a contact sheet of a job")
      ],
      "--export": [("imgctl submit", "imgctl export JOB DIR writes the files of a job")],
      "--resume": [
        (
          "imgctl submit",
          "the same list again fetches only what is not stored, and imgctl retry JOB repeats failures"
        )
      ],
      "--port": [(nil, "imgctl serve --listen 127.0.0.1:8080 names the port")],
      "--expire": [(nil, "did you mean --expire-after?")],
      "--keep-original": [
        (nil, "--keep original stores originals, and --keep all thumbnails with them")
      ],
      "--original": [
        ("imgctl cache get", "imgctl get --original URL --cache-policy cache-only gets an original")
      ],
      "--all": [
        ("imgctl remove", "imgctl remove --older-than 0s removes all jobs that have ended"),
        ("imgctl cache reset", "it removes everything without an option"),
      ],
      "--bg": [(nil, "did you mean --background?")], "-H": [(nil, "did you mean --header?")],
      "--bandwidth": bandwidth, "--limit-rate": bandwidth, "--bytes-per-second-host": bandwidth,
      "--no-cache": [
        ("imgctl submit", "--cache-policy reload fetches again what is stored")
      ],
      "--size": [
        ("imgctl retry", sizes), ("imgctl resume", sizes), ("imgctl wait", sizes),
        ("imgctl export", sizes),
      ],
    ]
  }()

  /// Other programs have `-q 80` for the quality.
  ///
  /// - Throws: ``UsageError`` with what to type in its place, for a command that has a quality.
  static func requireNoQuality(
    in arguments: [String], of command: CommandDescription
  ) throws(UsageError) {
    guard command.options.contains(where: { $0.flag == "--quality" }) else { return }
    for (index, word) in arguments.enumerated() where word.hasPrefix("-q") {
      let attached = word.dropFirst(word.hasPrefix("-q=") ? 3 : 2)
      let number = attached.isEmpty ? arguments.dropFirst(index + 1).first : String(attached)
      guard let quality = number.flatMap({ Int($0) }), (1...100).contains(quality) else { continue }
      throw UsageError("-q is --quiet; for the quality: --quality \(quality)")
    }
  }

  /// What to type in place of commands that other programs have.
  static func advice(on command: String) -> String? {
    switch command {
    case "top": "imgctl status shows the cluster, and imgctl watch JOB follows a job"
    case "log", "logs":
      "imgctl status names the data directory, whose coordinator.log is the log; a service logs to "
        + "its manager, such as journalctl"
    case "kill": "imgctl cancel JOB ends a job, and imgctl stop the coordinator"
    case "archive":
      "imgctl submit FILE --decode lazy --pin stores originals, and imgctl export JOB DIR writes them"
    case "delete": "imgctl remove JOB removes a job, and imgctl cache rm URL thumbnails"
    case "clean", "clear", "purge", "reset":
      "imgctl cache clean removes expired thumbnails, and imgctl cache reset all of them"
    case "restart": "imgctl stop && imgctl start"
    case "download", "fetch", "add", "run":
      "imgctl get URL loads one picture, and imgctl submit FILE a list"
    case "thumbnail", "thumb", "resize", "convert":
      "imgctl get FILE -o thumbnail.jpg makes one thumbnail, and imgctl submit FILE those of a list"
    case "montage", "contact-sheet":
      "imgctl sheet JOB|DIR -o sheet.jpg draws thumbnails as one picture"
    case "reload":
      "imgctl limits changes limits of the running coordinator; or imgctl stop && imgctl start"
    case "metrics": "imgctl serve has metrics for Prometheus at /metrics"
    case "server", "web", "gallery": "imgctl serve serves thumbnails and a gallery over HTTP"
    case "job", "show": "imgctl status JOB shows a job, and imgctl wait JOB follows it to its end"
    case "set":
      "imgctl config set NAME VALUE keeps a setting, and imgctl limits changes a limit now"
    case "unset": "imgctl config unset NAME forgets a setting"
    case "settings": "imgctl config show lists the settings, and imgctl limits those that run"
    default: nil
    }
  }

  /// - Returns: `nil` if the word is no picture and no file.
  static func adviceOnArgument(_ word: String) -> String? {
    guard ListPlace.isURL(word) || word.contains(".") || word.contains("/") else { return nil }
    return "imgctl get URL|FILE makes one thumbnail, and imgctl submit FILE those of a list"
  }
}

/// What to type about a coordinator that a service manager starts. Its settings are in its unit, and what
/// `imgctl start` and `imgctl config` keep does not reach it.
enum ServiceAdvice {
  /// The file that the unit reads.
  static let file = "/etc/default/imgctl"
  static let restart = "systemctl restart imgcoordinator"

  /// The lines of the file for some settings, such as `IMGCTL_TRANSFERS=4`.
  ///
  /// - Parameter values: has their values.
  static func variables(of settings: [Setting], in values: Settings) -> String {
    settings.map { setting in
      let texts = setting.texts(in: values).joined(separator: ",")
      return "\(setting.environmentVariable)=\((texts.isEmpty ? "none" : texts).shellWord)"
    }.joined(separator: ", ")
  }

  /// How a service gets other settings.
  ///
  /// - Parameter variables: those to set.
  static func change(_ variables: String) -> String {
    "set \(variables) in \(file), then: \(restart)"
  }
}

extension CommandContext {
  /// A failure of one picture, with advice for its coordinator. A failure itself has that for one without a service.
  func text(of failure: Failure) -> String {
    guard settings.isOfService, failure.code == .blockedAddress else { return "\(failure)" }
    return "\(failure.code.rawValue): \(failure.sentence); to permit it: "
      + ServiceAdvice.change("IMGCTL_ALLOW_NETWORK=CIDR")
  }

  /// What the remedies for the failures of a job depend on.
  ///
  /// - Parameter status: of the job.
  func remedyTerms(for status: ImageJob) -> RemedyTerms {
    RemedyTerms(
      isOfService: settings.isOfService,
      permittedNetworks: status.failures.contains { $0.code == .blockedAddress }
        ? permittedNetworks : [])
  }

  /// Those of the running coordinator, or of the next one that a command starts.
  private var permittedNetworks: [NetworkRange] {
    if let cluster = try? runningCoordinator().answer(.status) {
      return (try? Settings(runningAs: cluster).allowedNetworks) ?? []
    }
    return settings.isOfService ? [] : (try? completedSettings().allowedNetworks) ?? []
  }

  /// How a job goes on that is in the journal of a coordinator that has gone.
  func adviceToGoOn(with job: JobID) -> String {
    let start = settings.startsCoordinator ? "" : "systemctl start imgcoordinator, then "
    return "job \(job) is safe in the journal; to go on with it: \(start)imgctl wait \(job)"
  }

  /// Whether the jobs of the coordinator are in the journal of these settings. That of a service is not in the
  /// default place.
  var readsJournal: Bool { !settings.isOfService || settings.isNamed(.dataDirectory) }

  /// The jobs in the journal, if no coordinator runs.
  func journalJobs() throws -> JobSource {
    StoreCrash.prepareForJournal(self)
    return try JobSource(journalIn: settings.journalDirectory)
  }

  /// Where the journal of these settings is.
  var placeOfJournal: JournalPlace {
    if let original = LastCache.originalOfCopy(settings) { return .copy(of: original) }
    if (try? FileStatus(at: settings.lockPath)) == nil { return .copy(of: nil) }
    return settings.startsCoordinator ? .personal : .service
  }

  /// - Throws: ``UsageError`` if the coordinator at the socket is a service, which reads no kept settings.
  ///
  /// - Parameter variables: those that its unit needs instead.
  func requireKeptSettings(for command: String, orSet variables: String) throws(UsageError) {
    guard settings.isOfService else { return }
    throw UsageError(
      "\(command): the coordinator at \(settings.socketPath) is a service, which does not read kept settings; "
        + ServiceAdvice.change(variables))
  }
}

extension ClientError {
  /// Whether no coordinator runs at the socket.
  var meansNoneRuns: Bool {
    switch self {
    case .unreachable, .notAutostarted, .copy, .absent: true
    default: false
    }
  }
}

/// Where a journal is that no coordinator has open.
package enum JournalPlace: Sendable {
  /// In a data directory that commands start a coordinator for.
  case personal
  /// In that of a service.
  case service
  /// In a copy of a data directory. The original is `nil` if its place is not known.
  case copy(of: String?)

  /// How jobs go on.
  ///
  /// - Parameter object: a word for these jobs.
  func continuation(of object: String) -> String {
    switch self {
    case .personal: "imgctl start continues \(object)"
    case .service: "systemctl start imgcoordinator continues \(object)"
    case .copy(let original):
      "this is a copy\(original.map { " of \($0)" } ?? ""): start no coordinator here while the real one runs"
    }
  }
}
