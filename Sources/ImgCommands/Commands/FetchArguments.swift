import ImgModel
import ImgSettings

/// The options that control how imgctl requests pictures from origins, and how it names them.
enum FetchArguments {
  private static let cachePolicy = OptionDescription(
    "--cache-policy", "POLICY",
    help:
      "cache-else-load: use the store, else fetch. protocol: use the store while HTTP says fresh, "
      + "else ask the origin. reload: always fetch. cache-only: use only the store. "
      + "Default: cache-else-load.")
  private static let header = OptionDescription(
    "--header", "'NAME: VALUE'|@FILE",
    help:
      "Send this header, or those in a file (one a line), with each request. A redirect to another "
      + "origin does not get it. Other users can see the command line (ps), but not a file that "
      + "only you can read (chmod 600). With other headers, a URL counts as another picture. "
      + "Repeatable.",
    isRepeatable: true)
  private static let headerVariable = OptionDescription(
    "--header-env", "VARIABLE",
    help:
      "Send the headers in this environment variable, one a line. A coordinator that the command "
      + "starts does not get the variable. Repeatable.",
    isRepeatable: true)
  private static let cookies = OptionDescription(
    "--cookies", "FILE",
    help:
      "Send the cookies of this file to the domains and paths that they are for. It has Netscape's "
      + "format (cookies.txt), as curl, wget and yt-dlp read it. A URL with other cookies counts as "
      + "another picture.")
  private static let ignoreQuery = OptionDescription(
    "--ignore-query", "NAME",
    help: "Ignore this query parameter in the picture's name, such as a signature; * matches any "
      + "text, as in X-Amz-*. The URL is fetched unchanged. Repeatable.",
    isRepeatable: true)
  private static let cacheKey = OptionDescription(
    "--cache-key", "TEXT", help: "Name the picture by this text instead of its URL.")
  private static let respectOptOut = OptionDescription(
    "--respect-opt-out",
    help: "Skip pictures whose origin sends X-Robots-Tag: noai, noimageai, noindex or "
      + "noimageindex; they end as opted_out. The default for lists.")
  private static let noRespectOptOut = OptionDescription(
    "--no-respect-opt-out", help: "Ignore X-Robots-Tag. The default for get.")

  private static let respectRobots = OptionDescription(
    "--respect-robots",
    help:
      "Obey each origin's robots.txt, which is kept for a day. URLs that it disallows for imgctl "
      + "end as opted_out.")

  /// The options that select the part of a URL that names a picture.
  static let namingOptions = [ignoreQuery, cacheKey]
  /// The options that change a picture's name.
  static let nameOptions = [header, headerVariable, cookies] + namingOptions
  private static let politenessOptions = [respectOptOut, noRespectOptOut, respectRobots]
  /// The options of a list. Its lines cannot share one `--cache-key`.
  static let listOptions =
    [cachePolicy, header, headerVariable, cookies, ignoreQuery] + politenessOptions
  static let options = [cachePolicy] + nameOptions + politenessOptions

  /// - Parameters:
  ///   - arguments: the arguments of a command that lists ``options`` or some of them.
  ///   - respectsOptOut: the default if neither flag is given.
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
      cookies: try arguments.lists(cookies)
        ? arguments.value(of: cookies, CookieFile.cookies(path:)) ?? Cookies.none : Cookies.none,
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

  /// - Parameter lines: returns the header lines of one value of the option.
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

  /// Reads `Name: value`. Errors do not contain the value, which may be a secret.
  private static func field(_ text: String) throws(InvalidValue) -> HeaderField {
    let bytes = Array(text.utf8)
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else {
      throw InvalidValue("not a header; write 'Name: value'")
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
  /// Whether the command has the option, and the user gave it. The option takes no value.
  fileprivate func isGiven(_ option: OptionDescription) -> Bool {
    lists(option) && contains(option)
  }
}
