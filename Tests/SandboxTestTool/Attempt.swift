import CSandboxAttempts
import FoundationEssentials
import Glibc
import ImgModel
import ImgSandbox
import ImgSystem

/// Something that a process locked in a sandbox tries to do. Its standard input is a socket.
enum Attempt: String, CaseIterable {
  // Files.
  case readPasswords = "read /etc/passwd"
  case readKey = "read ~/.ssh/id_ed25519"
  case lookAtKey = "look at ~/.ssh/id_ed25519"
  case lookAtKeyWithFlag = "look at ~/.ssh/id_ed25519 as at an open file"
  case lookAtKeyFurther = "look at ~/.ssh/id_ed25519 by statx"
  case findKey = "learn whether ~/.ssh/id_ed25519 exists"
  case openKeyPath = "open the path ~/.ssh/id_ed25519"
  case lookAtOpenFile = "look at an open file"
  case readLink = "read a symbolic link"
  case readStore = "read the store"
  case writeStore = "write the store"
  case readSecrets = "read the headers of a job"
  case writeLog = "write the log"
  case writeFile = "create a file"
  case setMode = "set the mode of a file"
  case setModeAt = "set the mode of a file, by fchmodat2"
  case setModeOfOpenFile = "set the mode of an open file"
  case setOwner = "set the owner of a file"
  case setTimes = "set the times of a file"
  case setAttribute = "set an extended attribute of a file"
  case emptyFile = "empty a file by its name"
  case removeFile = "remove a file"
  case readParentState = "read /proc/PARENT/stat"
  case readParentEnvironment = "read /proc/PARENT/environ"
  case readInitEnvironment = "read /proc/1/environ"
  case writeOwnMemory = "open /proc/self/mem for writing"
  // Sockets.
  case connectLoopback = "connect to a port of 127.0.0.1"
  case sendDatagram = "send a datagram to 127.0.0.1"
  case connectSocket = "connect to a Unix socket"
  case connectAbstractSocket = "connect to an abstract socket"
  case bindPort = "bind a port"
  case packetSocket = "open a packet socket"
  case deviceSocket = "open a socket for messages about devices"
  case socketPair = "create a socket pair"
  case datagramPair = "create a pair of datagram sockets"
  case shutDown = "shut down a socket"
  case setFlags = "set the flags of a socket"
  case resolveName = "resolve a name"
  // Processes.
  case execute = "execute a program"
  case fork = "fork"
  case thread = "create a thread"
  case traceParent = "trace the parent"
  case readParentMemory = "read the parent's memory"
  case signalParent = "signal the parent"
  case signalParentThread = "signal a thread of the parent"
  case queueSignal = "queue a signal for the parent"
  case ownSocket = "have a socket signal the parent"
  case ownSocketByControl = "have a socket signal the parent, by ioctl"
  case limitParent = "limit the parent"
  case setParentProcessors = "set the parent's processors"
  case setParentPriority = "set the parent's priority"
  // Memory and limits.
  case mapExecutable = "map executable memory"
  case protectExecutable = "make memory executable"
  case protectExecutableByKey = "make memory executable, by a key"
  case mapShared = "map shared memory of no file"
  case mapGrowing = "map memory that grows"
  case memoryFile = "create a memory file"
  case sharedSegment = "create a segment of shared memory"
  case messageQueue = "create a message queue"
  case semaphore = "create a semaphore"
  case namedQueue = "create a named message queue"
  case raiseLimit = "raise a limit"
  // The kernel.
  case newUsers = "create a user namespace"
  case mount = "mount a file system"
  case keyring = "use a keyring"
  case ring = "create an io_uring"
  case bpf = "create a BPF map"
  case performanceCounter = "open a performance counter"

