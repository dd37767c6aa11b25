/// One option of a command: how it is written and what it does.
package struct OptionDescription: Hashable, Sendable {
  /// The long flag with its dashes, such as `--size`.
  package let flag: String
  /// A second spelling of one dash and one letter, such as `-o`.
  package let shortFlag: String?
  /// What stands for the value in the help; `nil` for an option that takes none.
  package let placeholder: String?
  package let help: String
  /// Whether each value counts when the option is given more than once, not the last alone.
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

  /// Programs have it, their commands do not.
  package static let version = OptionDescription(
    "--version", short: "-V", help: "Print the version.")

  /// Flag and placeholder as the help writes them.
  package var usage: String {
    [shortFlag.map { "\($0), \(flag)" } ?? flag, placeholder].compactMap(\.self)
      .joined(separator: " ")
  }
}
