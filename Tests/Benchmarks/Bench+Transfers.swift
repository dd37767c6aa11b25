import ImgSystem

/// How many transfers a second, beside `curl --parallel` with as many connections.
extension Bench {
  private static let connectionCount = 32
  /// Bodies by their names: how long, and how many of them are got in a pass, which has to be long
  /// beside the start of a process: ours links what a decoder needs.
  private static let bodies: [(name: String, byteCount: Int, transferCount: Int)] = [
    ("1 KB", 1_000, 40_000), ("100 KB", 100_000, 16_000),
  ]

  func measureTransfers(into report: inout Report) throws {
    try measureTransfers(bodyCount: Self.bodies.count, into: &report)
    try measureSlowHosts(into: &report)
  }

  /// - Parameter bodyCount: how many of the bodies, the shortest first.
  func measureTransfers(bodyCount: Int, into report: inout Report) throws {
    let bodies = Self.bodies.prefix(bodyCount)
    let files = bodies.map { ("\($0.byteCount)", $0.byteCount) }
    let origin = try TransferOrigin(
      programDirectory: options.programDirectory, workDirectory: options.workDirectory,
      byteCounts: Dictionary(uniqueKeysWithValues: files))
    for body in bodies {
      try measure(
        body.name, url: "\(origin.baseURL)/\(body.byteCount)",
        count: options.scaled(body.transferCount), into: &report)
    }
  }

  /// In pairs of changing order: whatever else the machine does meanwhile meets both.
  private func measure(
    _ name: String, url: String, count: Int, into report: inout Report
  ) throws {
    let urls = (0..<count).map { "\(url)?\($0)" }
    let list = try imgctl.list(named: "transfers", urls)
    let configuration = try imgctl.list(named: "transfers.curl", urls.map { "url = \"\($0)\"" })
    var (own, curl): ([TransferPass], [TransferPass]) = ([], [])
    for round in 1...options.rounds {
      try note("transfers of \(name), round \(round) of \(options.rounds)")
      if round.isMultiple(of: 2) { curl.append(try runCurl(configuration)) }
      own.append(try runOwn(list))
      if !round.isMultiple(of: 2) { curl.append(try runCurl(configuration)) }
    }
    let number = Self.connectionCount
    let ownCommand = "the worker's transfers alone, \(number) at a time (\(count) URLs)"
    let curlCommand = "curl --parallel --parallel-max \(number) (\(count) URLs)"
    func add(_ what: String, _ values: [Double], _ unit: String, _ command: String) {
      report.add("\(name): \(what)", Samples(values), unit, command: command)
    }
    func rates(_ passes: [TransferPass]) -> [Double] { passes.map { Double(count) / $0.seconds } }
    func costs(_ passes: [TransferPass]) -> [Double] {
      passes.map { $0.processorSeconds / Double(count) * 1_000 }
    }
    add("transfers", rates(own), "/s", ownCommand)
    add("transfers, curl", rates(curl), "/s", curlCommand)
    add("ratio", zip(rates(own), rates(curl)).map(/), "", "the two above, pair by pair")
    add("processor", costs(own), "ms each", ownCommand)
    add("processor, curl", costs(curl), "ms each", curlCommand)
  }

  private func runOwn(_ list: String) throws -> TransferPass {
    try imgctl.pass(
      options.programDirectory + "/imgbench",
      FetchProcess(listPath: list, connectionCount: Self.connectionCount).arguments)
  }

  private func runCurl(_ configuration: String) throws -> TransferPass {
    try imgctl.pass(
      "/usr/bin/curl",
      [
        "--silent", "--fail", "--parallel", "--parallel-immediate", "--parallel-max",
        "\(Self.connectionCount)", "--config", configuration,
      ])
  }
}
