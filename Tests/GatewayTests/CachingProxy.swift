import FoundationEssentials
import ImgHTTP
import ImgSystem
import TestCluster
import TestFiles
import TestHTTP

/// nginx with the configuration of `deploy`, but for its certificate and for where it listens: at a Unix
/// socket without TLS. Ends with this object.
final class CachingProxy {
  static let executable = "/usr/sbin/nginx"
  static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: executable) }

  private let directory: TestDirectory
  private let run: ProgramRun

  private static let terminate: CInt = 15

  private var address: HTTPServer.Address { .unix(path: directory.file("front.sock")) }

  /// - Parameter gatewayPath: the Unix socket of the gateway.
  init(gatewayPath: String) throws {
    directory = try TestDirectory()
    let text = try Self.configuration(in: directory, gatewayPath: gatewayPath)
    let configuration = try directory.write(Array(text.utf8), to: "nginx.conf")
    run = try ProgramRun(
      Self.executable, ["-p", directory.path, "-c", configuration, "-e", "errors"],
      environment: [:], in: directory)
    let deadline = ContinuousClock.now + RawClient.patience
    // nginx listens before it writes this file.
    while !FileManager.default.fileExists(atPath: directory.file("nginx.pid")) {
      guard ContinuousClock.now < deadline, run.isRunning else {
        throw GatewayDidNotStart(description: try run.messages())
      }
    }
  }

  deinit {
    run.signal(Self.terminate)
    // It is killed with its run.
    _ = try? run.wait(atMost: RawClient.patience)
  }

  func connect() throws -> RawClient {
    try RawClient(to: address)
  }

  func response(_ target: String, _ fields: String...) async throws -> RawResponse {
    var client = try connect()
    try client.request(target, fields)
    return try await client.receive()
  }

  /// One process, which needs no rights of its own.
  private static func configuration(
    in directory: TestDirectory, gatewayPath: String
  ) throws -> String {
    // This file is ROOT/Tests/GatewayTests/CachingProxy.swift.
    let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
    let path = root.joined(separator: "/") + "/deploy/nginx-imgctl.conf"
    let deployed = String(decoding: try FileIO.contents(of: path, upTo: 1 << 16), as: UTF8.self)
    let lines = deployed.split(separator: "\n", omittingEmptySubsequences: false)
      .filter { !$0.contains("[::]") && !$0.contains("ssl_certificate") }
    let server = lines.joined(separator: "\n")
      .replacing("/run/imggateway.sock", with: gatewayPath)
      .replacing("/var/cache/nginx-imgctl", with: directory.file("cache"))
      .replacing("listen 80;", with: "listen unix:\(directory.file("redirect.sock"));")
      .replacing("listen 443 ssl http2;", with: "listen unix:\(directory.file("front.sock"));")
    let temporaryPaths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(directory.file($0));" }
    return """
      daemon off;
      master_process off;
      pid \(directory.file("nginx.pid"));
      events { worker_connections 256; }
      http {
      access_log off;
      \(temporaryPaths.joined(separator: "\n"))
      \(server)
      }
      """
  }
}
