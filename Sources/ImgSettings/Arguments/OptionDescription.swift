/// An option of a command: its spelling and its help.
package struct OptionDescription: Hashable, Sendable {
  /// The long flag with its dashes, such as `--size`.
  package let flag: String
  /// The short flag with one dash and one letter, such as `-o`.
  package let shortFlag: String?
  /// The placeholder for the value in the help; `nil` for an option without a value.
  package let placeholder: String?
  package let help: String
  /// The value of an option that is given without one. Such an option has its value in the same
  /// argument, as in `--crop=attention`; a separate argument is not its value.
  package let impliedValue: String?
  /// Words that are values of such an option. As a separate argument they are refused, because people
  /// write them so.
  package let attachedWords: [String]
  /// Whether numbers with commas between them, such as `0.5,0.5`, are such values, too.
  package let attachesNumbers: Bool
  /// Whether all values count if the option is repeated, instead of the last one.
  package let isRepeatable: Bool

  package init(
    _ flag: String, short shortFlag: String? = nil, _ placeholder: String? = nil,
    help: String, impliedValue: String? = nil, attachedWords: [String] = [],
    attachesNumbers: Bool = false, isRepeatable: Bool = false
  ) {
    self.flag = flag
    self.shortFlag = shortFlag
    self.placeholder = placeholder
    self.help = help
    self.impliedValue = impliedValue
    self.attachedWords = attachedWords
    self.attachesNumbers = attachesNumbers
    self.isRepeatable = isRepeatable
  }

  /// An option of every program and command. Descriptions do not list it.
  package static let help = OptionDescription("--help", short: "-h", help: "Show this help.")

  /// An option of programs, not of their commands.
  package static let version = OptionDescription(
    "--version", short: "-V", help: "Print the version.")

  /// The environment variable of a setting with this flag, such as `IMGCTL_DATA_DIR` for `--data-dir`.
  package var environmentVariable: String {
    "IMGCTL_" + flag.dropFirst(2).uppercased().split(separator: "-").joined(separator: "_")
  }

  /// Whether a separate argument was meant as the value of an option with an ``impliedValue``.
  func isMeant(by word: String) -> Bool {
    attachedWords.contains(word)
      || attachesNumbers && word.contains(",")
        && word.utf8.allSatisfy { "0123456789.,".utf8.contains($0) }
  }

  /// The flags and the placeholder in the help.
  package var usage: String {
    let flags = shortFlag.map { "\($0), \(flag)" } ?? flag
    guard let placeholder else { return flags }
    return impliedValue == nil ? "\(flags) \(placeholder)" : "\(flags)[=\(placeholder)]"
  }
}
