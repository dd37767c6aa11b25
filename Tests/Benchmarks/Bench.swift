import ImgCommands

/// Takes all figures, one after the other, on a cluster with its default settings.
struct Bench {
  let options: BenchOptions
  let imgctl: Imgctl
  let decoding: BareDecoding
  private let notes = Output(descriptor: 2, capacity: 0)

  init(_ options: BenchOptions) throws {
    self.options = options
    imgctl = Imgctl(
      programDirectory: options.programDirectory,
      socketPath: options.workDirectory + "/control.sock", workDirectory: options.workDirectory)
    decoding = try BareDecoding(pictureDirectory: options.pictureDirectory)
  }

  func run() throws {
    guard options.peers.rows.isEmpty else { return try runPeers() }
    var report = Report()
    if options.isOnlyCoordinator {
      try measureCoordinator(into: &report)
      return try report.write(to: Output(descriptor: 1), isJSON: options.isJSON)
    }
    let isAll =
      !options.isOnlyLists && !options.isOnlyStore && !options.isOnlyTransfers
      && !options.isOnlyClient
    if isAll { try measureCluster(into: &report) }
    if isAll || options.isOnlyTransfers { try measureTransfers(into: &report) }
    if isAll || options.isOnlyClient { try measureClient(into: &report) }
    if isAll || options.isOnlyStore { try measureStore(into: &report) }
    if isAll || options.isOnlyLists { try measureLists(into: &report) }
    try report.write(to: Output(descriptor: 1), isJSON: options.isJSON)
  }

  private func measureCluster(into report: inout Report) throws {
    try measureThumbnails(into: &report)
    let cluster = try start("calls")
    let urls = try hitURLs()
    try fillStore(of: cluster, urls)
    try measureHits(urls, on: cluster, into: &report)
    try measureCalls(urls, on: cluster, into: &report)
    try measureProcesses(urls[0], on: cluster, into: &report)
    try measureSubmission(to: cluster, into: &report)
    try cluster.stop()
  }

  /// The table of peers alone.
  private func runPeers() throws {
    let figures = try PeerBench(self).run()
    let output = Output(descriptor: 1)
    if options.isJSON {
      for figure in figures { try output.write(json: figure) }
    } else {
      try output.write(PeerTable(figures: figures).rendered)
    }
    try output.flush()
  }

  /// - Parameter settings: options of `imgctl start`.
  func start(_ name: String, settings: [String] = []) throws -> Cluster {
    try Cluster.start(
      imgctl, dataDirectory: "\(options.workDirectory)/data-\(name)", settings: settings)
  }

  func note(_ text: String) throws {
    try notes.write("\(text)\n")
  }
}

/// Why there is no figure, as a sentence.
struct BenchError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}

/// What the command line asks for.
enum BenchInvocation {
  case makePictures(count: Int, directory: String)
  /// Pictures of 0.19 megapixels, as the peers are measured with.
  case makeSmallPictures(count: Int, directory: String)
  case measure(BenchOptions)
  /// A part of measuring that needs a process of its own.
  case storeProcess(StoreProcess)
  /// Another one.
  case fetchProcess(FetchProcess)
  /// A worker of the coordinator that is measured.
  case nullWorker
  /// A part of measuring the gateway.
  case loadProcess(LoadProcess)

  static let usage = """
    usage: imgbench pictures COUNT DIR
           imgbench small-pictures COUNT DIR
           imgbench measure --programs DIR --pictures DIR --list FILE --work DIR
                            --origin-process PID --rounds N --list-lengths N,…
                            --store-sizes N,… [--only-lists] [--only-store]
                            [--only-transfers] [--only-client] [--coordinator]
                            [--quick] [--json]
                            [--peers ROW,…|all] [--peer-programs DIR]
                            [--peer-scripts DIR] [--large-pictures DIR]
    """

