import ImgSettings

/// The result of `imgctl start`, with the settings that differ from the requested ones.
struct StartReport: Encodable {
  let processID: Int32
  let wasStarted: Bool
  /// Whether a worker is ready.
  let isReady: Bool
  let logPath: String
  let differences: [Setting.Difference]

  private enum CodingKeys: String, CodingKey {
    case processID = "pid"
    case wasStarted = "started"
    case isReady = "ready"
    case logPath = "log"
    case differences
  }

  private struct Difference: Encodable {
    let setting: String
    let asked: String
    let running: String
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(processID, forKey: .processID)
    try container.encode(wasStarted, forKey: .wasStarted)
    try container.encode(isReady, forKey: .isReady)
    if wasStarted { try container.encode(logPath, forKey: .logPath) }
    guard !differences.isEmpty else { return }
    try container.encode(
      differences.map { Difference(setting: $0.flag, asked: $0.asked, running: $0.running) },
      forKey: .differences)
  }

  /// The text for people.
  var text: String {
    guard wasStarted else {
      return "a coordinator already runs (process \(processID)) and keeps its settings"
    }
    let workers =
      isReady ? "" : "; its workers are still starting, see imgctl status"
    return "started a coordinator (process \(processID))\(workers); its log is \(logPath)"
  }

  /// A table of the differences with a remedy; `nil` if nothing differs.
  var error: String? {
    guard !differences.isEmpty else { return nil }
    var table = Table([.text("setting"), .text("flag"), .text("requested"), .text("running")])
    for difference in differences {
      table.addRow([difference.name, difference.flag, difference.asked, difference.running])
    }
    let remedy =
      differences.allSatisfy(\.isChangeable)
      ? "to change them now: imgctl limits, with the same flags"
      : "to change them: imgctl stop, then imgctl start, with all flags; end gateways before, because "
        + "they start a coordinator again"
    return
      "a coordinator already runs (process \(processID)) with other settings and keeps them:\n"
      + table.rendered + remedy
  }
}
