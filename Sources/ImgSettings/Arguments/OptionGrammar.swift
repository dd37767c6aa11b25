/// Reads the options of a command line and their values.
///
/// `--name value` and `--name=value` are equal, as are `-o value`, `-ovalue` and `-o=value`; but an
/// option with an ``OptionDescription/impliedValue`` has its value in the same argument.
/// Letters without a value may be combined (POSIX, Utility Syntax Guidelines 5 and 6). A separate
/// value must not begin with `--`, so that a missing value is noticed.
package struct OptionGrammar: Sendable {
  /// An option of a command line with its value.
  package struct Given: Sendable {
    package let option: OptionDescription
    /// Empty for an option without a value.
    package let value: String
  }

  private let options: [OptionDescription]

  package init(_ options: [OptionDescription]) {
    self.options = options
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
    guard let next = rest.first, !next.hasPrefix("--") else {
      throw UsageError("\(name) needs a value: \(name) \(placeholder)")
    }
    rest.removeFirst()
    return Given(option: option, value: next)
  }

  private func option(named name: String) -> OptionDescription? {
    options.first { $0.flag == name || $0.shortFlag == name }
  }

  private func unknown(_ name: String) -> UsageError {
    UsageError(
      "unknown option \(Spelling.quoted(name))"
        + Spelling.suggestion(for: name, among: options.map(\.flag)))
  }
}
