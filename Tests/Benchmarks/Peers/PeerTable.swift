import ImgCommands

/// The table of ``PeerFigure``s for people.
struct PeerTable {
  let figures: [PeerFigure]

  var rendered: String {
    var table = Table([
      .text("row"), .text("figure"), .number("imgctl"), .text("unit"), .text("beside"),
      .number("that"), .number("ratio"), .text("lowest–highest"), .text("target"), .text("met"),
      .text("command"),
    ])
    for figure in figures { table.addRow(Self.cells(figure)) }
    return table.rendered
  }

  private static func cells(_ figure: PeerFigure) -> [String] {
    func text(_ value: Double?) -> String { value.map(Self.text) ?? "" }
    let number = (PeerRow.allCases.firstIndex(of: figure.row) ?? 0) + 1
    let isSpread = figure.lowestRatio != figure.highestRatio
    return [
      "\(number) \(figure.row.title)", figure.name, text(figure.own), figure.unit, figure.beside,
      text(figure.other), text(figure.ratio),
      isSpread ? "\(text(figure.lowestRatio))–\(text(figure.highestRatio))" : "",
      figure.target ?? "", figure.isMet.map { $0 ? "yes" : "no" } ?? "", figure.command,
    ]
  }

  /// A digit more than other tables have: similarities differ in the third one.
  private static func text(_ value: Double) -> String {
    guard abs(value) < 10 else { return HumanText.number(value) }
    let thousandths = Int((abs(value) * 1_000).rounded())
    let fraction = String(1_000 + thousandths % 1_000).dropFirst()
    return "\(value < 0 ? "-" : "")\(thousandths / 1_000).\(fraction)"
  }
}
