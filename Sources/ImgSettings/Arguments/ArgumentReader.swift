/// The arguments of one command, sorted into options and operands by the command's description.
///
/// `--name value` and `--name=value` are the same. `--` ends the options; `-` and a negative number
/// are operands. A value that begins with `--` is written with `=`, so that a forgotten value is
/// noticed.
package struct ArgumentReader: Sendable {
  /// Whether the person asks for the help; nothing else was checked then.
  package private(set) var isHelpRequested = false

  private let description: CommandDescription
  private var values: [String: [String]] = [:]
  private var operandTexts: [String] = []

  /// - Throws: ``UsageError`` for an option the command does not have, a value that is missing or
  ///   not taken, an option given twice that is not repeatable, and operands too many or too few.
  package init(_ arguments: [String], for description: CommandDescription) throws(UsageError) {
    self.description = description
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        operandTexts += rest
        break
      }
      guard argument.hasPrefix("-"), argument != "-", Int(argument) == nil else {
        operandTexts.append(argument)
        continue
      }
      if [OptionDescription.help.flag, OptionDescription.help.shortFlag].contains(argument) {
        isHelpRequested = true
        return
      }
      try readOption(argument, rest: &rest)
    }
    try checkOperandCount()
  }

  /// Whether the command has `option` at all.
  package func lists(_ option: OptionDescription) -> Bool {
    description.options.contains(option)
  }

  /// Whether an option that takes no value was given.
  package func contains(_ option: OptionDescription) -> Bool {
    texts(of: option) != nil
  }

  /// Every value given for `option`, in order; `nil` when it was not given.
  package func texts(of option: OptionDescription) -> [String]? {
    precondition(lists(option), "\(description.name) does not list \(option.flag)")
    return values[option.flag]
  }

  /// The value of an option, read by `parse`; `nil` when the option was not given.
  package func value<Value>(
    of option: OptionDescription, _ parse: (String) throws(InvalidValue) -> Value
  ) throws(UsageError) -> Value? {
    guard let text = texts(of: option)?.last else { return nil }
    do {
      return try parse(text)
    } catch {
      throw UsageError(option.flag, error)
    }
  }

  /// The text at the place of an operand that every command line has.
  package func text(of operand: OperandDescription) -> String {
    guard let text = texts(of: operand).first else {
      preconditionFailure("only an operand that must be given is read so")
    }
    return text
  }

  /// The value of an operand, read by `parse`; `nil` for an optional one that was left out.
  package func value<Value>(
    of operand: OperandDescription, _ parse: (String) throws(InvalidValue) -> Value
  ) throws(UsageError) -> Value? {
    guard let text = texts(of: operand).first else { return nil }
    do {
      return try parse(text)
    } catch {
      throw UsageError(operand.name, error)
    }
  }

  /// All texts at the place of an operand: at most one unless it may stand several times.
  package func texts(of operand: OperandDescription) -> ArraySlice<String> {
    guard let place = description.operands.firstIndex(of: operand) else {
      preconditionFailure("\(description.name) does not list \(operand.name)")
    }
    let texts = operandTexts.dropFirst(place)
    return operand.count.isUnbounded ? texts : texts.prefix(1)
  }

  private mutating func readOption(
    _ argument: String, rest: inout ArraySlice<String>
  ) throws(UsageError) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let option = description.options.first(where: { $0.flag == name || $0.shortFlag == name })
    else {
      let flags = (description.options + [.help]).map(\.flag)
      throw UsageError(
        "there is no option \(Spelling.quoted(name))"
          + Spelling.suggestion(for: name, among: flags))
    }
    let value: String
    if let placeholder = option.placeholder {
      if parts.count == 2 {
        value = String(parts[1])
      } else if let next = rest.first, !next.hasPrefix("--") {
        value = next
        rest.removeFirst()
      } else {
        throw UsageError("\(name) needs a value: \(name) \(placeholder)")
      }
    } else {
      guard parts.count == 1 else { throw UsageError("\(name) takes no value") }
      value = ""
    }
    guard option.isRepeatable || values[option.flag] == nil else {
      throw UsageError("\(option.flag) is given twice")
    }
    values[option.flag, default: []].append(value)
  }

  private func checkOperandCount() throws(UsageError) {
    let operands = description.operands
    if operandTexts.count < operands.count, operands[operandTexts.count].count.isRequired {
      throw UsageError("\(operands[operandTexts.count].name) is missing: \(description.synopsis)")
    }
    if operandTexts.count > operands.count, operands.last?.count.isUnbounded != true {
      throw UsageError(
        "\(Spelling.quoted(operandTexts[operands.count])) is one word too many: "
          + description.synopsis)
    }
  }
}
