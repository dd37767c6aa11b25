import FoundationEssentials
import ImgClient
import ImgModel
import ImgSystem
import ImgWire
import TestPictures

/// A list, run in two ways that imgctl has.
extension PeerBench {
  private static let smallURLCount = 4_000
  private static let largeURLCount = 300
  private static let sizes = ["64", "256", "1024"]

  /// What a file tells of its picture, beside the whole files.
  func factsFigures() throws -> [PeerFigure] {
    let lists = [
      try smallList(urlCount: bench.options.scaled(Self.smallURLCount)),
      try largeList(urlCount: bench.options.scaled(Self.largeURLCount)),
    ]
    return try lists.flatMap { list in
      try figures(
        .facts, list, [["info", "--list"]], beside: "the files fetched whole",
        [["submit", "--wait", "--keep", "original"]])
    }
  }

  /// Several sizes from one fetch and one decode, beside a job for each.
  func sizesFigures() throws -> [PeerFigure] {
    let submit = ["submit", "--wait"]
    return try figures(
      .sizes, largeList(urlCount: bench.options.scaled(Self.largeURLCount)),
      [submit + Self.sizes.flatMap { ["--size", $0] }], beside: "a job for each size",
      Self.sizes.map { submit + ["--size", $0] })
  }

  /// In pairs of changing order: whatever else the machine does meanwhile meets both.
  ///
  /// - Parameters:
  ///   - own: the words of imgctl's commands, to which the list's path is added.
  ///   - others: those of the other way.
  private func figures(
    _ row: PeerRow, _ list: PictureList, _ own: [[String]], beside: String, _ others: [[String]]
  ) throws -> [PeerFigure] {
    let path = try bench.imgctl.list(named: "\(row)-\(list.name)", list.urls)
    var passes: (own: [CommandPass], others: [CommandPass]) = ([], [])
    func run(_ commands: [[String]]) throws -> CommandPass {
      try bench.pass("\(row)", commands.map { $0 + [path] }, lineCount: list.urls.count)
    }
    for round in 1...bench.options.rounds {
      try bench.note("\(row), \(list.name), round \(round) of \(bench.options.rounds)")
      if round.isMultiple(of: 2) { passes.others.append(try run(others)) }
      passes.own.append(try run(own))
      if !round.isMultiple(of: 2) { passes.others.append(try run(others)) }
    }
    let count = Double(list.urls.count)
    let pictures = "\(list.pictureCount) \(list.name) pictures"
    let stores = "(\(list.urls.count) URLs, new stores)"
    let command = "\(Self.text(own)) : \(Self.text(others)) \(stores)"
    func figure(_ name: String, _ unit: String, _ value: (CommandPass) -> Double) -> PeerFigure {
      PeerFigure(
        row, name, unit, own: passes.own.map(value), beside: beside, passes.others.map(value),
        target: nil, command: command)
    }
    return [
      figure(pictures, "/s") { count / $0.seconds },
      figure("\(pictures), fetched for each", "KB") { Double($0.byteCount) / count / 1_000 },
    ]
  }

  private static func text(_ commands: [[String]]) -> String {
    commands.map { "imgctl \($0.joined(separator: " ")) LIST" }.joined(separator: "; ")
  }
}

/// Commands that run one list, one after the other, on a cluster of their own.
struct CommandPass {
  let seconds: Double
  /// The bytes of all response bodies.
  let byteCount: Int64
}

extension Bench {
  /// - Parameters:
  ///   - name: of the data directory, which is removed.
  ///   - commands: each makes one job of the list and ends with it.
  func pass(_ name: String, _ commands: [[String]], lineCount: Int) throws -> CommandPass {
    let cluster = try start(name)
    defer {
      // The next cluster listens at the same socket.
      try? cluster.stop()
      try? FileManager.default.removeItem(atPath: cluster.dataDirectory)
    }
    let seconds = try commands.reduce(0) { try $0 + cluster.run($1).inSeconds }
    let jobs = try cluster.client().answer(.jobs()).jobs
    guard jobs.map(\.done) == commands.map({ _ in lineCount }) else {
      throw BenchError("of \(lineCount) pictures, the jobs did \(jobs.map(\.done))")
    }
    return CommandPass(seconds: seconds, byteCount: jobs.reduce(0) { $0 + $1.fetchedByteCount })
  }
}
