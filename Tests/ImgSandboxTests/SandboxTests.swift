import CLinux
import Glibc
import ImgSystem
import TestFiles
import TestPictures
import Testing

@testable import ImgSandbox

/// Attempts of processes that are locked as the programs of this package are.
///
/// Each attempt succeeds without a lock, so a refusal is the lock's.
@Suite(.timeLimit(.minutes(20))) struct AttemptTests {
  /// What the kernel of some machine may refuse to every process, or only to users other than root.
  private static let attemptsOfPrivilegedProcesses: Set<String> = [
    "create a BPF map", "create a user namespace", "create an io_uring", "mount a file system",
    "open a packet socket", "open a performance counter", "read /proc/1/environ",
    "create a named message queue", "read the parent's memory",
    "set the mode of a file, by fchmodat2", "set an extended attribute of a file",
    "trace the parent", "use a keyring",
  ]

  private static let attemptCount = 68

  @Test func `without a lock every attempt succeeds`() throws {
    let results = try AttemptResults.unlocked.get()
    #expect(results.count == Self.attemptCount)
    for (attempt, result) in results
    where !Self.attemptsOfPrivilegedProcesses.contains(attempt) {
      #expect(result == "allowed", "\(attempt)")
    }
  }

  @Test(.enabled(if: Kernel.hasBoth, "the kernel has no Landlock or no seccomp"))
  func `a decoder may create threads and look at open files, and nothing else`() throws {
    let results = try AttemptResults.decoder.get()
    #expect(results.count == Self.attemptCount)
    for (attempt, result) in results {
      #expect(
        (result == "allowed") == Self.attemptsOfDecoders.contains(attempt), "\(attempt): \(result)")
    }
  }

  private static let attemptsOfDecoders: Set = ["create a thread", "look at an open file"]

  /// What the kernel returns to a library that tries is no end of the process: libraries look for
  /// files and can do without.
  @Test(
    .enabled(if: Kernel.hasBoth, "the kernel has no Landlock or no seccomp"),
    arguments: [
      "read /etc/passwd", "read ~/.ssh/id_ed25519", "read the store", "create a file",
      "map executable memory", "make memory executable", "look at ~/.ssh/id_ed25519",
      "look at ~/.ssh/id_ed25519 as at an open file", "open the path ~/.ssh/id_ed25519",
      "learn whether ~/.ssh/id_ed25519 exists", "read a symbolic link",
    ])
  func `a decoder survives looking for files and executable memory`(attempt: String) throws {
    #expect(try AttemptResults.decoder.get()[attempt] == "refused (EACCES)")
  }

  @Test(.enabled(if: Kernel.hasBoth, "the kernel has no Landlock or no seccomp"))
  func `a worker is refused processes, foreign files, Unix sockets and code of its own`() throws {
    var allowed: Set = [
      "connect to a port of 127.0.0.1", "create a memory file", "create a socket pair",
      "create a thread", "learn whether ~/.ssh/id_ed25519 exists", "look at an open file",
      "look at ~/.ssh/id_ed25519", "look at ~/.ssh/id_ed25519 as at an open file",
      "look at ~/.ssh/id_ed25519 by statx", "map memory that grows",
      "map shared memory of no file", "open the path ~/.ssh/id_ed25519", "read /etc/passwd",
      "read a symbolic link", "read the store", "resolve a name",
      "send a datagram to 127.0.0.1", "set the flags of a socket", "shut down a socket",
      "write the store",
    ]
    if !Kernel.hasScopes { allowed.insert("bind a port") }
    let results = try AttemptResults.worker.get()
    #expect(results.count == Self.attemptCount)
    for (attempt, result) in results {
      #expect((result == "allowed") == allowed.contains(attempt), "\(attempt): \(result)")
      // A worker has transfers of others.
      #expect(!result.hasPrefix("killed"), "\(attempt)")
    }
  }

  @Test(.enabled(if: Kernel.hasBoth, "the kernel has no Landlock or no seccomp"))
  func `a gateway is refused more than a worker, except Unix sockets`() throws {
    var allowed: Set = [
      "connect to a Unix socket", "create a memory file", "create a socket pair",
      "create a thread", "learn whether ~/.ssh/id_ed25519 exists", "look at an open file",
      "look at ~/.ssh/id_ed25519", "look at ~/.ssh/id_ed25519 as at an open file",
      "look at ~/.ssh/id_ed25519 by statx", "map memory that grows",
      "map shared memory of no file", "open the path ~/.ssh/id_ed25519", "read a symbolic link",
      "read /proc/PARENT/stat", "read the store", "set the flags of a socket",
      "shut down a socket", "write the store",
    ]
    if !Kernel.hasScopes { allowed.insert("connect to an abstract socket") }
    let results = try AttemptResults.gateway.get()
    #expect(results.count == Self.attemptCount)
    for (attempt, result) in results {
      #expect((result == "allowed") == allowed.contains(attempt), "\(attempt): \(result)")
      #expect(!result.hasPrefix("killed"), "\(attempt)")
    }
  }

  /// An old Landlock refuses nothing that concerns other processes.
  @Test(
    .enabled(if: Kernel.hasFilters, "the kernel has no seccomp"),
    arguments: [
      "execute a program", "fork", "have a socket signal the parent",
      "have a socket signal the parent, by ioctl", "limit the parent",
      "queue a signal for the parent", "read the parent's memory", "set the parent's priority",
      "set the parent's processors", "signal a thread of the parent", "signal the parent",
      "empty a file by its name", "set the mode of a file", "set the owner of a file",
      "set the times of a file", "trace the parent",
    ])
  func
    `without Landlock neither worker nor decoder reaches other processes and attributes of files`(
      attempt: String
    ) throws
  {
    #expect(try AttemptResults.workerOfFilter.get()[attempt] == "refused (EPERM)")
    let decoder = try #require(AttemptResults.decoderOfFilter.get()[attempt])
    #expect(decoder.hasPrefix("refused") || decoder == "killed")
  }

  /// Most paths are Landlock's concern: no filter sees them.
  @Test(.enabled(if: Kernel.hasFilters, "the kernel has no seccomp"))
  func `without Landlock a decoder may read files, and no more than with it`() throws {
    let results = try AttemptResults.decoderOfFilter.get()
    #expect(results.count == Self.attemptCount)
    for (attempt, result) in results
    where !Self.attemptsOfDecoders.contains(attempt) && !attempt.hasPrefix("read /")
      && !["read ~/.ssh/id_ed25519", "read the headers of a job", "read the store"].contains(
        attempt)
    {
      #expect(result != "allowed", "\(attempt)")
    }
  }

  @Test(
    .enabled(if: Kernel.hasBoth, "the kernel has no Landlock or no seccomp"),
    arguments: [
      "create a file", "open /proc/self/mem for writing", "read the parent's memory",
      "remove a file", "trace the parent", "use a keyring", "mount a file system",
      "create an io_uring", "create a BPF map", "open a performance counter",
    ])
  func `a coordinator is refused what neither it nor its children need`(attempt: String) throws {
    let result = try #require(AttemptResults.coordinator.get()[attempt])
    #expect(result.hasPrefix("refused"))
  }

  @Test(
    .enabled(if: Kernel.hasBoth, "the kernel has no Landlock or no seccomp"),
    arguments: [
      "connect to a port of 127.0.0.1", "create a thread", "execute a program", "fork",
      "read the store", "resolve a name", "write the store",
    ])
  func `a coordinator keeps what its children need`(attempt: String) throws {
    #expect(try AttemptResults.coordinator.get()[attempt] == "allowed")
  }
}

