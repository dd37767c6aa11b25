import CLinux
import Glibc

extension ChildProcess {
  /// Starts a program: posix_spawn(3), with no signal blocked and every signal's default action.
  ///
  /// The parent-death signal and the like are the child's own business. Standard input, output and
  /// error are inherited unless `descriptors` names them; no other descriptor of ours is.
  ///
  /// - Parameters:
  ///   - executable: a path; `PATH` is not searched.
  ///   - arguments: without the program's name, which is `executable`.
  ///   - environment: `nil` inherits ours.
  ///   - descriptors: which of our descriptors the child finds under which numbers.
  ///   - isDetached: makes it the leader of a session of its own, out of the terminal's reach.
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

/// What happens to descriptors between fork and exec.
@safe private struct FileActions: ~Copyable {
  var value = unsafe posix_spawn_file_actions_t()
  /// Copies of the parent's descriptors, closed when the child has started.
  private var copies: [CInt] = []

  init(_ descriptors: [(parent: CInt, child: CInt)]) throws(SystemError) {
    // Never below the standard streams: one of them may be closed in us, and its number is the
    // child's.
    let firstFree = max(descriptors.map(\.child).max() ?? 0, STDERR_FILENO) + 1
    try check("posix_spawn_file_actions_init", unsafe posix_spawn_file_actions_init(&value))
    for (parent, child) in descriptors {
      // A copy above all numbers of the child: no dup2 overwrites the source of a later one, and
      // none has equal numbers, which would leave close-on-exec set.
      let copy = try systemCall("fcntl F_DUPFD_CLOEXEC") {
        fcntl(parent, F_DUPFD_CLOEXEC, firstFree)
      }
      copies.append(copy)
      try check(
        "posix_spawn_file_actions_adddup2",
        unsafe posix_spawn_file_actions_adddup2(&value, copy, child))
    }
    // Ours are close-on-exec, but whoever started us may have left us some that are not.
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

/// The signal state and the session a child starts with.
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

/// Lends C a vector of strings that ends with a null pointer.
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
