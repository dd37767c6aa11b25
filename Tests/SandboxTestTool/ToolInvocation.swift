import CSandboxAttempts
import CSeccomp
import Glibc
import ImgDecode
import ImgModel
import ImgSandbox
import ImgSystem

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

/// Decodes files in one process, with or without the sandbox of a decoder.
struct DecodeRun {
  let lock: Lock
  /// How often each file is decoded.
  let count: Int
  let paths: [String]

  private static let maximumByteCount = 100 << 20

  /// Prints a line for each file, the path, a tab, and a checksum of the thumbnail or the failure.
  /// Notes on standard error how long the steps took.
  func run() throws {
    // The files and libvips before the lock, as in a decoder.
    let pictures = try paths.map {
      (path: $0, bytes: try FileIO.contents(of: $0, upTo: Self.maximumByteCount))
    }
    switch lock {
    case .decoder:
      let starting = ContinuousClock.now
      let sandbox = try Sandbox(start: .decoder(keeping: Lock.streams))
      try Self.note("started in \(Self.milliseconds(since: starting)) ms")
      try sandbox.limit(to: ProcessLimits(privateByteCount: 8 << 30, sharedByteCount: 0))
      let runtime = try VipsRuntime.start()
      let locking = ContinuousClock.now
      let report = try sandbox.lock(.decoder, isRequired: false)
      try Self.note("\(report)\nlocked in \(Self.milliseconds(since: locking)) ms")
      try decode(pictures, runtime: runtime)
    case .none:
      try decode(pictures, runtime: try VipsRuntime.start())
    case .worker, .gateway, .coordinator:
      throw UsageError(description: "only a decoder decodes")
    }
  }

  private func decode(_ pictures: [(path: String, bytes: [UInt8])], runtime: VipsRuntime) throws {
    let thumbnailer = Thumbnailer(runtime: runtime, limits: Limits())
    let began = ContinuousClock.now
    for round in 1...count {
      for (path, bytes) in pictures {
        let result = outcome(of: bytes, thumbnailer)
        if round == 1 { try FileIO.writeAll(STDOUT_FILENO, "\(path)\t\(result)\n") }
      }
    }
    try Self.note("decoded in \(Self.milliseconds(since: began)) ms")
  }

  private static func milliseconds(since start: ContinuousClock.Instant) -> Double {
    (.now - start) / .milliseconds(1)
  }

  private static func note(_ text: String) throws(SystemError) {
    try FileIO.writeAll(STDERR_FILENO, text + "\n")
  }

  private func outcome(of bytes: [UInt8], _ thumbnailer: Thumbnailer) -> String {
    do throws(Failure) {
      let thumbnail = try thumbnailer.thumbnails(of: bytes.span, as: [.standard]).thumbnails[0]
      return "\(thumbnail.thumbnail.format) \(Self.checksum(of: thumbnail.bytes))"
    } catch {
      return "\(error)"
    }
  }

  /// FNV-1a, for comparisons.
  private static func checksum(of bytes: [UInt8]) -> UInt64 {
    bytes.reduce(14_695_981_039_346_656_037) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
  }
}

/// A program on a kernel that seems to lack features: their system calls fail, for the program and for
/// all that it starts, as they would there.
@safe struct LesserKernel {
  enum Feature: String {
    /// As on a kernel that was built without it.
    case landlock
    /// As on a kernel that was built without it.
    case filters
    /// As where users may create no namespaces.
    case namespaces
    /// As in the service, which allows namespaces of users, networks and System V IPC.
    case otherNamespaces = "other-namespaces"
  }

  let missing: [Feature]
  let command: [String]

  /// Becomes the program.
  func run() throws(SystemError) -> Never {
    guard let filter = unsafe seccomp_init(UInt32(SCMP_ACT_ALLOW)) else {
      throw SystemError(operation: "seccomp_init", code: ENOMEM)
    }
    for feature in missing { try unsafe refuse(feature, by: filter) }
    try Self.check("seccomp_load", unsafe seccomp_load(filter))
    var arguments: [UnsafeMutablePointer<CChar>?] = unsafe command.map { unsafe strdup($0) } + [nil]
    unsafe execv(command[0], &arguments)
    throw SystemError.last("execv \(command[0])")
  }

  private func refuse(_ feature: Feature, by filter: scmp_filter_ctx) throws(SystemError) {
    switch feature {
    case .landlock:
      for call in ["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"] {
        try unsafe refuse(call, ENOSYS, by: filter)
      }
    case .filters:
      try unsafe refuse("seccomp", ENOSYS, by: filter)
      for option in [PR_GET_SECCOMP, PR_SET_SECCOMP] {
        try unsafe refuse("prctl", EINVAL, where: (.max, UInt64(option)), by: filter)
      }
    case .namespaces: try unsafe refuse("unshare", EPERM, by: filter)
    case .otherNamespaces:
      for kind in [CLONE_NEWCGROUP, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUTS] {
        try unsafe refuse("unshare", EPERM, where: (UInt64(kind), UInt64(kind)), by: filter)
      }
    }
  }

  /// - Parameter bits: a mask of bits of the first argument, and the value that they have in the calls
  ///   that fail; `nil` for all calls.
  private func refuse(
    _ call: String, _ code: CInt, where bits: (mask: UInt64, value: UInt64)? = nil,
    by filter: scmp_filter_ctx
  ) throws(SystemError) {
    let conditions = [bits].compactMap(\.self).map {
      scmp_arg_cmp(arg: 0, op: SCMP_CMP_MASKED_EQ, datum_a: $0.mask, datum_b: $0.value)
    }
    let number = unsafe seccomp_syscall_resolve_name(call)
    let result = unsafe conditions.withUnsafeBufferPointer { conditions in
      unsafe seccomp_rule_add_array(
        filter, img_seccomp_fail_action(UInt16(code)), number, UInt32(conditions.count),
        conditions.baseAddress)
    }
    try Self.check("seccomp_rule_add \(call)", result)
  }

  private static func check(_ operation: String, _ result: CInt) throws(SystemError) {
    guard result >= 0 else { throw SystemError(operation: operation, code: -result) }
  }
}
