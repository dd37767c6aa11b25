import FoundationEssentials
package import ImgClient
package import ImgModel
import ImgSystem
import ImgWire
package import TestFiles

/// A cluster of the real processes for one test: places of its own, `imgctl` as a person would call
/// it, and a coordinator as this process's child.
///
/// Whatever coordinator runs in its places is ended with this object, its workers with it.
package final class Cluster {
  package let directory: TestDirectory
  /// What every program of the cluster is started with: nothing of the caller's own settings.
  package let environment: [String: String]
  private let executableDirectory: String?
  private var coordinator: ProgramRun?

  package let socketPath: String
  package var dataDirectory: String { directory.file("data") }
  package var storeDirectory: String { "\(dataDirectory)/store/thumbnails" }
  /// What a coordinator that a command started has to say.
  package var logPath: String { "\(dataDirectory)/coordinator.log" }

  private static let kill: CInt = 9

  /// Settings of a cluster whose processes let a test that is not root's see their descriptors.
  package static let inspectable = ["CORE_DUMPS": "1"]

  /// - Parameters:
  ///   - settings: environment variables without their prefix, such as `WORKERS`, beside the two
  ///     workers and the permission to fetch from this machine that every cluster has. A transfer
  ///     that fails is not tried again unless `ATTEMPTS` says so, and `--keep auto` keeps no original unless
  ///     `KEEP_AUTO_SIZE` does: most tests count what they asked to be stored.
  ///   - socketName: where in the test's own directory the coordinator listens.
  ///   - dataDirectory: elsewhere than in the test's own directory.
  ///   - isStarted: whether a coordinator is started now.
  ///   - variables: other environment variables of all programs.
  package init(
    _ settings: [String: String] = [:], socketName: String = "control.sock",
    dataDirectory: String? = nil,
    executableDirectory: String? = nil, isStarted: Bool = true,
    variables: [String: String] = [:]
  ) throws {
    directory = TestDirectory()
    socketPath = directory.file(socketName)
    self.executableDirectory = executableDirectory
    var environment = [
      "PATH": "/usr/bin:/bin", "HOME": directory.path, "SWIFT_BACKTRACE": "enable=no",
      "IMGCTL_SOCKET": socketPath,
      "IMGCTL_DATA_DIR": dataDirectory ?? directory.file("data"),
      "IMGCTL_ALLOW_NETWORK": "127.0.0.0/8", "IMGCTL_WORKERS": "2", "IMGCTL_ATTEMPTS": "1",
      "IMGCTL_KEEP_AUTO_SIZE": "0",
    ]
    environment.merge(variables) { _, given in given }
    for (name, value) in settings { environment["IMGCTL_\(name)"] = value }
    self.environment = environment
    if isStarted { try start() }
  }

  deinit {
    // One that a command started is no child of ours, but it answers at the socket.
    let processIDs = [
      coordinator.flatMap { $0.isRunning ? $0.processID : nil },
      (try? Client(socketPath: socketPath))?.coordinatorProcessID,
    ]
    for coordinator in Set(processIDs.compactMap(\.self)).compactMap(WatchedProcess.init) {
      let workers = childProcessIDs(of: coordinator.processID).compactMap(WatchedProcess.init)
      coordinator.signal(Self.kill)
      // Until the last has ended, the directory may gain files while it is removed.
      for process in [coordinator] + workers { _ = try? process.hasEnded() }
    }
  }

  // MARK: - Coordinator

  /// Starts a coordinator and waits until it listens.
  ///
  /// - Parameters:
  ///   - arguments: besides the settings in the environment.
  ///   - fileKibibytes: how large a file it and its workers may make (RLIMIT_FSIZE) until a test
  ///     lets them make larger ones; `nil` for any.
  ///   - disk: mounted for them alone; `nil` for none.
  ///   - features: what the kernel seems to lack, see `imgsandboxtest`.
  package func start(
    _ arguments: [String] = [], fileKibibytes: Int? = nil, on disk: SmallDisk? = nil,
    without features: [String] = []
  ) throws {
    let (run, message) = try launch(
      arguments, fileKibibytes: fileKibibytes, on: disk, without: features)
    guard message == ReadinessMessage.ready else {
      throw ClusterError("the coordinator did not start: \(message) \(try run.wait().messages)")
    }
    coordinator = run
  }

  /// Starts a coordinator whether or not it can begin.
  ///
  /// - Parameters:
  ///   - userID: the user that it runs as, which only root can choose; `nil` for the test's own.
  ///   - variables: environment variables beside those of the cluster.
  /// - Returns: its run, and what it sent to the process that started it.
  package func launch(
    _ arguments: [String] = [], fileKibibytes: Int? = nil, on disk: SmallDisk? = nil,
    as userID: UInt32? = nil, variables: [String: String] = [:], without features: [String] = []
  ) throws -> (run: ProgramRun, message: String) {
    var pair = try UnixSocket.pair()
    let ours = pair.takeFirst()
    let run = try start(
      arguments, fileKibibytes, disk, userID, variables, features, readyEnd: pair.takeSecond())
    var bytes: [UInt8] = []
    while try UnixSocket.waitReadable(ours.rawValue, until: .now + ProgramRun.patience) {
      let result = try UnixSocket.receive(ours.rawValue, into: &bytes, upTo: 4_096)
      if result == .closed { break }
    }
    return (run, String(decoding: bytes, as: UTF8.self))
  }

  private func start(
    _ arguments: [String], _ fileKibibytes: Int?, _ disk: SmallDisk?, _ userID: UInt32?,
    _ variables: [String: String], _ features: [String],
    readyEnd: consuming OwnedDescriptor
  ) throws -> ProgramRun {
    var environment = environment.merging(variables) { _, given in given }
    environment[ReadinessMessage.variable] = String(ReadinessMessage.descriptor)
    var command = [try program("imgcoordinator")] + arguments
    if let fileKibibytes { command = Self.command(command, fileKibibytes: fileKibibytes) }
    if !features.isEmpty {
      let tool = try Programs.path(of: "imgsandboxtest")
      command = [tool, "without", features.joined(separator: ",")] + command
    }
    if let disk { command = disk.command(command) }
    if let userID { command = Self.command(command, as: userID) }
    return try ProgramRun(
      command[0], Array(command.dropFirst()), environment: environment,
      descriptors: [(parent: readyEnd.rawValue, child: ReadinessMessage.descriptor)], in: directory)
  }

  /// A command whose process may make no larger file (RLIMIT_FSIZE). The limit is the soft one, which can be raised
  /// later.
  private static func command(_ command: [String], fileKibibytes: Int) -> [String] {
    // The shell's unit is 512 bytes (POSIX, ulimit).
    ["/bin/sh", "-c", "ulimit -S -f \(2 * fileKibibytes); exec \"$@\"", "sh"] + command
  }

  private static func command(_ command: [String], as userID: UInt32) -> [String] {
    ["/usr/bin/setpriv", "--reuid=\(userID)", "--regid=\(userID)", "--clear-groups"] + command
  }

  /// Whether a test can run the programs as another user: root can where each user may search the
  /// directories above them.
  package static func canRun(as userID: UInt32) throws -> Bool {
    let command = command([try Programs.path(of: "imgcoordinator"), "--version"], as: userID)
    let directory = TestDirectory()
    let run = try ProgramRun(
      command[0], Array(command.dropFirst()), environment: [:], in: directory)
    return try ThisProcess.userID == 0 && run.wait().exitCode == 0
  }

  /// The coordinator that ``start(_:)`` started.
  package func runningCoordinator() throws -> ProgramRun {
    guard let coordinator else { throw ClusterError("no coordinator was started") }
    return coordinator
  }

  /// Ends the coordinator as a power cut would.
  package func killCoordinator() throws {
    let run = try runningCoordinator()
    run.signal(Self.kill)
    guard try run.wait().status == .signalled(Self.kill) else {
      throw ClusterError("the coordinator was not killed")
    }
    coordinator = nil
  }

  package func client() throws -> Client {
    try Client(socketPath: socketPath)
  }

  /// The workers that are ready at this moment.
  package func readyWorkers() throws -> [WatchedProcess] {
    try client().answer(.status).workers.compactMap { worker in
      worker.state == .ready ? worker.processID.flatMap(WatchedProcess.init) : nil
    }
  }

  /// Lets the processes that write files, which a start with `fileKibibytes` limited, make files of any
  /// size: as if other files were removed from a full disk.
  package func liftFileLimit() throws {
    let workers = try readyWorkers().map(\.processID)
    for processID in [try runningCoordinator().processID] + workers {
      let run = try ProgramRun(
        "/usr/bin/prlimit", ["--pid", "\(processID)", "--fsize=unlimited:"], environment: [:],
        in: directory)
      let result = try run.wait()
      guard result.exitCode == 0 else { throw ClusterError("prlimit: \(result.messages)") }
    }
  }

  // MARK: - imgctl

  /// Runs `imgctl` to its end.
  @discardableResult
  package func imgctl(_ arguments: String..., inputPath: String = "/dev/null") throws
    -> ProgramResult
  {
    try begin(arguments, inputPath: inputPath).wait()
  }

  /// Runs `imgctl` to its end where a process sees its ``SmallDisk``.
  package func imgctl(besides processID: Int32, _ arguments: String...) throws -> ProgramResult {
    let command = SmallDisk.command([try program("imgctl")] + arguments, besides: processID)
    let run = try ProgramRun(
      command[0], Array(command.dropFirst()), environment: environment, in: directory)
    return try run.wait()
  }

  /// Starts `imgctl` and does not wait.
  ///
  /// - Parameters:
  ///   - userID: the user that it runs as, which only root can choose; `nil` for the test's own.
  ///   - fileKibibytes: how large a file it may make; `nil` for any.
  ///   - disk: mounted for it alone; `nil` for none.
  package func begin(
    _ arguments: [String], inputPath: String = "/dev/null", as userID: UInt32? = nil,
    fileKibibytes: Int? = nil, on disk: SmallDisk? = nil
  ) throws -> ProgramRun {
    var command = [try program("imgctl")] + arguments
    if let fileKibibytes { command = Self.command(command, fileKibibytes: fileKibibytes) }
    if let disk { command = disk.command(command) }
    if let userID { command = Self.command(command, as: userID) }
    return try ProgramRun(
      command[0], Array(command.dropFirst()), environment: environment, inputPath: inputPath,
      in: directory)
  }

  /// The path of a list of these lines.
  package func list(_ lines: [String], name: String = "list.txt") throws -> String {
    try directory.write(Array(lines.map { $0 + "\n" }.joined().utf8), to: name)
  }

  /// Submits the lines as a job without waiting for it.
  ///
  /// - Parameter options: of `imgctl submit`.
  package func submit(_ lines: [String], _ options: String...) throws -> JobID {
    let result = try begin(["submit", try list(lines)] + options).wait()
    guard result.exitCode == 0, let job = result.lines.first.flatMap(JobID.init) else {
      throw ClusterError("submit failed: \(result.messages)")
    }
    return job
  }

  /// Waits for the end of a job.
  ///
  /// - Returns: what `imgctl wait --json` printed of it last.
  package func finished(
    _ job: JobID, within time: Duration = ProgramRun.patience
  ) throws -> ImageJob {
    let result = try begin(["wait", "\(job)", "--json"]).wait(atMost: time)
    guard result.status != nil else {
      throw ClusterError("job \(job) has not ended within \(time)")
    }
    guard let last = result.lines.last else { throw ClusterError(result.messages) }
    return try JSONDecoder().decode(ImageJob.self, from: Data(last.utf8))
  }

  /// Submits the lines as a job and waits for its end.
  package func run(_ lines: [String]) throws -> ImageJob {
    try finished(try submit(lines))
  }

  private func program(_ name: String) throws -> String {
    try executableDirectory.map { "\($0)/\(name)" } ?? Programs.path(of: name)
  }
}

