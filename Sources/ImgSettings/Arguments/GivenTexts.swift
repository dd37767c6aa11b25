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
    texts = option.isRepeatable ? variable.split(separator: ",").map(String.init) : [variable]
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
