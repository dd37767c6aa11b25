/// A figure of imgctl beside that of a peer or a limit.
struct PeerFigure: Encodable {
  /// What a ratio or a figure has to be.
  enum Target {
    case atLeast(Double)
    case atMost(Double)

    func isMet(by value: Double) -> Bool {
      switch self {
      case .atLeast(let bound): value >= bound
      case .atMost(let bound): value <= bound
      }
    }

    var text: String {
      switch self {
      case .atLeast(let bound): "≥ \(Report.text(bound))"
      case .atMost(let bound): "≤ \(Report.text(bound))"
      }
    }

    fileprivate var bound: Double {
      switch self {
      case .atLeast(let bound), .atMost(let bound): bound
      }
    }
  }

  let row: PeerRow
  let name: String
  let unit: String
  /// Medians. `own` is `nil` for what could not be measured.
  let own: Double?
  let beside: String
  let other: Double?
  /// Own to other, round by round.
  let ratio: Double?
  let lowestRatio: Double?
  let highestRatio: Double?
  let target: String?
  let isMet: Bool?
  /// What to run to get both again, or the reason why nothing was measured.
  let command: String

  /// A figure beside that of a peer, round by round.
  ///
  /// - Parameter target: for the median of the ratios; `nil` if the figure is for comparison only.
  init(
    _ row: PeerRow, _ name: String, _ unit: String, own: [Double], beside: String,
    _ other: [Double], target: Target?, command: String
  ) {
    let ratios = Samples(zip(own, other).map { $1 == 0 ? 0 : $0 / $1 })
    self.row = row
    self.name = name
    self.unit = unit
    self.own = Samples(own).median
    self.beside = beside
    self.other = Samples(other).median
    ratio = ratios.median
    lowestRatio = ratios.lowest
    highestRatio = ratios.highest
    self.target = target?.text
    isMet = target?.isMet(by: ratios.median)
    self.command = command
  }

  /// A figure beside a bound.
  init(
    _ row: PeerRow, _ name: String, _ unit: String, own: [Double], target: Target,
    command: String
  ) {
    let bound = [Double](repeating: target.bound, count: own.count)
    let relative: Target =
      if case .atLeast = target { .atLeast(1) } else { .atMost(1) }
    self.init(
      row, name, unit, own: own, beside: "the bound", bound, target: relative, command: command)
  }

  /// What could not be measured.
  init(_ row: PeerRow, _ name: String, missing reason: String) {
    self.row = row
    self.name = name
    unit = ""
    (own, other, ratio, lowestRatio, highestRatio) = (nil, nil, nil, nil, nil)
    (target, isMet) = (nil, nil)
    beside = "not measured"
    command = reason
  }

  private enum CodingKeys: String, CodingKey {
    case row, name, unit, own, beside, other, ratio
    case lowestRatio = "lowest_ratio"
    case highestRatio = "highest_ratio"
    case target
    case isMet = "met"
    case command
  }
}