/// A file system in memory of a size, for one program and those that it starts: mounted in a
/// namespace of theirs (user_namespaces(7)), it takes no privilege and goes when they have ended.
package struct SmallDisk {
  package let directory: String
  private let kibibytes: Int

  /// - Parameter directory: where it is mounted; there is one already.
  package init(directory: String, kibibytes: Int) {
    self.directory = directory
    self.kibibytes = kibibytes
  }

  /// Whether this machine allows it.
  package static func isAvailable() throws -> Bool {
    let mountPoint = TestDirectory()
    let command = SmallDisk(directory: mountPoint.path, kibibytes: 64).command(["/bin/true"])
    let outside = TestDirectory()
    let run = try ProgramRun(
      command[0], Array(command.dropFirst()), environment: ["PATH": "/usr/bin:/bin"], in: outside)
    return try run.wait().exitCode == 0
  }

  /// The command that runs another one where the file system is mounted; its process is the other's.
  package func command(_ command: [String]) -> [String] {
    let script = "mount -t tmpfs -o size=\(kibibytes)k,mode=700 tmpfs \"$0\" && exec \"$@\""
    return ["/usr/bin/unshare", "-Urm", "/bin/sh", "-c", script, directory] + command
  }

  /// The command that runs another one where a process sees the file system (nsenter(1)).
  package static func command(_ command: [String], besides processID: Int32) -> [String] {
    ["/usr/bin/nsenter", "-t", "\(processID)", "-U", "-m", "--preserve-credentials"] + command
  }

  /// Where this process finds a file of the mounted file system, by a process that sees it
  /// (proc(5), `root`).
  package func path(_ name: String, seenBy processID: Int32) -> String {
    "/proc/\(processID)/root\(directory)/\(name)"
  }
}