  /// - Throws: the error with which the kernel refuses it.
  func perform(in scene: Scene) throws(SystemError) {
    if try performOnFiles(of: scene) { return }
    switch self {
    case .connectLoopback:
      try Self.call { attempt_connect_port(CInt(SOCK_STREAM.rawValue), scene.port) }
    case .sendDatagram:
      try Self.call { attempt_connect_port(CInt(SOCK_DGRAM.rawValue), scene.port) }
    case .connectSocket: try Self.call { unsafe attempt_connect_name(scene.socket) }
    case .connectAbstractSocket:
      try Self.call { unsafe attempt_connect_name(scene.abstractSocket) }
    case .bindPort: try Self.call { attempt_bind_port() }
    case .packetSocket: try Self.call { attempt_packet_socket() }
    case .deviceSocket: try Self.call { attempt_netlink() }
    case .socketPair: try Self.call { attempt_socket_pair() }
    case .datagramPair: try Self.call { attempt_datagram_pair() }
    case .shutDown: try Self.call { attempt_shut_down(STDIN_FILENO) }
    case .setFlags: try Self.call { attempt_set_flags(STDIN_FILENO) }
    case .resolveName: try Self.call { unsafe attempt_resolve("localhost") }
    case .execute: try Self.call { unsafe attempt_execute("/bin/true") }
    case .fork: try Self.call { attempt_fork() }
    case .thread: try Self.call { attempt_thread() }
    case .traceParent: try Self.call { attempt_trace(scene.processID) }
    case .readParentMemory:
      try Self.call { attempt_read_memory(scene.processID, scene.address) }
    case .signalParent: try Self.call { attempt_signal(scene.processID) }
    case .signalParentThread: try Self.call { attempt_signal_thread(scene.processID) }
    case .queueSignal: try Self.call { attempt_queue_signal(scene.processID) }
    case .ownSocket: try Self.call { attempt_own(STDIN_FILENO, scene.processID) }
    case .ownSocketByControl:
      try Self.call { attempt_own_by_ioctl(STDIN_FILENO, scene.processID) }
    case .limitParent: try Self.call { attempt_limit(scene.processID) }
    case .setParentProcessors: try Self.call { attempt_set_processors(scene.processID) }
    case .setParentPriority: try Self.call { attempt_set_priority(scene.processID) }
    case .mapExecutable: try Self.call { attempt_map_executable() }
    case .protectExecutable: try Self.call { attempt_protect_executable() }
    case .protectExecutableByKey: try Self.call { attempt_protect_executable_by_key() }
    case .mapShared: try Self.call { attempt_map_shared() }
    case .mapGrowing: try Self.call { attempt_map_growing() }
    case .memoryFile: try Self.call { attempt_memory_file() }
    case .sharedSegment: try Self.call { attempt_shared_segment() }
    case .messageQueue: try Self.call { attempt_message_queue() }
    case .semaphore: try Self.call { attempt_semaphore() }
    case .namedQueue: try Self.call { attempt_named_queue() }
    case .raiseLimit: try Self.raiseCoreLimit(to: scene.coreLimit)
    case .newUsers: try Self.call { attempt_new_users() }
    case .mount: try Self.call { unsafe attempt_mount(scene.directory) }
    case .keyring: try Self.call { attempt_keyring() }
    case .ring: try Self.call { attempt_ring() }
    case .bpf: try Self.call { attempt_bpf() }
    case .performanceCounter: try Self.call { attempt_performance_counter() }
    default: preconditionFailure("\(rawValue) is an attempt on files")
    }
  }

  /// - Returns: whether it is an attempt on files.
  private func performOnFiles(of scene: Scene) throws(SystemError) -> Bool {
    switch self {
    case .readPasswords: try Self.open("/etc/passwd", O_RDONLY)
    case .readKey: try Self.open(scene.keyFile, O_RDONLY)
    case .lookAtKey: try Self.call { unsafe attempt_look_at(scene.keyFile) }
    case .lookAtKeyWithFlag:
      try Self.call { unsafe attempt_look_at_with_flag(scene.keyFile) }
    case .lookAtKeyFurther: try Self.call { unsafe attempt_extended_look_at(scene.keyFile) }
    case .findKey: try Self.call { unsafe attempt_find(scene.keyFile) }
    case .openKeyPath: try Self.call { unsafe attempt_open_path(scene.keyFile) }
    case .lookAtOpenFile:
      var status = stat()
      try Self.call { unsafe fstat(STDIN_FILENO, &status) }
    case .readLink: try Self.call { unsafe attempt_read_link("/proc/self/exe") }
    case .readStore: try Self.open(scene.storeFile, O_RDONLY)
    case .writeStore: try Self.open(scene.storeFile, O_RDWR)
    case .readSecrets: try Self.open(scene.secretsFile, O_RDONLY)
    case .writeLog: try Self.open(scene.logFile, O_WRONLY | O_APPEND)
    case .writeFile: try Self.open("\(scene.directory)/new", O_WRONLY | O_CREAT)
    case .emptyFile: try Self.call { unsafe truncate(scene.keyFile, 0) }
    case .removeFile: try Self.call { unsafe unlink(scene.keyFile) }
    case .setMode: try Self.call { unsafe attempt_set_mode(scene.keyFile) }
    case .setModeAt: try Self.call { unsafe attempt_set_mode_at(scene.keyFile) }
    case .setModeOfOpenFile: try Self.call { attempt_set_mode_of(STDIN_FILENO) }
    case .setOwner: try Self.call { unsafe attempt_set_owner(scene.keyFile) }
    case .setTimes: try Self.call { unsafe attempt_set_times(scene.keyFile) }
    case .setAttribute: try Self.call { unsafe attempt_set_attribute(scene.keyFile) }
    case .readParentState: try Self.open("/proc/\(scene.processID)/stat", O_RDONLY)
    case .readParentEnvironment: try Self.open("/proc/\(scene.processID)/environ", O_RDONLY)
    case .readInitEnvironment: try Self.open("/proc/1/environ", O_RDONLY)
    case .writeOwnMemory: try Self.open("/proc/self/mem", O_RDWR)
    default: return false
    }
    return true
  }

