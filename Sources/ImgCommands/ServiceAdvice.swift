import ImgClient
import ImgModel
import ImgSettings
import ImgSystem

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
