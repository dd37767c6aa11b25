/// One option of a command: how it is written and what it does.
package struct OptionDescription: Hashable, Sendable {
  /// The long flag with its dashes, such as `--size`.
  package let flag: String
  /// A second spelling of one dash and one letter, such as `-o`.
  package let shortFlag: String?
  /// What stands for the value in the help; `nil` for an option that takes none.
  package let placeholder: String?
  package let help: String
  /// Whether the option may be given more than once.
  package let isRepeatable: Bool

  package init(
    _ flag: String, short shortFlag: String? = nil, _ placeholder: String? = nil,
    help: String, isRepeatable: Bool = false
  ) {
    self.flag = flag
    self.shortFlag = shortFlag
    self.placeholder = placeholder
    self.help = help
    self.isRepeatable = isRepeatable
  }

  /// Every program and command has it; nobody lists it.
  package static let help = OptionDescription("--help", short: "-h", help: "Show this help.")

  /// Flag and placeholder as the help writes them.
  package var usage: String {
    [shortFlag.map { "\($0), \(flag)" } ?? flag, placeholder].compactMap(\.self)
      .joined(separator: " ")
  }
}
