import FoundationEssentials
import ImgClient
import ImgModel
import ImgSystem

/// A coordinator and its workers, all of them ready, on an empty data directory of its own.
///
/// Ends on request, or when idle (see ``Imgctl``).
struct Cluster {
  let imgctl: Imgctl
  let dataDirectory: String

  var storeDirectory: String { "\(dataDirectory)/store/thumbnails" }

  /// - Parameter settings: options of `imgctl start`.
  static func start(
    _ imgctl: Imgctl, dataDirectory: String, settings: [String] = []
  ) throws -> Cluster {
    let cluster = Cluster(imgctl: imgctl, dataDirectory: dataDirectory)
    try cluster.run(["start"] + settings)
    try cluster.awaitWorkers()
    return cluster
  }

  /// The coordinator listens before its workers have started.
  private func awaitWorkers() throws {
    let client = try client()
    let deadline = ContinuousClock.now + .seconds(30)
    while try client.status().workers.contains(where: { $0.state != .ready }) {
      guard ContinuousClock.now < deadline else { throw BenchError("the workers do not start") }
      ThisProcess.pause(for: .milliseconds(10))
    }
  }

  func stop() throws {
    try imgctl.run(["stop"])
  }

  @discardableResult
  func run(_ arguments: [String]) throws -> Duration {
    try imgctl.run(arguments + ["--data-dir", dataDirectory])
  }

  func client() throws(ClientError) -> Client {
    try Client(socketPath: imgctl.socketPath)
  }

  /// How large the journal's file is.
  func journalByteCount() throws -> Int {
    let path = dataDirectory + "/journal/data.mdb"
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    guard let byteCount = attributes[.size] as? any BinaryInteger else {
      throw BenchError("\(path) has no size")
    }
    return Int(byteCount)
  }

  /// The processor time that each part of the way has taken so far.
  func processorTime(originProcessID: Int32) throws -> ProcessorTime {
    let status = try client().status()
    return ProcessorTime(
      workers: try status.workers.compactMap(\.processID)
        .reduce(0) { try $0 + ProcessorTime.seconds(of: $1) },
      decoders: try decoders().reduce(0) { $0 + $1.processorSeconds },
      coordinator: try ProcessorTime.seconds(of: status.processID),
      origin: try ProcessorTime.seconds(of: originProcessID))
  }

  /// The decoders that live at this moment.
  func decoders() throws -> [DecoderProcess] {
    try DecoderProcess.all(of: try client().coordinatorProcessID)
  }
}
