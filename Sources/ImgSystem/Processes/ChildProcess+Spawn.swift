import CLinux
import Glibc

extension ChildProcess {
  /// Starts a program: posix_spawn(3), with no blocked signals and all default signal actions.
  ///
  /// The child itself sets a parent-death signal if it needs one. It inherits standard input,
  /// output and error unless `descriptors` contains them, and no other descriptors.
  ///
  /// - Parameters:
  ///   - executable: a path. `PATH` is not searched.
  ///   - arguments: without the program's name, which is `executable`.
  ///   - environment: `nil` to inherit this process's environment.
  ///   - descriptors: the descriptors to pass, with their numbers in the child.
  ///   - isDetached: whether the child leads a new session without a terminal.
  package static func spawn(
    executable: String, arguments: [String], environment: [String: String]?,
    descriptors: [(parent: CInt, child: CInt)], isDetached: Bool = false
  ) throws(SystemError) -> ChildProcess {
    let strings = [executable] + arguments + (environment ?? [:]).flatMap { [$0.key, $0.value] }
    guard !strings.contains(where: { $0.utf8.contains(0) }) else {
      throw SystemError(operation: "posix_spawn", code: EINVAL)
    }
    var actions = try FileActions(descriptors)
    var attributes = try SpawnAttributes(isDetached: isDetached)
    let variables = environment?.map { "\($0.key)=\($0.value)" }
    var processID: pid_t = 0
    let code = unsafe withCStrings([executable] + arguments) { argumentVector in
      unsafe withCStrings(variables ?? []) { environmentVector in
        unsafe posix_spawn(
          &processID, executable, &actions.value, &attributes.value, argumentVector,
          variables == nil ? img_environment() : environmentVector)
      }
    }
    guard code == 0 else { throw SystemError(operation: "posix_spawn \(executable)", code: code) }
    return try ChildProcess(adopting: processID)
  }
}

/// The changes to descriptors between fork and exec.
@safe private struct FileActions: ~Copyable {
  var value = unsafe posix_spawn_file_actions_t()
  /// Copies of the parent's descriptors, closed when the child has started.
  private var copies: [CInt] = []

  init(_ descriptors: [(parent: CInt, child: CInt)]) throws(SystemError) {
    // Above the standard streams, because one that is closed here is still a number of the child.
    let firstFree = max(descriptors.map(\.child).max() ?? 0, STDERR_FILENO) + 1
    try check("posix_spawn_file_actions_init", unsafe posix_spawn_file_actions_init(&value))
    for (parent, child) in descriptors {
      // Copy each descriptor above all numbers of the child. So no dup2 overwrites the source of a
      // later one, and none has two equal numbers, which would keep close-on-exec.
      let copy = try systemCall("fcntl F_DUPFD_CLOEXEC") {
        fcntl(parent, F_DUPFD_CLOEXEC, firstFree)
      }
      copies.append(copy)
      try check(
        "posix_spawn_file_actions_adddup2",
        unsafe posix_spawn_file_actions_adddup2(&value, copy, child))
    }
    // This process may have inherited descriptors that are not close-on-exec.
    try check(
      "posix_spawn_file_actions_addclosefrom_np",
      unsafe posix_spawn_file_actions_addclosefrom_np(&value, firstFree))
  }

  deinit {
    for copy in copies { close(copy) }
    var value = unsafe value
    unsafe posix_spawn_file_actions_destroy(&value)
  }
}

/// The signal state and the session of a child at its start.
@safe private struct SpawnAttributes: ~Copyable {
  var value = posix_spawnattr_t()

  init(isDetached: Bool) throws(SystemError) {
    try check("posix_spawnattr_init", unsafe posix_spawnattr_init(&value))
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    try check(
      "posix_spawnattr_setsigmask", unsafe posix_spawnattr_setsigmask(&value, &signals))
    unsafe sigfillset(&signals)
    try check(
      "posix_spawnattr_setsigdefault", unsafe posix_spawnattr_setsigdefault(&value, &signals))
    let session = isDetached ? CInt(IMG_POSIX_SPAWN_SETSID) : 0
    try check(
      "posix_spawnattr_setflags",
      unsafe posix_spawnattr_setflags(
        &value, CShort(CInt(POSIX_SPAWN_SETSIGMASK) | CInt(POSIX_SPAWN_SETSIGDEF) | session)))
  }

  deinit {
    var value = value
    unsafe posix_spawnattr_destroy(&value)
  }
}

/// Passes a null-terminated vector of strings to C.
func withCStrings<Result>(
  _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
  var pointers = unsafe strings.map { unsafe strdup($0) } + [nil]
  defer { unsafe pointers.forEach { unsafe free($0) } }
  return unsafe pointers.withUnsafeMutableBufferPointer { buffer in
    guard let base = buffer.baseAddress else { preconditionFailure("the vector is never empty") }
    return unsafe body(base)
  }
}
