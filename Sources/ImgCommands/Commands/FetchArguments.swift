import ImgModel
import ImgSettings

/// The options that say how origins are asked for pictures, and what their answers are known by.
enum FetchArguments {
  private static let cachePolicy = OptionDescription(
    "--cache-policy", "POLICY",
    help:
      "cache-else-load: what the store has, else the origin's; protocol: what the store has while "
      + "it is fresh by HTTP, else what the origin says; reload: the origin's; cache-only: what the "
      + "store has. Default: cache-else-load.")
  private static let header = OptionDescription(
    "--header", "'NAME: VALUE'|@FILE",
    help:
      "Send this header with each request, but to no other origin after a redirect; or those in "
      + "a file, one a line. Other users see the command line of a process (ps), but no file that "
      + "only you may read (chmod 600). A picture that was asked for with other headers is another "
      + "one. Repeatable.",
    isRepeatable: true)
  private static let headerVariable = OptionDescription(
    "--header-env", "VARIABLE",
    help:
      "Send the headers in this environment variable, written as in a file. The variable is not "
      + "passed on to a coordinator that the command starts. Repeatable.",
    isRepeatable: true)
  private static let ignoreQuery = OptionDescription(
    "--ignore-query", "NAME",
    help: "A parameter of the URL that changes nothing about the picture, such as a signature; in "
      + "the name, * stands for any text, as in X-Amz-*. The URL is fetched as it is. Repeatable.",
    isRepeatable: true)
  private static let cacheKey = OptionDescription(
    "--cache-key", "TEXT", help: "Know the picture by this in place of its URL.")
  private static let respectOptOut = OptionDescription(
    "--respect-opt-out",
    help: "Do not use a picture whose origin says noai, noimageai, noindex or noimageindex in an "
      + "X-Robots-Tag; it ends as opted_out. Lists do so by themselves.")
  private static let noRespectOptOut = OptionDescription(
    "--no-respect-opt-out", help: "Use such a picture all the same. A get does so by itself.")

  private static let respectRobots = OptionDescription(
    "--respect-robots",
    help:
      "Ask each origin's robots.txt first, which is remembered for a day, and do not fetch what "
      + "it closes to imgctl; that ends as opted_out.")

  /// Those that say what of a URL is a picture's name.
  static let namingOptions = [ignoreQuery, cacheKey]
  /// Those that are part of a picture's name.
  static let nameOptions = [header, headerVariable] + namingOptions
  private static let mannerOptions = [respectOptOut, noRespectOptOut, respectRobots]
  /// Of a list, whose lines cannot all have one key.
  static let listOptions =
    [cachePolicy, header, headerVariable, ignoreQuery] + mannerOptions
  static let options = [cachePolicy] + nameOptions + mannerOptions

  /// - Parameters:
  ///   - arguments: of a command that lists ``options`` or some of them.
  ///   - respectsOptOut: what holds where neither is asked for.
  static func fetchOptions(
    in arguments: ArgumentReader, respectsOptOut: Bool = false
  ) throws(UsageError) -> FetchOptions {
    let isOptOutRespected = arguments.isGiven(respectOptOut)
    let isOptOutIgnored = arguments.isGiven(noRespectOptOut)
    guard !(isOptOutRespected && isOptOutIgnored) else {
      throw UsageError("\(respectOptOut.flag) and \(noRespectOptOut.flag) exclude each other")
    }
    return FetchOptions(
      cachePolicy: try arguments.lists(cachePolicy)
        ? arguments.value(of: cachePolicy, CachePolicy.init(parsing:)) ?? .cacheElseLoad
        : .cacheElseLoad,
      headers: try headers(in: arguments),
      ignoredQuery: try arguments.lists(ignoreQuery) ? ignoredQuery(in: arguments) : .none,
      cacheKey: try arguments.lists(cacheKey)
        ? arguments.value(of: cacheKey) { (text) throws(InvalidValue) in
          try valid { () throws(InvalidFetchOption) in try CacheKey(text) }
        } : nil,
      respectsOptOut: isOptOutRespected || (respectsOptOut && !isOptOutIgnored),
      respectsRobots: arguments.isGiven(respectRobots))
  }

  private static func headers(in arguments: ArgumentReader) throws(UsageError) -> HeaderFields {
    guard arguments.lists(header) else { return .none }
    let fields =
      try fields(of: header, in: arguments, HeaderSource.lines(ofArgument:))
      + fields(of: headerVariable, in: arguments, HeaderSource.lines(ofVariable:))
    do throws(InvalidValue) {
      return try valid { () throws(InvalidFetchOption) in try HeaderFields(fields) }
    } catch {
      throw UsageError(header.flag, error)
    }
  }

  /// - Parameter lines: makes the lines with headers of a value of the option.
  private static func fields(
    of option: OptionDescription, in arguments: ArgumentReader,
    _ lines: (String) throws(InvalidValue) -> [String]
  ) throws(UsageError) -> [HeaderField] {
    do throws(InvalidValue) {
      var fields: [HeaderField] = []
      for value in arguments.texts(of: option) ?? [] {
        for line in try lines(value) { fields.append(try field(line)) }
      }
      return fields
    } catch {
      throw UsageError(option.flag, error)
    }
  }

  /// Reads `Name: value`. What is wrong is told without the value, which may be a secret.
  private static func field(_ text: String) throws(InvalidValue) -> HeaderField {
    let bytes = Array(text.utf8)
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else {
      throw InvalidValue("a header is written 'Name: value'")
    }
    let name = String(decoding: bytes[..<colon], as: UTF8.self)
    let value = String(decoding: bytes[(colon + 1)...], as: UTF8.self)
    return try valid { () throws(InvalidFetchOption) in
      try HeaderField(name: name, value: value)
    }
  }

  private static func ignoredQuery(in arguments: ArgumentReader) throws(UsageError) -> QueryFilter {
    do throws(InvalidValue) {
      let patterns = arguments.texts(of: ignoreQuery) ?? []
      return try valid { () throws(InvalidFetchOption) in try QueryFilter(patterns) }
    } catch {
      throw UsageError(ignoreQuery.flag, error)
    }
  }

  private static func valid<Value>(
    _ make: () throws(InvalidFetchOption) -> Value
  ) throws(InvalidValue) -> Value {
    do {
      return try make()
    } catch {
      throw InvalidValue(error.description)
    }
  }
}

extension ArgumentReader {
  /// Whether the command has the option, which takes no value, and it was given.
  fileprivate func isGiven(_ option: OptionDescription) -> Bool {
    lists(option) && contains(option)
  }
}
