import ImgModel
import ImgSettings

/// What a coordinator runs with, as `imgctl status --limits` and `imgctl limits` show it.
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

  /// Limits and all else side by side, each by its own name.
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
