import ImgModel
import ImgSettings

/// The settings of a coordinator, as `imgctl status --limits` and `imgctl limits` print them.
enum LimitTable {
  static func show(
    _ cluster: ClusterStatus, isJSON: Bool, in context: CommandContext
  ) throws -> ExitCode {
    if isJSON {
      try context.output.write(json: Report(cluster: cluster))
    } else {
      try context.output.write(text(of: Settings(runningAs: cluster)))
    }
    return .success
  }

  private static func text(of settings: Settings) -> String {
    var table = Table([.text("limit"), .text("flag"), .text("value"), .text("default")])
    for row in Setting.rows(of: settings) {
      table.addRow([row.name, row.flag, row.value, row.defaultText])
    }
    return table.rendered
  }

  /// The limits and the other settings in one object.
  private struct Report: Encodable {
    let cluster: ClusterStatus

    private enum CodingKeys: String, CodingKey {
      case socketPath = "socket"
      case dataDirectory = "data_directory"
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(cluster.socketPath, forKey: .socketPath)
      try container.encode(cluster.dataDirectory, forKey: .dataDirectory)
      try cluster.limits.encode(to: encoder)
      try cluster.settings.encode(to: encoder)
    }
  }
}
