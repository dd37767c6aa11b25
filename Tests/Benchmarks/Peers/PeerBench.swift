import FoundationEssentials
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
    case .small: try smallFigures()
    case .large: try largeFigures()
    case .formats: try formatFigures()
    case .costs: try costFigures()
    case .hits: try hitsFigures()
    case .latency: try latencyFigures()
    case .quality: try qualityFigures()
    case .transfers: try transferFigures()
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