/// The program `imgsandboxtest`, which locks itself as the programs of this package do.
enum SandboxTool {
  private static let patience = Duration.seconds(300)

  static var path: String {
    get throws { "\(try #require(ThisProcess.executableDirectory))/imgsandboxtest" }
  }

  /// The fields of the lines that it prints, which a tab divides.
  static func run(_ arguments: [String]) throws -> [String: String] {
    // Not a file: a locked decoder may write none.
    var sockets = try UnixSocket.pair()
    let output = sockets.takeFirst()
    let child = try spawn(path, arguments, output: sockets.takeSecond())
    var bytes: [UInt8] = []
    while try FileIO.read(output.rawValue, into: &bytes, upTo: 1 << 16) > 0 {}
    let status = child.waitForExit(until: .now + patience)
    #expect(status == .exited(0))
    let fields = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
      .map { $0.split(separator: "\t", maxSplits: 1).map(String.init) }
    return Dictionary(
      fields.filter { $0.count == 2 }.map { ($0[0], $0[1]) }, uniquingKeysWith: { $1 })
  }

  /// Closes this process's copy of `output`, so that the end of the child is its end.
  private static func spawn(
    _ program: String, _ arguments: [String], output: consuming OwnedDescriptor
  ) throws -> ChildProcess {
    try ChildProcess.spawn(
      executable: program, arguments: arguments, environment: [:],
      descriptors: [(parent: output.rawValue, child: 1)])
  }
}

