import ImgSettings
import ImgWire

/// The limits of the cluster as `imgctl status --limits` and `imgctl limits` show them.
enum LimitTable {
  static func show(
    _ limits: Limits, isJSON: Bool, in context: CommandContext
  ) throws -> ExitCode {
    if isJSON {
      try context.output.write(json: limits)
    } else {
      try context.output.write(text(of: limits))
    }
    return .success
  }

  private static func text(of limits: Limits) -> String {
    var table = Table([.text("limit"), .text("flag"), .text("value"), .text("default")])
    for row in Setting.rows(of: limits) {
      table.addRow([row.name, row.flag, row.value, row.defaultText])
    }
    return table.rendered
  }
}
