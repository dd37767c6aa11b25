/// Which system calls a process may make: a description, which ``SystemCallFilter`` puts in force.
package struct SystemCallRules: Hashable, Sendable {
  /// What the kernel does with a system call.
  package enum Action: Hashable, Sendable {
    case allow
    /// The call does nothing and returns this errno value; with 0, it claims to have succeeded.
    case fail(CInt)
    /// The call does nothing, and a handler of SIGSYS answers in its place, see `img_answer_trapped_calls`.
    case trap
    /// The kernel ends the process with SIGSYS.
    case kill
  }

  /// A condition on an argument, of which the kernel compares all 64 bits. The upper 32 bits of an
  /// `int` are undefined.
  package struct Condition: Hashable, Sendable {
    package enum Test: Hashable, Sendable {
      /// The bits of `mask` have this value. The mask of an `int` leaves out the upper 32.
      case bits(mask: UInt64, value: UInt64)
      /// At least one of the 64 bits is another one.
      case differs(from: UInt64)
    }

    package let argument: UInt32
    package let test: Test
  }

  /// The action for a system call whose arguments meet all conditions.
  package struct Rule: Hashable, Sendable {
    /// The name in the manual, such as `openat`.
    package let call: String
    package let action: Action
    package let conditions: [Condition]
  }

  /// The action for calls that no rule matches.
  package let otherwise: Action
  package private(set) var rules: [Rule] = []

  init(otherwise: Action) {
    self.otherwise = otherwise
  }

  mutating func add(_ action: Action, _ call: String, where conditions: Condition...) {
    rules.append(Rule(call: call, action: action, conditions: conditions))
  }

  mutating func add(_ action: Action, _ calls: [String]) {
    for call in calls { add(action, call) }
  }
}

extension SystemCallRules.Condition {
  /// All of these bits are set.
  static func has(_ bits: CInt, in argument: UInt32) -> Self {
    bitsOf(bits, are: bits, in: argument)
  }

  /// None of these bits is set.
  static func hasNone(of bits: CInt, in argument: UInt32) -> Self {
    bitsOf(bits, are: 0, in: argument)
  }

  static func bitsOf(_ mask: CInt, are value: CInt, in argument: UInt32) -> Self {
    Self(
      argument: argument,
      test: .bits(
        mask: UInt64(UInt32(bitPattern: mask)), value: UInt64(UInt32(bitPattern: value))))
  }

  /// The argument, an `int`, has this value.
  static func equals(_ value: CInt, argument: UInt32) -> Self {
    bitsOf(-1, are: value, in: argument)
  }

  /// The argument, an `int`, has another value. Also met by this value with upper bits set, which no
  /// C library sets: for a refusal that errs on the safe side.
  static func differs(from value: CInt, argument: UInt32) -> Self {
    Self(argument: argument, test: .differs(from: UInt64(UInt32(bitPattern: value))))
  }

  /// The argument is a null pointer.
  static func isNull(argument: UInt32) -> Self {
    Self(argument: argument, test: .bits(mask: .max, value: 0))
  }
}
