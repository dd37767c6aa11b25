import ImgClient
import ImgModel
import ImgSettings

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
  /// How a job goes on that is in the journal of a coordinator that has gone.
  func adviceToGoOn(with job: JobID) -> String {
    let start = settings.startsCoordinator ? "" : "systemctl start imgcoordinator, then "
    return "job \(job) is safe in the journal; to go on with it: \(start)imgctl wait \(job)"
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
    case .unreachable, .notAutostarted: true
    default: false
    }
  }
}
