/// Measured values of one quantity.
struct Samples {
  private(set) var values: [Double] = []

  init(_ values: [Double] = []) {
    self.values = values
  }

  mutating func add(_ value: Double) {
    values.append(value)
  }

  var median: Double { quantile(0.5) }
  var lowest: Double { quantile(0) }
  var highest: Double { quantile(1) }

  /// The smallest value that at least this share of all values does not exceed (nearest rank).
  func quantile(_ share: Double) -> Double {
    precondition(!values.isEmpty, "nothing was measured")
    let rank = Int((share * Double(values.count)).rounded(.up))
    return values.sorted()[max(rank, 1) - 1]
  }
}

extension Duration {
  var inSeconds: Double { self / .seconds(1) }
}
