import FoundationEssentials
import Glibc
import ImgSystem

/// One round of a list: imgctl, the peer and a limit, one after the other.
struct PeerRound {
  let own: ClusterPass
  let peer: Result<Img2dataset.Pass, any Error>
  /// What the limit took for as many pictures.
  let limitSeconds: Result<Double, any Error>
}

extension PeerBench {
  /// Rounds of changing order: whatever else the machine does meanwhile meets all.
  ///
  /// - Parameter limit: takes as many pictures as the list has URLs, and returns the seconds.
  func rounds(of list: PictureList, limit: () throws -> Double) throws -> [PeerRound] {
    let path = try bench.imgctl.list(named: "\(list.name)-urls", list.urls)
    // So that the first round finds programs and pictures in memory.
    _ = try? limit()
    return try (1...bench.options.rounds).map { round in
      try bench.note("\(list.name), round \(round) of \(bench.options.rounds)")
      func others() -> (Result<Img2dataset.Pass, any Error>, Result<Double, any Error>) {
        (Result { try peerPass(path, list) }, Result { try limit() })
      }
      let early = round.isMultiple(of: 2) ? others() : nil
      let own = try bench.pass("\(list.name)-\(round)", list: path)
      let (peer, limitSeconds) = early ?? others()
      return PeerRound(own: own, peer: peer, limitSeconds: limitSeconds)
    }
  }

  private func peerPass(_ path: String, _ list: PictureList) throws -> Img2dataset.Pass {
    guard let peer else { throw BenchError(Self.missingPeer) }
    let pass = try peer.run(
      path, lineCount: list.urls.count,
      output: "\(bench.options.workDirectory)/img2dataset-\(list.name)")
    guard pass.successCount == pass.listCount else {
      throw BenchError("img2dataset made \(pass.successCount) of \(pass.listCount)")
    }
    return pass
  }

  /// The rates of imgctl beside those of the peer.
  ///
  /// - Parameter target: for the ratio to the peer's rate while it runs.
  func figuresBesidePeer(
    _ row: PeerRow, _ name: String, _ rounds: [PeerRound], urlCount: Int,
    target: PeerFigure.Target
  ) -> [PeerFigure] {
    let passes: [Img2dataset.Pass]
    do {
      passes = try rounds.map { try $0.peer.get() }
    } catch {
      return [PeerFigure(row, name, missing: "\(error)")]
    }
    let count = Double(urlCount)
    let own = rounds.map { count / $0.own.seconds }
    let command = "\(Self.submit(urlCount)) : \(Img2dataset.command())"
    return [
      PeerFigure(
        row, name, "/s", own: own, beside: "img2dataset, while it runs",
        passes.map { count / $0.runningSeconds }, target: target, command: command),
      PeerFigure(
        row, name, "/s", own: own, beside: "img2dataset, whole command",
        passes.map { count / $0.seconds }, target: nil, command: command),
    ]
  }

  /// The rates of imgctl beside those of the limit.
  func figureBesideLimit(
    _ row: PeerRow, _ name: String, _ rounds: [PeerRound], urlCount: Int, limit: String,
    target: PeerFigure.Target?, command: String
  ) -> PeerFigure {
    let count = Double(urlCount)
    do {
      return PeerFigure(
        row, name, "/s", own: rounds.map { count / $0.own.seconds }, beside: limit,
        try rounds.map { count / (try $0.limitSeconds.get()) }, target: target,
        command: "\(Self.submit(urlCount)) : \(command), \(ThisProcess.coreCount) threads")
    } catch {
      return PeerFigure(row, "\(name), \(limit)", missing: "\(error)")
    }
  }

  static func submit(_ urlCount: Int) -> String {
    "imgctl submit --wait LIST (\(urlCount) URLs, new store)"
  }
}

/// Pictures of a directory behind a static origin, and a list of distinct URLs of them.
struct PictureList {
  let name: String
  /// Paths of the pictures.
  let paths: [String]
  let directory: String
  /// Each picture in turn, as often as the list is long, with another query each time.
  let urls: [String]

  init(_ name: String, directory: String, origin: StaticOrigin, urlCount: Int) throws {
    self.name = name
    self.directory = directory
    let names = try FileManager.default.subpathsOfDirectory(atPath: directory).sorted()
      .filter { FileIO.isFile("\(directory)/\($0)") }
    guard !names.isEmpty else { throw BenchError("there is no picture in \(directory)") }
    let base = try origin.serve(directory, as: name)
    paths = names.map { "\(directory)/\($0)" }
    urls = (0..<urlCount).map { "\(base)/\(Self.escaped(names[$0 % names.count]))?\($0)" }
  }

  var pictureCount: Int { paths.count }

  private static func escaped(_ path: String) -> String {
    path.utf8.map { byte in
      switch byte {
      case 0x2D, 0x2E, 0x2F, 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A:
        return String(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        return byte < 16 ? "%0\(digits)" : "%\(digits)"
      }
    }.joined()
  }
}

/// nginx on loopback, which serves directories as fast as the kernel sends files.
///
/// It ends with this object, or with this process, whose death it is told of.
final class StaticOrigin {
  private let child: ChildProcess
  private let root: String
  private let baseURL: String

  private static let program = "/usr/sbin/nginx"
  private static let temporaryPaths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
  private static let types = [
    "image/jpeg jpg jpeg", "image/png png", "image/webp webp", "image/gif gif",
    "image/avif avif", "image/heic heic",
  ]

