import FoundationEssentials
import ImgCommands
import ImgSystem

/// Measures imgctl beside its peers and limits, row by row.
struct PeerBench {
  let bench: Bench
  let origin: StaticOrigin
  /// `nil` if it is not installed.
  let peer: Img2dataset?

  static let missingPeer = "img2dataset is not installed"

  init(_ bench: Bench) throws {
    self.bench = bench
    origin = try StaticOrigin(workDirectory: bench.options.workDirectory)
    let path = bench.options.peers.programDirectory + "/img2dataset"
    peer = FileIO.isFile(path) ? Img2dataset(path: path, imgctl: bench.imgctl) : nil
  }

  /// A row that fails says so in the table, and the others go on. Each is noted once it is measured, in
  /// case that a long run is interrupted.
  func run() throws -> [PeerFigure] {
    try bench.options.peers.rows.flatMap { row in
      let figures: [PeerFigure]
      do {
        figures = try self.figures(of: row)
      } catch {
        figures = [PeerFigure(row, row.title, missing: "\(error)")]
      }
      try bench.note(PeerTable(figures: figures).rendered)
      return figures
    }
  }

  private func figures(of row: PeerRow) throws -> [PeerFigure] {
    switch row {
    case .profiles: try profileFigures()
    case .small: try smallFigures()
    case .web: try webFigures()
    case .coordinator: try coordinatorFigures()
    case .hits: try hitsFigures()
    case .latency: try latencyFigures()
    case .transfers: try transferFigures()
    case .large: try largeFigures()
    case .formats: try formatFigures()
    case .networks: try networkFigures()
    case .gateway: try gatewayFigures()
    case .library: try libraryFigures()
    case .quality: try qualityFigures()
    case .scale: try scaleFigures()
    case .facts: try factsFigures()
    case .sizes: try sizesFigures()
    case .animations: try animationFigures()
    }
  }

  /// The script of a name, run by the Python that img2dataset is installed with, which has its libraries.
  ///
  /// - Returns: what it wrote to the file that its last argument names.
  func runScript(_ name: String, _ arguments: [String]) throws -> [UInt8] {
    let python = bench.options.peers.programDirectory + "/python3"
    guard FileIO.isFile(python) else { throw BenchError(Self.missingPeer) }
    let output = "\(bench.options.workDirectory)/\(name).output"
    try bench.imgctl.run(
      program: python,
      ["\(bench.options.peers.scriptDirectory)/\(name)"] + arguments + [output])
    return try FileIO.contents(of: output, upTo: 1 << 20)
  }

  // MARK: - Pictures

  func smallList(urlCount: Int) throws -> PictureList {
    try PictureList(
      "small", directory: bench.options.pictureDirectory, origin: origin, urlCount: urlCount)
  }

  func largeList(urlCount: Int) throws -> PictureList {
    var directory = bench.options.peers.largePictureDirectory
    if directory.isEmpty {
      directory = bench.options.workDirectory + "/large-pictures"
      if !FileManager.default.fileExists(atPath: directory) {
        try bench.note("generating large pictures")
        try PhotographCuts().writeLarge(to: directory)
      }
    }
    return try PictureList("large", directory: directory, origin: origin, urlCount: urlCount)
  }
}

/// What the table of peers needs beside the options of every measurement.
struct PeerOptions {
  /// Empty if the table is not wanted.
  var rows: [PeerRow] = []
  /// Where img2dataset and its Python lie. They need not be installed.
  var programDirectory = ""
  /// Where the programs in Python lie that measure what this one cannot.
  var scriptDirectory = ""
  /// Large pictures of the user; empty for generated ones.
  var largePictureDirectory = ""
}

/// A row of the table that shows imgctl beside its peers and limits.
enum PeerRow: String, CaseIterable, Encodable {
  case profiles, small, web, coordinator, hits, latency, transfers, large, formats, networks,
    gateway, library,
    quality, scale, facts, sizes, animations

  var title: String {
    switch self {
    case .profiles: "colour profiles"
    case .small: "small photographs"
    case .web: "with profiles and 4:4:4"
    case .coordinator: "coordinator"
    case .hits: "hits"
    case .latency: "latency under load"
    case .transfers: "worker and transfers"
    case .large: "large photographs"
    case .formats: "other formats"
    case .networks: "slow networks"
    case .gateway: "gateway"
    case .library: "library"
    case .quality: "quality"
    case .scale: "length of a list"
    case .facts: "facts of a list"
    case .sizes: "several sizes"
    case .animations: "animations"
    }
  }

  /// - Parameter names: with commas between them, or `all`.
  static func rows(named names: String) throws(BenchError) -> [PeerRow] {
    guard names != "all" else { return allCases }
    var rows: [PeerRow] = []
    for name in names.split(separator: ",") {
      guard let row = PeerRow(rawValue: String(name)) else {
        let known = allCases.map(\.rawValue).joined(separator: ", ")
        throw BenchError("--peers: \(name) is not known; the rows are \(known)")
      }
      rows.append(row)
    }
    return rows
  }
}

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
