import Glibc
import ImgSystem
package import ImgWire
import TestFiles

/// A listener in a coordinator's place that answers one client as a test says.
package struct ScriptedListener: ~Copyable {
  private let listener: UnixListener

  package init(socketPath: String) throws {
    listener = try UnixListener(path: socketPath)
  }

  /// Answers the first client that connects until one end closes. Later ones are refused, and do not wait.
  ///
  /// - Parameters:
  ///   - hello: the answer to the client's hello; `nil` closes the connection.
  ///   - replies: to a request; the connection closes after them where `nil` ends them.
  /// - Returns: the requests after the hello.
  package borrowing func serve(
    hello: CoordinatorReply?, _ replies: (ClientMessage) -> [CoordinatorReply?]
  ) throws -> [ClientMessage] {
    var requests: [ClientMessage] = []
    guard
      try UnixSocket.waitReadable(listener.descriptor, until: .now + ProgramRun.patience),
      let connection = try listener.accept()
    else { return requests }
    Glibc.shutdown(listener.descriptor, CInt(SHUT_RDWR))
    let channel = try Channel<ClientMessage, CoordinatorReply>(connection.takeDescriptor())
    while let request = try? channel.next(until: .now + ProgramRun.patience) {
      var answers = [hello]
      if case .hello = request {
      } else {
        requests.append(request)
        answers = replies(request)
      }
      for answer in answers {
        guard let answer, (try? channel.send(answer)) != nil else { return requests }
      }
    }
    return requests
  }
}

/// A socket that takes datagrams, as a service manager's does.
package final class DatagramReceiver {
  private let socket: OwnedDescriptor

  /// - Parameter address: a path, or `@` and an abstract name (sd_notify(3)).
  package init(address name: String) throws {
    socket = OwnedDescriptor(
      adopting: Glibc.socket(
        AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(name.utf8)
    let byteCount = MemoryLayout<sa_family_t>.size + bytes.count
    if name.hasPrefix("@") { bytes[0] = 0 }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    let descriptor = socket.rawValue
    let result = unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(descriptor, $0, socklen_t(byteCount))
      }
    }
    guard result == 0 else { throw ClusterError("\(name) cannot be bound") }
  }

  /// The next datagram; `nil` when none has come before the deadline.
  package func next(
    until deadline: ContinuousClock.Instant = .now + ProgramRun.patience
  ) throws -> String? {
    guard try UnixSocket.waitReadable(socket.rawValue, until: deadline) else { return nil }
    var bytes: [UInt8] = []
    _ = try UnixSocket.receive(socket.rawValue, into: &bytes, upTo: 4_096)
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// nginx in front of an origin, over TLS with HTTP/2. No system trusts the authority of its
/// certificate.
///
/// Ends with this object.
package final class TLSFront {
  package let port: UInt16
  private let directory: TestDirectory
  private let run: ProgramRun

  /// The certificate of the authority, for programs that have to trust it.
  package var authorityPath: String { directory.file("authority.pem") }
  /// `https://127.0.0.1:PORT`, which the certificate names.
  package var baseURL: String { "https://127.0.0.1:\(port)" }

  private static let terminate: CInt = 15

  /// - Parameters:
  ///   - port: a port without a listener.
  ///   - originPort: where the origin listens on 127.0.0.1.
  ///   - hosts: the addresses to listen on. The certificate is for 127.0.0.1 whatever they are.
  package init(port: UInt16, originPort: UInt16, hosts: [String] = ["127.0.0.1"]) throws {
    self.port = port
    directory = TestDirectory()
    try Self.certify(in: directory)
    let configuration = try directory.write(
      Array(
        Self.configuration(
          in: directory, listen: hosts.map { "\($0):\(port)" }, originPort: originPort
        ).utf8),
      to: "nginx.conf")
    run = try ProgramRun(
      "/usr/sbin/nginx", ["-p", directory.path, "-c", configuration, "-e", "errors"],
      environment: [:], in: directory)
  }

  deinit {
    run.signal(Self.terminate)
    _ = try? run.wait()
  }

  /// Whether it takes connections: nginx listens before it writes this file.
  package var isListening: Bool {
    (try? FileIO.contents(of: directory.file("nginx.pid"), upTo: 100))?.isEmpty == false
  }

  /// A request as nginx has seen it.
  package struct Request: Hashable {
    package let connection: String
    package let version: String
    package let path: String
  }

  /// The requests that were answered. Each is noted after its answer.
  package func requests() throws -> [Request] {
    let log = try FileIO.contents(of: directory.file("access"), upTo: 1 << 20)
    return String(decoding: log, as: UTF8.self).split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ").map(String.init)
      guard fields.count == 3 else { return nil }
      return Request(connection: fields[0], version: fields[1], path: fields[2])
    }
  }

  /// An authority, and a certificate of its own for the server.
  private static func certify(in directory: TestDirectory) throws {
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    func file(_ name: String) -> String { directory.file(name) }
    _ = try directory.write(Array("subjectAltName=IP:127.0.0.1\n".utf8), to: "names")
    let commands = [
      ["req", "-x509", "-subj", "/CN=authority", "-days", "2"] + key
        + ["-keyout", file("authority.key"), "-out", file("authority.pem")],
      ["req", "-subj", "/CN=server"] + key
        + ["-keyout", file("server.key"), "-out", file("server.request")],
      [
        "x509", "-req", "-in", file("server.request"), "-days", "2", "-set_serial", "1",
        "-CA", file("authority.pem"), "-CAkey", file("authority.key"),
        "-extfile", file("names"), "-out", file("server.pem"),
      ],
    ]
    for arguments in commands {
      let result = try ProgramRun(
        "/usr/bin/openssl", arguments, environment: [:], in: directory
      ).wait()
      guard result.exitCode == 0 else { throw ClusterError("openssl: \(result.messages)") }
    }
  }

  /// One process, which needs no rights of its own.
  private static func configuration(
    in directory: TestDirectory, listen addresses: [String], originPort: UInt16
  ) -> String {
    let temporaryPaths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(directory.file($0));" }
    let listen = addresses.map { "listen \($0) ssl http2;" }.joined(separator: " ")
    return """
      daemon off;
      master_process off;
      pid \(directory.file("nginx.pid"));
      events { worker_connections 256; }
      http {
        log_format front '$connection $server_protocol $uri';
        access_log \(directory.file("access")) front;
        \(temporaryPaths.joined(separator: "\n  "))
        server {
          \(listen)
          ssl_certificate \(directory.file("server.pem"));
          ssl_certificate_key \(directory.file("server.key"));
          location / { proxy_pass http://127.0.0.1:\(originPort); }
        }
      }
      """
  }
}