  private static func open(_ path: String, _ flags: CInt) throws(SystemError) {
    try call { unsafe Glibc.open(path, flags, 0o600) }
  }

  /// Sets a hard limit that a locked process has lowered, and that any other has already.
  private static func raiseCoreLimit(to value: UInt) throws(SystemError) {
    var limit = rlimit(rlim_cur: 0, rlim_max: value)
    try call { unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) }
  }

  private static func call(_ call: () -> CInt) throws(SystemError) {
    if call() < 0 { throw .last("attempt") }
  }
}

/// All attempts in one sandbox, each in a process of its own, because some end the process.
struct AttemptRun {
  let lock: Lock

  private static let patience = Duration.seconds(60)

  /// Prints a line for each attempt: the attempt, a tab, and what came of it.
  func run() throws {
    let scene = try Scene.make()
    defer { try? FileManager.default.removeItem(atPath: scene.directory) }
    for attempt in Attempt.allCases {
      let result = try result(of: attempt, in: scene)
      try FileIO.writeAll(STDOUT_FILENO, "\(attempt.rawValue)\t\(result)\n")
    }
  }

  private func result(of attempt: Attempt, in scene: Scene) throws -> String {
    guard let programs = ThisProcess.executableDirectory else {
      throw UsageError(description: "there is no /proc to find this program by")
    }
    var sockets = try UnixSocket.pair()
    let socket = sockets.takeFirst()
    let child = try ChildProcess.spawn(
      executable: "\(programs)/imgsandboxtest",
      arguments: ["attempt", lock.rawValue, attempt.rawValue] + scene.arguments,
      environment: [:], descriptors: [(parent: socket.rawValue, child: STDIN_FILENO)])
    switch child.waitForExit(until: .now + Self.patience) {
    case .exited(0): return "allowed"
    case .exited(Self.failedLockStatus): return "the lock failed"
    case .exited(let code): return "refused (\(SystemError(operation: "", code: code).name))"
    case .signalled(SIGSYS): return "killed"
    case .signalled(let signal): return "killed by signal \(signal)"
    case nil:
      child.signal(SIGKILL)
      return "no end"
    }
  }

  // MARK: - In the child

  private static let failedLockStatus: Int32 = 255

  /// Locks this process, makes one attempt, and exits with its errno value, 0 for success.
  static func perform(_ attempt: Attempt, lock: Lock, scene: Scene) -> Never {
    do {
      try lock.apply(in: scene)
    } catch {
      try? FileIO.writeAll(STDERR_FILENO, "imgsandboxtest: \(error)\n")
      _exit(failedLockStatus)
    }
    do throws(SystemError) {
      try attempt.perform(in: scene)
      _exit(0)
    } catch {
      _exit(error.code)
    }
  }
}

extension SystemError {
  /// The C name of the errno value.
  fileprivate var name: String {
    description.split(separator: "(").last.map { String($0.dropLast()) } ?? "\(code)"
  }
}

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

  private init(processID: Int32, address: UInt, coreLimit: UInt, directory: String, port: UInt16) {
    self.processID = processID
    self.address = address
    self.coreLimit = coreLimit
    self.directory = directory
    self.port = port
  }
}

/// The process whose sandbox an attempt is made in.
enum Lock: String {
  case none, decoder, worker, gateway, coordinator

  /// Locks this process as the programs do.
  func apply(in scene: Scene) throws(SandboxError) {
    switch self {
    case .none: break
    case .decoder:
      let sandbox = try Sandbox(start: .decoder(keeping: Self.streams))
      try sandbox.limit(to: ProcessLimits(privateByteCount: 1 << 30, sharedByteCount: 0))
      _ = try sandbox.lock(.decoder, isRequired: false)
    case .worker:
      let places = WorkerPlaces(
        dataDirectories: [scene.storePlace], spoolDirectories: [], allowedDirectories: [],
        authorityFile: nil)
      _ = try Sandbox(start: .worker(keeping: Self.streams))
        .lock(.worker(places), isRequired: false)
    case .gateway:
      let profile = SandboxProfile.gateway(
        storePlace: scene.storePlace, listeningPath: nil, hasAbstractManager: false)
      _ = try Sandbox(start: .gateway).lock(profile, isRequired: false)
    case .coordinator:
      _ = try Sandbox(start: .coordinator)
        .lock(.coordinator(writablePaths: [scene.dataDirectory]), isRequired: false)
    }
  }

  static let streams: Set<Int32> = [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
}
