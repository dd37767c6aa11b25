import FoundationEssentials
import Glibc
import ImgSystem

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
