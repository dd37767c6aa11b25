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
