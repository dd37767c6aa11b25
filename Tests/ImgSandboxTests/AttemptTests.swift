import Testing

/// Attempts of processes that are locked as the programs of this package are.
///
/// Each attempt succeeds without a lock, so a refusal is the lock's.
@Suite(.timeLimit(.minutes(20)))
struct AttemptTests {
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
