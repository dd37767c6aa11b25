import CSandboxAttempts
import Glibc
import ImgSystem

/// What the attempts of a child process aim at: files and sockets of this process.
struct Scene {
  /// The process that made the scene.
  let processID: Int32
  /// An address that it has mapped.
  let address: UInt
  /// The hard limit of core files that it had at its start.
  let coreLimit: UInt
  let directory: String
  /// A TCP port of 127.0.0.1.
  let port: UInt16

  var dataDirectory: String { "\(directory)/data" }
  var storePlace: String { "\(dataDirectory)/store" }
  var storeFile: String { "\(storePlace)/thumbnails/data.mdb" }
  var secretsFile: String { "\(dataDirectory)/journal/headers/1" }
  var logFile: String { "\(dataDirectory)/coordinator.log" }
  var keyFile: String { "\(directory)/home/.ssh/id_ed25519" }
  var socket: String { "\(directory)/control.sock" }
  var abstractSocket: String { "@\(directory)" }

  /// Makes files and sockets in a new directory. The sockets live as long as this process.
  ///
  /// - Returns: the scene; the caller removes its directory.
  static func make() throws -> Scene {
    var template = Array("/tmp/imgsandboxtest-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else { throw SystemError.last("mkdtemp") }
    let directory = String(
      decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    var core = rlimit()
    unsafe getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &core)
    var port: UInt16 = 0
    guard unsafe attempt_listen(nil, &port) >= 0 else { throw SystemError.last("listen") }
    let scene = Scene(
      processID: ThisProcess.processID, address: unsafe UInt(bitPattern: environ),
      coreLimit: core.rlim_max, directory: directory, port: port)
    for file in [scene.storeFile, scene.secretsFile, scene.logFile, scene.keyFile] {
      try Directory.create(String(file[..<(file.lastIndex(of: "/") ?? file.endIndex)]))
      _ = try FileIO.create(file)
    }
    for name in [scene.socket, scene.abstractSocket] {
      guard unsafe attempt_listen(name, &port) >= 0 else { throw SystemError.last("listen") }
    }
    return scene
  }

  /// The scene as arguments for a child process, which ``init(arguments:)`` reads.
  var arguments: [String] { ["\(processID)", "\(address)", "\(coreLimit)", directory, "\(port)"] }

  init?(arguments: [String]) {
    guard arguments.count == 5, let processID = Int32(arguments[0]),
      let address = UInt(arguments[1]), let coreLimit = UInt(arguments[2]),
      let port = UInt16(arguments[4])
    else { return nil }
    self.init(
      processID: processID, address: address, coreLimit: coreLimit, directory: arguments[3],
      port: port)
  }

  private init(
    processID: Int32, address: UInt, coreLimit: UInt, directory: String, port: UInt16
  ) {
    self.processID = processID
    self.address = address
    self.coreLimit = coreLimit
    self.directory = directory
    self.port = port
  }
}