/// What came of the attempts in each sandbox, each tried once for all tests.
enum AttemptResults {
  static let unlocked = attempts("none")
  static let decoder = attempts("decoder")
  static let worker = attempts("worker")
  static let gateway = attempts("gateway")
  static let coordinator = attempts("coordinator")
  /// Where the kernel has no Landlock.
  static let decoderOfFilter = attempts("decoder", on: ["without", "landlock"])
  static let workerOfFilter = attempts("worker", on: ["without", "landlock"])

  /// - Parameter kernel: arguments that take features from the kernel.
  private static func attempts(
    _ lock: String, on kernel: [String] = []
  ) -> Result<[String: String], any Error> {
    Result {
      let program = try kernel.isEmpty ? [] : [SandboxTool.path]
      return try SandboxTool.run(kernel + program + ["attempts", lock])
    }
  }
}

/// What the kernel of this machine can do.
enum Kernel {
  static let hasLandlock = LandlockRuleset.version != nil
  static let hasFilters = SystemCallFilter.isSupported
  static let hasBoth = hasLandlock && hasFilters
  /// Whether Landlock limits TCP and abstract sockets and signals, too.
  static let hasScopes = (LandlockRuleset.version ?? 0) >= 6
}

/// What a decoder may do is enough for every format.
@Suite(.timeLimit(.minutes(20))) struct LockedDecodeTests {
  @Test func `a locked process makes the same thumbnails as others`() throws {
    let directory = TestDirectoryOfPictures(TestDirectory())
    try directory.addCards()
    try directory.addDrawings()
    let unlocked = try SandboxTool.run(["decode", "none", "1"] + directory.paths)
    let locked = try SandboxTool.run(["decode", "decoder", "1"] + directory.paths)
    #expect(unlocked.count == directory.paths.count)
    for path in directory.paths {
      let thumbnail = try #require(unlocked[path])
      // The checksum of a thumbnail follows its format; a failure begins with its stage.
      #expect(thumbnail.hasPrefix("jpeg ") || thumbnail.hasPrefix("webp "), "\(path)")
      #expect(locked[path] == thumbnail, "\(path)")
    }
  }
}

/// Pictures of all formats, as files.
private final class TestDirectoryOfPictures {
  private let directory: TestDirectory
  private(set) var paths: [String] = []

  init(_ directory: TestDirectory) {
    self.directory = directory
  }

  func addCards() throws {
    let maker = try PictureMaker.start()
    for (index, format) in PictureFormat.allCases.enumerated() {
      for hasAlpha in [false, true] where !hasAlpha || format.hasAlpha {
        let picture = try maker.card(index: index, format: format, hasAlpha: hasAlpha)
        paths.append(try directory.write(picture, to: "\(format)-\(hasAlpha)"))
      }
    }
    let animation = try maker.animation(index: 0, frameCount: 3)
    paths.append(try directory.write(animation, to: "animation"))
  }

  /// Drawings with text, which needs fonts, and with another drawing inside, which GdkPixbuf loads.
  func addDrawings() throws {
    let text = ["serif", "sans-serif", "monospace"].enumerated().map { row, family in
      "<text x='4' y='\(24 * (row + 1))' font-family='\(family)' font-weight='bold'>Hamburg</text>"
    }
    try add(text.joined(), to: "text")
    // <svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>
    let inner =
      "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHdpZHRoPSI5IiBoZWlnaHQ9IjkiPjxyZWN0IHdp"
      + "ZHRoPSI5IiBoZWlnaHQ9IjkiLz48L3N2Zz4="
    try add(
      "<image width='90' height='90' href='data:image/svg+xml;base64,\(inner)'/>", to: "drawing")
  }

  private func add(_ content: String, to name: String) throws {
    let drawing =
      "<svg xmlns='http://www.w3.org/2000/svg' width='200' height='100'>\(content)</svg>"
    paths.append(try directory.write(Array(drawing.utf8), to: name))
  }
}

