import ImgCommands

/// The figures of one run: a table for people, or an object a line for programs.
struct Report {
  /// One figure and how to get it again.
  struct Figure: Encodable {
    let name: String
    let median: Double
    let lowest: Double
    let highest: Double
    let unit: String
    let command: String
    /// As they were measured, one after the other.
    let values: [Double]

    private enum CodingKeys: String, CodingKey {
      case name, median, lowest, highest, unit, command
    }
  }

  private(set) var figures: [Figure] = []
  private(set) var listCosts: [ListCost] = []

  mutating func add(_ name: String, _ samples: Samples, _ unit: String, command: String) {
    figures.append(
      Figure(
        name: name, median: samples.median, lowest: samples.lowest, highest: samples.highest,
        unit: unit, command: command, values: samples.values))
  }

  mutating func add(_ cost: ListCost) {
    listCosts.append(cost)
  }

  func write(to output: Output, isJSON: Bool) throws {
    if isJSON {
      for figure in figures { try output.write(json: figure) }
      for cost in listCosts { try output.write(json: cost) }
    } else {
      let tables = [
        figures.isEmpty ? nil : table.rendered,
        listCosts.isEmpty ? nil : ListCostTable(listCosts).rendered,
      ]
      try output.write(tables.compactMap(\.self).joined(separator: "\n"))
    }
    try output.flush()
  }

  private var table: Table {
    var table = Table([
      .text("figure"), .number("median"), .number("lowest"), .number("highest"), .text("unit"),
      .text("command"),
    ])
    for figure in figures {
      table.addRow([
        figure.name, Self.text(figure.median), Self.text(figure.lowest),
        Self.text(figure.highest), figure.unit, figure.command,
      ])
    }
    return table
  }

  /// Three significant figures or all whole ones, which is more than two runs agree on.
  static func text(_ value: Double) -> String {
    guard value < 10 else { return HumanText.number(value) }
    let hundredths = Int((value * 100).rounded())
    let fraction = hundredths % 100
    return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction)"
  }
}
