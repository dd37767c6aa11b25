import CSandboxAttempts
import CSeccomp
import Glibc
import ImgSystem

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