struct RulesTests {
  @Test func `an older Landlock is asked only for rights that it knows`() {
    let refer = FileRights(rawValue: UInt64(IMG_LANDLOCK_REFER))
    let truncate = FileRights(rawValue: UInt64(IMG_LANDLOCK_TRUNCATE))
    #expect(FileRights.all.known(to: 5) == .all)
    #expect(FileRights.all.known(to: 4) == FileRights.all.subtracting(.controlDevices))
    #expect(FileRights.all.known(to: 2) == FileRights.all.subtracting([.controlDevices, truncate]))
    #expect(
      FileRights.all.known(to: 1)
        == FileRights.all.subtracting([.controlDevices, truncate, refer]))
  }

  @Test func `a decoder is refused everything on paths but reading fonts`() {
    let access = SandboxProfile.decoder.access
    #expect(access.refusedRights == .all)
    #expect(access.refusesTCPBind && access.refusesTCPConnect)
    #expect(access.refusesAbstractSockets && access.refusesSignals)
    #expect(access.exceptions.allSatisfy { $0.rights == .read })
    #expect(access.exceptions.allSatisfy { $0.path.hasSuffix("/fonts") })
  }

  @Test func `a worker writes its data directory, and reads what the settings name`() {
    let access = SandboxProfile.worker(
      WorkerPlaces(
        dataDirectories: ["/data"], spoolDirectories: ["/spool"], allowedDirectories: ["/pictures"],
        authorityFile: "/home/ca.pem")
    ).access
    let rights = Dictionary(
      access.exceptions.map { ($0.path, $0.rights) }, uniquingKeysWith: { $0.union($1) })
    #expect(rights["/data"] == .readAndWrite)
    #expect(rights["/spool"] == .readAndWriteFiles)
    #expect(rights["/pictures"] == .read)
    #expect(rights["/home/ca.pem"] == .read)
    #expect(rights["/etc"] == .read)
    #expect(rights["/"] == nil && rights["/home"] == nil && rights["/tmp"] == nil)
  }

  @Test func `a decoder's calls of these names depend on their arguments`() {
    let rules = SandboxProfile.decoderCalls(processID: 42)
    #expect(rules.otherwise == .kill)
    for call in [
      "clone", "fcntl", "mmap", "mprotect", "openat", "prctl", "prlimit64", "tgkill",
    ] {
      let matching = rules.rules.filter { $0.call == call }
      #expect(!matching.isEmpty && matching.allSatisfy { !$0.conditions.isEmpty }, "\(call)")
    }
  }

  @Test(arguments: [
    "execve", "fork", "socket", "connect", "ptrace", "kill", "memfd_create", "shutdown",
  ])
  func `a decoder has no rule for what it never needs`(call: String) {
    #expect(!SandboxProfile.decoderCalls(processID: 42).rules.contains { $0.call == call })
  }

  @Test func `a condition compares the 32 bits of an int`() {
    let condition = SystemCallRules.Condition.equals(-1, argument: 0)
    #expect(condition.test == .bits(mask: 0xFFFF_FFFF, value: 0xFFFF_FFFF))
    let bits = SystemCallRules.Condition.hasNone(of: 6, in: 2)
    #expect(bits.argument == 2 && bits.test == .bits(mask: 6, value: 0))
  }

  @Test func `the address space has room for the shared memory and for libraries`() {
    let limits = ProcessLimits(privateByteCount: 1 << 30, sharedByteCount: 1 << 20)
    #expect(limits.privateByteCount == 1 << 30)
    #expect(limits.addressSpaceByteCount == (1 << 30) + (1 << 20) + (512 << 20))
  }

  @Test func `errors are sentences that say what is missing`() {
    #expect(
      SandboxError.missing(["Landlock"]).description
        == "the sandbox is required (--require-sandbox), and this kernel lacks Landlock")
  }
}

struct SandboxStartTests {
  @Test func `all descriptors but the kept ones are closed`() {
    #expect(SandboxStart.decoder(keeping: [0, 1, 2, 3]).closedRanges == [4...(.max)])
    #expect(SandboxStart.worker(keeping: [2, 0, 5]).closedRanges == [1...1, 3...4, 6...(.max)])
    #expect(SandboxStart.decoder(keeping: []).closedRanges == [0...(.max)])
  }

  @Test func `a coordinator closes none, because it has inherited sockets`() {
    #expect(SandboxStart.coordinator.closedRanges.isEmpty)
  }

