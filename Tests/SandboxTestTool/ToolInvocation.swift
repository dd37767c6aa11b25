/// An error in the command line, as a sentence.
struct UsageError: Error, CustomStringConvertible {
  let description: String
}

/// The parsed command line.
enum ToolInvocation {
  case attempts(AttemptRun)
  /// A child process of `attempts`.
  case attempt(Attempt, Lock, Scene)
  case decode(DecodeRun)
  case lesserKernel(LesserKernel)

  static let usage = """
    usage: imgsandboxtest attempts LOCK
           imgsandboxtest decode LOCK COUNT FILE...
           imgsandboxtest without FEATURE[,FEATURE...] PROGRAM [ARGUMENT...]
      attempts  makes every attempt in a process that is locked like LOCK: none, decoder, worker,
                gateway or coordinator, and prints whether it was allowed
      decode    makes a thumbnail of each file COUNT times, unlocked (none) or in the sandbox of a
                decoder, and prints its checksum
      without   runs a program as on a kernel that lacks landlock, filters, namespaces or
                other-namespaces (all but those of users, networks and System V IPC)
    """

  init(_ arguments: [String]) throws(UsageError) {
    guard arguments.count > 1 else { throw Self.misuse }
    guard arguments[0] != "without" else {
      self = .lesserKernel(try Self.lesserKernel(arguments[1], Array(arguments.dropFirst(2))))
      return
    }
    guard let lock = Lock(rawValue: arguments[1]) else { throw Self.misuse }
    let rest = Array(arguments.dropFirst(2))
    switch arguments[0] {
    case "attempts":
      self = .attempts(AttemptRun(lock: lock))
    case "attempt":
      guard let name = rest.first, let attempt = Attempt(rawValue: name),
        let scene = Scene(arguments: Array(rest.dropFirst()))
      else { throw Self.misuse }
      self = .attempt(attempt, lock, scene)
    case "decode":
      guard let count = rest.first.flatMap({ Int($0) }), count > 0 else { throw Self.misuse }
      self = .decode(DecodeRun(lock: lock, count: count, paths: Array(rest.dropFirst())))
    default:
      throw Self.misuse
    }
  }

  private static func lesserKernel(
    _ features: String, _ command: [String]
  ) throws(UsageError) -> LesserKernel {
    let names = features.split(separator: ",").map(String.init)
    let missing = names.compactMap(LesserKernel.Feature.init)
    guard missing.count == names.count, !command.isEmpty else { throw misuse }
    return LesserKernel(missing: missing, command: command)
  }

  private static let misuse = UsageError(description: usage)
}
