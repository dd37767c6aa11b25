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

  /// - Parameter advice: what to do instead of an option that the command does not have, by its flag.
  /// - Throws: ``UsageError`` for an unknown option, a missing or unexpected value, and too many or
  ///   too few operands.
  package init(
    _ arguments: [String], for description: CommandDescription,
    advice: @escaping @Sendable (String) -> String? = { _ in nil }
  ) throws(UsageError) {
    self.description = description
    let grammar = OptionGrammar(description.options + [.help]) { flag in
      advice(flag)
        ?? Spelling.nearest(to: flag, among: description.options.map(\.flag)).map {
          "did you mean \($0)?"
        } ?? "see \(description.name) --help"
    }
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
          + (description.surplusAdvice ?? description.synopsis))
    }
  }
}

/// The texts of a setting: those of its flag, else that of its environment variable. An empty variable counts
/// as not set.
package struct GivenTexts: Hashable, Sendable {
  /// The flag or the variable, for errors.
  package let source: String
  /// Exactly one unless the option is repeatable. Commas separate the values in the variable of a
  /// repeatable one.
  package let texts: [String]

  /// - Returns: `nil` if neither is given.
  package init?(
    of option: OptionDescription, in arguments: ArgumentReader, _ environment: [String: String]
  ) {
    if arguments.lists(option), let texts = arguments.texts(of: option) {
      source = option.flag
      self.texts = texts
      return
    }
    guard let variable = environment[option.environmentVariable], !variable.isEmpty else {
      return nil
    }
    source = option.environmentVariable
    texts = option.texts(ofVariable: variable)
  }

  /// Reads the value; that of an option without one is the empty text of its flag.
  package func value<Value>(
    _ parse: (String) throws(InvalidValue) -> Value
  ) throws(UsageError) -> Value {
    let values = try values(parse)
    guard let value = values.last else { throw UsageError("\(source): no value is given") }
    return value
  }

  /// Reads all values.
  package func values<Value>(
    _ parse: (String) throws(InvalidValue) -> Value
  ) throws(UsageError) -> [Value] {
    var values: [Value] = []
    for text in texts {
      do {
        values.append(try parse(text))
      } catch {
        throw UsageError(source, error)
      }
    }
    return values
  }
}

/// Reads the options of a command line and their values.
///
/// `--name value` and `--name=value` are equal, as are `-o value`, `-ovalue` and `-o=value`; but an
/// option with an ``OptionDescription/impliedValue`` has its value in the same argument.
/// Letters without a value may be combined (POSIX, Utility Syntax Guidelines 5 and 6). A separate
/// value must not begin with `--` or be an option, so that a missing value is noticed.
package struct OptionGrammar: Sendable {
  /// An option of a command line with its value.
  package struct Given: Sendable {
    package let option: OptionDescription
    /// Empty for an option without a value.
    package let value: String
  }

  private let options: [OptionDescription]
  private let advice: @Sendable (String) -> String?

  /// - Parameter advice: what to do instead of an unknown option, by its flag; `nil` for the name of one that is
  ///   spelt alike.
  package init(
    _ options: [OptionDescription],
    advice: @escaping @Sendable (String) -> String? = { _ in nil }
  ) {
    self.options = options
    self.advice = advice
  }

  /// Whether an argument is an option. `-` and negative numbers are not.
  package static func isOption(_ argument: String) -> Bool {
    argument.hasPrefix("-") && argument != "-" && Int(argument) == nil
  }

  /// Reads an argument that is an option or several letters.
  ///
  /// - Parameter rest: the arguments that follow. A separate value is removed from them.
  /// - Throws: ``UsageError`` for an unknown option and for a missing or unexpected value.
  package func read(
    _ argument: String, rest: inout ArraySlice<String>
  ) throws(UsageError) -> [Given] {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    if let option = option(named: name) {
      let attached = parts.count == 2 ? String(parts[1]) : nil
      return [try given(option, as: name, attached: attached, rest: &rest)]
    }
    guard !argument.hasPrefix("--") else { throw unknown(name) }
    return try readLetters(of: argument, rest: &rest)
  }

  private func readLetters(
    of argument: String, rest: inout ArraySlice<String>
  ) throws(UsageError) -> [Given] {
    var found: [Given] = []
    var letters = argument.dropFirst()
    while let letter = letters.popFirst() {
      let name = "-\(letter)"
      guard let option = option(named: name) else {
        throw unknown(found.isEmpty ? String(argument.prefix { $0 != "=" }) : name)
      }
      var attached: String?
      if letters.first == "=" || option.placeholder != nil && !letters.isEmpty {
        attached = String(letters.first == "=" ? letters.dropFirst() : letters)
        letters = ""
      }
      found.append(try given(option, as: name, attached: attached, rest: &rest))
    }
    return found
  }

  /// - Parameters:
  ///   - name: the given spelling, for errors.
  ///   - attached: a value in the same argument.
  private func given(
    _ option: OptionDescription, as name: String, attached: String?,
    rest: inout ArraySlice<String>
  ) throws(UsageError) -> Given {
    guard let placeholder = option.placeholder else {
      guard attached == nil else { throw UsageError("\(name) takes no value") }
      return Given(option: option, value: "")
    }
    if attached == nil, let word = rest.first, option.isMeant(by: word) {
      throw UsageError(
        "\(name) takes its value behind =: write \(name)=\(word), or ./\(word) for a file")
    }
    if let value = attached ?? option.impliedValue { return Given(option: option, value: value) }
    guard let next = rest.first, !next.hasPrefix("--"), self.option(named: next) == nil else {
      throw UsageError("\(name) needs a value: \(name) \(placeholder)")
    }
    rest.removeFirst()
    return Given(option: option, value: next)
  }

  private func option(named name: String) -> OptionDescription? {
    options.first { $0.flag == name || $0.shortFlag == name }
  }

  private func unknown(_ name: String) -> UsageError {
    let advice =
      advice(name).map { "; \($0)" } ?? Spelling.suggestion(for: name, among: options.map(\.flag))
    return UsageError("unknown option \(Spelling.quoted(name))\(advice)")
  }
}

/// A wrong command line or environment. It ends a program with the exit code for wrong use.
package struct UsageError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A sentence without a full stop that names the flag, variable or word at fault.
  package let description: String

  package init(_ description: String) {
    self.description = description
  }

  /// An invalid value.
  /// - Parameter source: the flag or environment variable.
  package init(_ source: String, _ value: InvalidValue) {
    self.init("\(source): \(value.reason)")
  }
}
