/// Metrics in the text format of Prometheus, version 0.0.4.
struct MetricsText {
  enum Kind: String {
    case counter, gauge, histogram
  }

  private(set) var text = ""

  static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

  /// Begins a metric.
  ///
  /// - Parameter help: one line.
  mutating func begin(_ name: String, _ kind: Kind, help: String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  /// A value of the metric that was begun last.
  ///
  /// - Parameter labels: their values need no escapes.
  mutating func add(_ name: String, _ labels: KeyValuePairs<String, String>, _ value: Double) {
    let list = labels.map { "\($0)=\"\($1)\"" }.joined(separator: ",")
    text +=
      list.isEmpty ? "\(name) \(Self.text(value))\n" : "\(name){\(list)} \(Self.text(value))\n"
  }

  /// A metric with one value.
  mutating func add(_ name: String, _ kind: Kind, _ value: Double, help: String) {
    begin(name, kind, help: help)
    add(name, [:], value)
  }

  private static func text(_ value: Double) -> String {
    value == .infinity
      ? "+Inf"
      : value == value.rounded() && abs(value) < 1e15
        ? String(Int64(value)) : String(value)
  }
}