  @Test func `a process that has threads cannot be locked`() {
    #expect(throws: SandboxError.hasThreads) { _ = try Sandbox(start: .coordinator) }
  }
}

struct WritablePlaceTests {
  @Test(arguments: [
    ("/srv/imgctl/store", "/srv/imgctl"), ("/srv/imgctl", "/srv"), ("/srv", "/srv"),
    ("/usr/../control.sock", "/usr/../control.sock"), ("/usr/../usr", "/usr/../usr"),
  ])
  func `a process writes beside what it replaces, and never below the root`(
    path: String, place: String
  ) {
    #expect(WritablePlace.around(path) == place)
  }

  @Test(arguments: ["/", "//", "/usr/..", "/."])
  func `there is no place around the root`(path: String) {
    #expect(WritablePlace.around(path) == nil)
  }
}

@Suite struct WritablePathsTests {
  private func paths(
    data: String = "/srv/data/imgctl", cache: String? = nil,
    socketPath: String = "/srv/imgctl/control.sock",
    home: String? = "/home/ada", runtime: String? = nil
  ) -> WritablePaths {
    WritablePaths(
      dataDirectory: data, cacheDirectory: cache ?? data, socketPath: socketPath,
      storePlace: "\(cache ?? data)/store", homeDirectory: home, runtimeDirectory: runtime)
  }

  @Test(arguments: [
    ("/var/lib/imgctl", "/var/lib"), ("/home/ada/.local/state/imgctl", "/home/ada/.local/state"),
  ])
  func `the data directory can be made again`(data: String, root: String) {
    #expect(paths(data: data).all == [root, "/srv", "/tmp"])
    #expect(paths(data: data).remarks == [])
  }

  @Test func `so can that of the cache`() {
    let paths = paths(data: "/var/lib/imgctl", cache: "/var/cache/imgctl")
    #expect(paths.all == ["/var/lib", "/var/cache", "/srv", "/tmp"])
  }

  @Test(arguments: ["/data", "/home/ada/data"])
  func `one in the root or in the home directory cannot, and the log says so`(data: String) {
    #expect(paths(data: data).all == [data, "/srv", "/tmp"])
    #expect(paths(data: data).remarks.first?.hasPrefix("do not remove \(data) while ") == true)
  }

  @Test(arguments: [
    ("/srv/imgctl/control.sock", "/srv"), ("/run/imgctl/control.sock", "/run"),
    ("/run/user/1000/imgctl/control.sock", "/run/user"),
  ])
  func `the directory of the socket can be made again`(socketPath: String, root: String) {
    #expect(paths(socketPath: socketPath).all == ["/srv/data", root, "/tmp"])
    #expect(paths(socketPath: socketPath).remarks == [])
  }

  @Test(arguments: [
    ("/srv/login/1000", ["/srv/login"]), ("/login", []), ("/srv/elsewhere", []), (nil, []),
  ])
  func `so can the directory of the login that has the socket`(runtime: String?, places: [String]) {
    let login = runtime == "/login" ? "/login" : "/srv/login/1000"
    let socketPath = "\(login)/imgctl/control.sock"
    #expect(paths(socketPath: socketPath, runtime: runtime).socketPaths == places)
  }

  @Test func `a store in a linked directory is written where it lies`() throws {
    let directory = TestDirectory()
    try Directory.create(directory.file("disk"))
    let disk = try Directory.resolve(directory.file("disk"))
    try Directory.create(directory.file("data"))
    try #require(unsafe symlink(disk, directory.file("data/store")) == 0)
    let paths = WritablePaths(
      dataDirectory: directory.file("data"), cacheDirectory: directory.file("data"),
      socketPath: "/srv/imgctl/control.sock",
      storePlace: directory.file("data/store"), homeDirectory: nil, runtimeDirectory: nil)
    #expect(paths.all == [directory.path, "/srv", "/tmp", disk])
  }

  @Test(arguments: [
    ("/imgctl/control.sock", "/imgctl"), ("/tmp/control.sock", "/tmp"),
    ("/control.sock", "/control.sock"),
  ])
  func `one in the root cannot, and the log says so`(socketPath: String, root: String) {
    #expect(paths(socketPath: socketPath).all == ["/srv/data", root, "/tmp"])
    #expect(
      paths(socketPath: socketPath).remarks.first?.hasPrefix("do not remove \(root) while ") == true
    )
  }
}