  /// - Parameter workDirectory: for its configuration and its links to what it serves.
  init(workDirectory: String) throws {
    guard FileIO.isFile(Self.program) else { throw BenchError("\(Self.program) is missing") }
    root = "\(workDirectory)/served"
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    // The port is free again once it has been asked for.
    let port = try SilentListener().port
    let configuration = "\(workDirectory)/nginx.conf"
    try FileIO.replace(
      path: configuration, with: Array(Self.configuration(workDirectory, root, port).utf8))
    let nothing = try FileIO.open(appendingTo: "/dev/null")
    child = try ChildProcess.spawn(
      executable: "/usr/bin/setpriv",
      arguments: [
        "--pdeathsig", "TERM", Self.program, "-e", "\(workDirectory)/nginx.log", "-c",
        configuration,
      ],
      environment: ThisProcess.environment,
      descriptors: [(parent: nothing.rawValue, child: 1), (parent: nothing.rawValue, child: 2)])
    baseURL = "http://127.0.0.1:\(port)"
    try awaitStart("\(workDirectory)/nginx.pid", log: "\(workDirectory)/nginx.log")
  }

  deinit {
    child.signal(SIGTERM)
    _ = child.waitForExit(until: .now + .seconds(10))
  }

  /// - Returns: the URL below which the files of `directory` lie.
  func serve(_ directory: String, as name: String) throws -> String {
    let link = "\(root)/\(name)"
    if !FileManager.default.fileExists(atPath: link) {
      let path = try Directory.resolve(directory)
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    }
    return "\(baseURL)/\(name)"
  }

  private static func configuration(_ work: String, _ root: String, _ port: UInt16) -> String {
    let temporary = temporaryPaths.map { "\($0)_temp_path \(work)/nginx-temporary;" }
    // A worker of a master that root starts would be another user, who cannot read the pictures.
    let user = geteuid() == 0 ? "user root;" : ""
    return """
      \(user)
      daemon off;
      worker_processes 1;
      pid \(work)/nginx.pid;
      events { worker_connections 1024; }
      http {
        access_log off;
        sendfile on;
        keepalive_requests 10000000;
        \(temporary.joined(separator: "\n  "))
        types { \(types.map { "\($0);" }.joined(separator: " ")) }
        server { listen 127.0.0.1:\(port) backlog=1024; root \(root); }
      }

      """
  }

  /// nginx listens before it writes its process number.
  private func awaitStart(_ path: String, log: String) throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while !FileIO.isFile(path) {
      guard child.reap() == nil, ContinuousClock.now < deadline else {
        let said = (try? FileIO.contents(of: log, upTo: 1 << 16)) ?? []
        throw BenchError("nginx does not start: \(String(decoding: said, as: UTF8.self))")
      }
      ThisProcess.pause(for: .milliseconds(10))
    }
  }
}

/// The peer img2dataset, a program in Python that downloads and resizes lists of images.
struct Img2dataset {
  /// One list, from the start of the command to its end.
  struct Pass {
    let listCount: Int
    let successCount: Int
    /// The whole command.
    let seconds: Double
    /// From the start of its first shard to the end of its last one.
    let runningSeconds: Double
  }

  /// What it writes about a shard.
  private struct Shard: Decodable {
    let successes: Int
    let startTime: Double
    let endTime: Double

    private enum CodingKeys: String, CodingKey {
      case successes
      case startTime = "start_time"
      case endTime = "end_time"
    }
  }

  /// The program.
  let path: String
  let imgctl: Imgctl

  private static let processCount = 2
  static let connectionCount = 64
  /// Its processes take a shard each at a time, so there are several for each.
  private static let shardCount = 8

  /// `keep_ratio_largest` fits a picture into the box, as imgctl does; `keep_ratio` would make its
  /// smaller side as long as the box and so its pictures larger.
  private static func settings(connectionCount: Int) -> [String] {
    [
      "--processes_count", "\(processCount)", "--thread_count",
      "\(connectionCount / processCount)", "--output_format", "files", "--image_size", "256",
      "--resize_mode", "keep_ratio_largest", "--encode_quality", "80", "--resize_only_if_bigger",
      "True",
    ]
  }

  /// The command as people would type it.
  static func command(connectionCount: Int = Self.connectionCount) -> String {
    "img2dataset \(settings(connectionCount: connectionCount).joined(separator: " "))"
  }

  /// - Parameters:
  ///   - output: a directory for its thumbnails, which is replaced.
  ///   - connectionCount: how many pictures all its threads fetch at once.
  func run(
    _ list: String, lineCount: Int, output: String, connectionCount: Int = Self.connectionCount
  ) throws -> Pass {
    // Its libraries leave directories behind.
    let temporary = imgctl.workDirectory + "/img2dataset-temporary"
    try? FileManager.default.removeItem(atPath: output)
    try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: true)
    let shardLineCount = (lineCount + Self.shardCount - 1) / Self.shardCount
    let duration = try imgctl.run(
      program: "/usr/bin/env",
      ["NO_ALBUMENTATIONS_UPDATE=1", "TMPDIR=\(temporary)", path]
        + ["--url_list", list, "--output_folder", output]
        + ["--number_sample_per_shard", "\(shardLineCount)"]
        + Self.settings(connectionCount: connectionCount))
    let shards = try Self.shards(in: output)
    guard let start = shards.map(\.startTime).min(), let end = shards.map(\.endTime).max() else {
      throw BenchError("img2dataset wrote no statistics below \(output)")
    }
    return Pass(
      listCount: lineCount, successCount: shards.reduce(0) { $0 + $1.successes },
      seconds: duration.inSeconds, runningSeconds: end - start)
  }

  private static func shards(in directory: String) throws -> [Shard] {
    try FileManager.default.contentsOfDirectory(atPath: directory)
      .filter { $0.hasSuffix("_stats.json") }
      .map { name in
        let bytes = try FileIO.contents(of: "\(directory)/\(name)", upTo: 1 << 20)
        return try JSONDecoder().decode(Shard.self, from: Data(bytes))
      }
  }
}
