import ImgModel

/// The arguments of one command, sorted into options and operands by the command's description.
///
/// ``OptionGrammar`` describes how options are written. The last value of an option counts; a
/// repeatable option keeps all its values. `--` ends the options.
package struct ArgumentReader: Sendable {
  /// Whether the user asks for help. The arguments that follow are then not checked.
  package private(set) var isHelpRequested = false

  private let description: CommandDescription
  private var values: [String: [String]] = [:]
  private var operandTexts: [String] = []

  /// - Throws: ``UsageError`` for an unknown option, a missing or unexpected value, and too many or
  ///   too few operands.
  package init(_ arguments: [String], for description: CommandDescription) throws(UsageError) {
    self.description = description
    let grammar = OptionGrammar(description.options + [.help])
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        operandTexts += rest
        break
      }
      guard OptionGrammar.isOption(argument) else {
        operandTexts.append(argument)
        continue
      }
      for given in try grammar.read(argument, rest: &rest) {
        if given.option == .help {
          isHelpRequested = true
          return
        }
        let earlier = given.option.isRepeatable ? values[given.option.flag] ?? [] : []
        values[given.option.flag] = earlier + [given.value]
      }
    }
    try checkOperandCount()
  }

  /// What a program prints in place of its work, after `--help` or `--version`; `nil` without them.
  var printedText: String? {
    if isHelpRequested { return description.help }
    return contains(.version) ? "\(description.name) \(Build.version)\n" : nil
  }

  /// Whether the command has `option`.
  package func lists(_ option: OptionDescription) -> Bool {
    description.options.contains(option)
  }

  /// Whether `option` was given.
  package func contains(_ option: OptionDescription) -> Bool {
    texts(of: option) != nil
  }

  /// The values of `option` that count, in order; `nil` if it was not given.
  package func texts(of option: OptionDescription) -> [String]? {
    precondition(lists(option), "\(description.name) does not list \(option.flag)")
    return values[option.flag]
  }

  /// The arguments that give the same values of `options` to another program.
  package func arguments(of options: [OptionDescription]) -> [String] {
    options.flatMap { option in
      (values[option.flag] ?? []).map { value in
        option.placeholder == nil ? option.flag : "\(option.flag)=\(value)"
      }
    }
  }

  /// The value of an option, read by `parse`; `nil` if the option was not given.
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

  /// The text of a required operand.
  package func text(of operand: OperandDescription) -> String {
    guard let text = texts(of: operand).first else {
      preconditionFailure("the operand is required, so the reader has checked it")
    }
    return text
  }

  /// The value of an operand, read by `parse`; `nil` if an optional one is missing.
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

  /// All texts of an operand; at most one unless it is repeatable.
  package func texts(of operand: OperandDescription) -> ArraySlice<String> {
    guard let place = description.operands.firstIndex(of: operand) else {
      preconditionFailure("\(description.name) does not list \(operand.name)")
    }
    let texts = operandTexts.dropFirst(place)
    return operand.count.isUnbounded ? texts : texts.prefix(1)
  }

  private func checkOperandCount() throws(UsageError) {
    let operands = description.operands
    if operandTexts.count < operands.count, operands[operandTexts.count].count.isRequired {
      throw UsageError("\(operands[operandTexts.count].name) is missing: \(description.synopsis)")
    }
    if operandTexts.count > operands.count, operands.last?.count.isUnbounded != true {
      throw UsageError(
        "unexpected argument \(Spelling.quoted(operandTexts[operands.count])): "
          + description.synopsis)
    }
  }
}
