import CLinux
import CSeccomp
import Glibc
import ImgSystem

/// A system call filter (seccomp(2)) from rules, built by libseccomp. It also ends a process that makes
/// system calls of another architecture, such as 32-bit ones on a 64-bit machine.
@safe struct SystemCallFilter: ~Copyable {
  private let context: scmp_filter_ctx

  /// A filter with one action for all calls.
  private init(otherwise action: SystemCallRules.Action) throws(SystemError) {
    guard let context = unsafe seccomp_init(Self.action(action)) else {
      throw SystemError(operation: "seccomp_init", code: ENOMEM)
    }
    unsafe self.context = context
  }

  /// Puts the rules in force for all threads. There is no way back.
  static func enforce(_ rules: SystemCallRules) throws(SystemError) {
    if rules.rules.contains(where: { $0.action == .trap }) {
      _ = try systemCall("sigaction SIGSYS") { img_answer_trapped_calls() }
    }
    let filter = try SystemCallFilter(otherwise: rules.otherwise)
    try filter.set(SCMP_FLTATR_ACT_BADARCH, to: UInt32(SCMP_ACT_KILL_PROCESS))
    try filter.set(SCMP_FLTATR_CTL_TSYNC, to: 1)
    for rule in rules.rules { try filter.add(rule) }
    try check("seccomp_load", unsafe seccomp_load(filter.context))
  }

  deinit {
    unsafe seccomp_release(context)
  }

  /// Whether the kernel has filters that end a whole process.
  static var isSupported: Bool { seccomp_api_get() >= 3 }

  private func set(_ attribute: scmp_filter_attr, to value: UInt32) throws(SystemError) {
    try Self.check("seccomp_attr_set", unsafe seccomp_attr_set(context, attribute, value))
  }

  private func add(_ rule: SystemCallRules.Rule) throws(SystemError) {
    let number = try Self.number(of: rule.call)
    let conditions = rule.conditions.map(Self.comparison)
    let result = unsafe conditions.withUnsafeBufferPointer { conditions in
      unsafe seccomp_rule_add_array(
        context, Self.action(rule.action), number, UInt32(conditions.count),
        conditions.baseAddress)
    }
    try Self.check("seccomp_rule_add \(rule.call)", result)
  }

  private static func comparison(_ condition: SystemCallRules.Condition) -> scmp_arg_cmp {
    switch condition.test {
    case .bits(let mask, let value):
      scmp_arg_cmp(
        arg: condition.argument, op: SCMP_CMP_MASKED_EQ, datum_a: mask, datum_b: value)
    case .differs(let value):
      scmp_arg_cmp(arg: condition.argument, op: SCMP_CMP_NE, datum_a: value, datum_b: 0)
    }
  }

  private static func number(of call: String) throws(SystemError) -> CInt {
    let number = unsafe seccomp_syscall_resolve_name(call)
    guard number == unknownCall else { return number }
    guard let number = recentCalls[call] else {
      throw SystemError(operation: "seccomp_syscall_resolve_name \(call)", code: ENOSYS)
    }
    return number
  }

  /// __NR_SCMP_ERROR.
  private static let unknownCall: CInt = -1
  /// Calls that libseccomp 2.5 does not know. Since Linux 5.1, a new call has the same number on all
  /// architectures (<asm-generic/unistd.h>).
  private static let recentCalls: [String: CInt] = [
    "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466, "file_setattr": 469,
  ]

  private static func action(_ action: SystemCallRules.Action) -> UInt32 {
    switch action {
    case .allow: UInt32(SCMP_ACT_ALLOW)
    case .fail(let code): img_seccomp_fail_action(UInt16(code))
    case .trap: UInt32(SCMP_ACT_TRAP)
    case .kill: UInt32(SCMP_ACT_KILL_PROCESS)
    }
  }

  /// libseccomp returns negative errno values.
  private static func check(_ operation: String, _ result: CInt) throws(SystemError) {
    guard result >= 0 else { throw SystemError(operation: operation, code: -result) }
  }
}