  init(_ arguments: [String]) throws(BenchError) {
    switch arguments.first {
    case nil where NullWorker.isWanted: self = .nullWorker
    case "pictures":
      guard arguments.count == 3, let count = Int(arguments[1]), count > 0 else { fallthrough }
      self = .makePictures(count: count, directory: arguments[2])
    case "small-pictures":
      guard arguments.count == 3, let count = Int(arguments[1]), count > 0 else { fallthrough }
      self = .makeSmallPictures(count: count, directory: arguments[2])
    case "measure":
      self = .measure(try BenchOptions(arguments.dropFirst()))
    case "store-process":
      self = .storeProcess(try StoreProcess(arguments: arguments))
    case LoadProcess.name: self = .loadProcess(LoadProcess())
    case FetchProcess.name:
      self = .fetchProcess(try FetchProcess(arguments: arguments))
    default:
      throw BenchError(Self.usage)
    }
  }
}

/// What is measured, where and how often.
struct BenchOptions {
  /// Where imgctl, imgcoordinator and imgworker lie.
  private(set) var programDirectory = ""
  /// The pictures that the origin serves.
  private(set) var pictureDirectory = ""
  /// Their URLs, one a line.
  private(set) var listPath = ""
  /// For data and lists of a run. The caller removes it.
  private(set) var workDirectory = ""
  private(set) var originProcessID: Int32 = 0
  private(set) var rounds = 5
  /// The lengths of the long lists.
  private(set) var listLineCounts: [Int] = []
  /// How many thumbnails the stores have whose costs are compared.
  private(set) var storeSizes: [Int] = []
  /// Whether nothing but the long lists is measured.
  private(set) var isOnlyLists = false
  /// Whether nothing but the store is measured.
  private(set) var isOnlyStore = false
  /// Whether nothing but transfers is measured.
  private(set) var isOnlyTransfers = false
  /// Whether nothing but the library is measured.
  private(set) var isOnlyClient = false
  /// Whether nothing but what a coordinator costs is measured.
  private(set) var isOnlyCoordinator = false
  /// If a row is named, nothing but the table of peers is measured.
  private(set) var peers = PeerOptions()
  /// Whether everything is done on a tenth of the scale, to try the measuring out.
  private(set) var isQuick = false
  private(set) var isJSON = false

  init(_ arguments: ArraySlice<String>) throws(BenchError) {
    var rest = arguments
    while let flag = rest.popFirst() {
      switch flag {
      case "--only-lists": isOnlyLists = true
      case "--only-store": isOnlyStore = true
      case "--only-transfers": isOnlyTransfers = true
      case "--only-client": isOnlyClient = true
      case "--coordinator": isOnlyCoordinator = true
      case "--quick": isQuick = true
      case "--json": isJSON = true
      default: try set(flag, to: rest.popFirst())
      }
    }
    guard rounds > 0, originProcessID > 0,
      (listLineCounts + storeSizes).allSatisfy({ $0 > 0 }),
      ![programDirectory, pictureDirectory, listPath, workDirectory].contains("")
    else { throw BenchError(BenchInvocation.usage) }
  }

  private mutating func set(_ flag: String, to value: String?) throws(BenchError) {
    guard let value else { throw BenchError("\(flag) needs a value") }
    switch flag {
    case "--programs": programDirectory = value
    case "--pictures": pictureDirectory = value
    case "--list": listPath = value
    case "--work": workDirectory = value
    case "--origin-process": originProcessID = Int32(value) ?? 0
    case "--rounds": rounds = Int(value) ?? 0
    case "--list-lengths": listLineCounts = Self.numbers(value)
    case "--store-sizes": storeSizes = Self.numbers(value)
    case "--peers": peers.rows = try PeerRow.rows(named: value)
    case "--peer-programs": peers.programDirectory = value
    case "--peer-scripts": peers.scriptDirectory = value
    case "--large-pictures": peers.largePictureDirectory = value
    default: throw BenchError("\(flag) is not known\n\(BenchInvocation.usage)")
    }
  }

  /// Numbers with commas between them; 0 for what is none.
  private static func numbers(_ text: String) -> [Int] {
    text.split(separator: ",").map { Int($0) ?? 0 }
  }

  /// `count`, or a tenth of it in a quick run.
  func scaled(_ count: Int) -> Int {
    isQuick ? max(count / 10, 1) : count
  }
}

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

  func figure(named name: String) throws -> Figure {
    guard let figure = figures.first(where: { $0.name == name }) else {
      throw BenchError("\(name) was not measured")
    }
    return figure
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
