import ImgModel
package import ImgSettings
import ImgSystem

/// Options that several commands have.
extension OptionDescription {
  static let json = OptionDescription(
    "--json", help: "Print JSON: one object, or one object a line.")

  /// Whether a command line contains `--json`, even if it is otherwise wrong: its error is JSON,
  /// too.
  package static func isJSONWanted(in arguments: [String]) -> Bool {
    arguments.prefix { $0 != "--" }.contains(json.flag)
  }

  /// An option of every command, see ``Command/grammar``. ``CommandContext/note(_:)`` obeys it.
  static let quiet = OptionDescription(
    "--quiet", short: "-q", help: "Print results and errors only: no progress, no notes.")

  /// An option of commands that fetch pictures.
  static let verbose = OptionDescription(
    "--verbose", short: "-v",
    help: "Also tell what became of each URL, what is waited for, and which file is replaced.")

  static let wait = OptionDescription(
    "--wait", help: "Show the progress, and return when the job has ended.")

  /// The places of the coordinator and its data, which are options of every command.
  static let places = ([Setting.socket] + Setting.directories).map(\.option)

  /// A note of commands that only read jobs.
  static let journalNote =
    "Starts no coordinator. If none runs, the command reads the journal, and waiting jobs stay as "
    + "they are."

  /// ``places`` for commands that start a coordinator if none answers.
  static let startingPlaces = places + [Setting.autostart.option]
}

/// Operands that several commands have.
extension OperandDescription {
  static let job = OperandDescription("JOB", help: "The number that submit printed.")
  static let jobs = OperandDescription("JOB", .many, help: "The numbers that submit printed.")
}

extension RequestOptions {
  static let timeoutOption = OptionDescription(
    "--timeout", "DURATION",
    help:
      "Give up on a URL after this long; it ends as timeout, and other requests for it go on. In a "
      + "list, the time of a URL begins with its fetch. Default: only the coordinator's limits.")

  /// The value of ``timeoutOption``; `nil` without it.
  ///
  /// - Parameter arguments: the arguments of a command that may list it.
  static func timeout(in arguments: ArgumentReader) throws(UsageError) -> Duration? {
    guard arguments.lists(timeoutOption) else { return nil }
    return try arguments.value(of: timeoutOption) { (text) throws(InvalidValue) in
      try Duration(parsing: text, in: timeoutRange)
    }
  }

  private static let rateOption = OptionDescription(
    "--rate-per-host", "RATE",
    help:
      "The maximum rate of transfer starts at one host for this job, such as 1/s or 30/m, after a "
      + "burst of one second's worth. The lower of this one and the coordinator's holds. Default: the "
      + "coordinator's.")
  private static let attemptsOption = OptionDescription(
    "--attempts", "N",
    help:
      "The maximum number of transfers of one URL, if they fail temporarily; at most the coordinator's "
      + "--attempts, which is the default. After a restart, a pause or a wait for room in the store the count begins "
      + "again from one.")

  /// The options that belong to a job beside the coordinator's of the same name.
  static let jobLimitOptions = [rateOption, attemptsOption]

  /// The value of `--rate-per-host`; 0 without it.
  ///
  /// - Parameter arguments: the arguments of a command that may list ``jobLimitOptions``.
  static func hostRatePerMinute(in arguments: ArgumentReader) throws(UsageError) -> Int {
    guard arguments.lists(rateOption) else { return 0 }
    return try arguments.value(of: rateOption, HostRate.perMinute(parsing:)) ?? 0
  }

  /// The value of `--attempts`; `nil` without it.
  ///
  /// - Parameter arguments: the arguments of a command that may list ``jobLimitOptions``.
  static func attempts(in arguments: ArgumentReader) throws(UsageError) -> Int? {
    guard arguments.lists(attemptsOption) else { return nil }
    return try arguments.value(of: attemptsOption) { (text) throws(InvalidValue) in
      let range = Int64(attemptRange.lowerBound)...Int64(attemptRange.upperBound)
      return Int(try UnitScale.count.value(parsing: text, in: range))
    }
  }

  static let priorityHelp = "From -2 (lowest) to 2 (highest)."

  /// Reads a priority, the only number with a sign.
  static func priority(parsing text: String) throws(InvalidValue) -> Int {
    guard let number = Int(text), priorityRange.contains(number) else {
      throw InvalidValue("\(Spelling.quoted(text)) is not from -2 to 2")
    }
    return number
  }
}

extension JobID {
  /// Reads a job's number.
  init(parsing text: String) throws(InvalidValue) {
    guard let job = JobID(text) else {
      let number = text.drop { !$0.isNumber }
      let advice =
        JobID(String(number)) == nil ? "see imgctl list" : "did you mean \(number)?"
      throw InvalidValue("\(Spelling.quoted(text)) is not a job number; \(advice)")
    }
    self = job
  }
}

extension ArgumentReader {
  /// The required operand ``OperandDescription/job``.
  func job() throws(UsageError) -> JobID {
    guard let job = try value(of: .job, JobID.init(parsing:)) else {
      preconditionFailure("the operand is required, so the reader has checked it")
    }
    return job
  }
}

extension ArgumentReader {
  /// The operands ``OperandDescription/jobs``.
  ///
  /// - Parameter operand: another one of jobs.
  func jobs(of operand: OperandDescription = .jobs) throws(UsageError) -> [JobID] {
    var jobs: [JobID] = []
    for text in texts(of: operand) {
      do {
        jobs.append(try JobID(parsing: text))
      } catch {
        throw UsageError(operand.name, error)
      }
    }
    return jobs
  }
}

extension ArgumentReader {
  /// The values of a repeatable option, of which one text may have several with commas between them.
  ///
  /// - Returns: none without the option.
  func values<Value>(
    of option: OptionDescription, _ parse: (String) throws(InvalidValue) -> Value
  ) throws(UsageError) -> [Value] {
    var values: [Value] = []
    for text in (texts(of: option) ?? [])
      .flatMap({ $0.split(separator: ",", omittingEmptySubsequences: false) })
    {
      do {
        values.append(try parse(String(text)))
      } catch {
        throw UsageError(option.flag, error)
      }
    }
    return values
  }
}

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
  private static let netrc = OptionDescription(
    "--netrc",
    help:
      "Send user name and password of ~/.netrc to the hosts that it names. A list takes all its "
      + "entries with it, because it is sent while it is read; \"default\" is ignored. With them, a URL "
      + "counts as another picture.")
  private static let netrcFile = OptionDescription(
    "--netrc-file", "FILE", help: "The same with another file in place of ~/.netrc.")
  private static let referer = OptionDescription(
    "--referer", "auto|URL",
    help: "Send this Referer with each request, or with auto the origin of the picture's own URL, "
      + "such as https://example.org/: many hosts refuse requests without one. With it, a URL counts "
      + "as another picture.")
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

  private static let contact = OptionDescription(
    "--contact", "MAIL|URL",
    help:
      "A mail address or URL in the User-Agent of the requests of this job, for questions from origins. "
      + "Default: the coordinator's.")

  /// The options that select the part of a URL that names a picture.
  static let namingOptions = [ignoreQuery, cacheKey]
  /// The options that change a picture's name.
  static let nameOptions = requestOptions + namingOptions
  /// The options of what is sent.
  private static let requestOptions = [header, headerVariable, cookies, referer, netrc, netrcFile]
  private static let politenessOptions = [respectOptOut, noRespectOptOut, respectRobots]
  /// The options of a list. Its lines cannot share one `--cache-key`.
  static let listOptions =
    [cachePolicy] + requestOptions + [ignoreQuery] + politenessOptions + [contact]
  static let options = [cachePolicy] + nameOptions + politenessOptions

  /// - Parameters:
  ///   - arguments: the arguments of a command that lists ``options`` or some of them.
  ///   - pictures: the URLs among the arguments, whose hosts alone get passwords; `nil` for a list.
  ///   - respectsOptOut: the default if neither flag is given.
  static func fetchOptions(
    in arguments: ArgumentReader, for pictures: [String]?, respectsOptOut: Bool = false
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
      headers: try headers(in: arguments, for: pictures),
      referer: arguments.lists(referer) && arguments.texts(of: referer)?.last == automatic
        ? .ownOrigin : .none,
      cookies: try arguments.lists(cookies)
        ? arguments.value(of: cookies, CookieFile.cookies(path:)) ?? Cookies.none : Cookies.none,
      ignoredQuery: try arguments.lists(ignoreQuery) ? ignoredQuery(in: arguments) : .none,
      cacheKey: try arguments.lists(cacheKey)
        ? arguments.value(of: cacheKey) { (text) throws(InvalidValue) in
          try rethrowing(try CacheKey(text), as: InvalidValue.init)
        } : nil,
      respectsOptOut: isOptOutRespected || (respectsOptOut && !isOptOutIgnored),
      respectsRobots: arguments.isGiven(respectRobots),
      contact: try arguments.lists(contact)
        ? arguments.value(of: contact, Contact.init(parsing:)) : nil)
  }

  /// An option of headers for every host that the user gave; `nil` if there is none.
  static func headerForEveryHost(in arguments: ArgumentReader) -> OptionDescription? {
    [header, headerVariable].first { arguments.contains($0) }
  }

  private static func headers(
    in arguments: ArgumentReader, for pictures: [String]?
  ) throws(UsageError) -> HeaderFields {
    guard arguments.lists(header) else { return .none }
    var fields =
      try fields(of: header, in: arguments, HeaderSource.lines(ofArgument:))
      + fields(of: headerVariable, in: arguments, HeaderSource.lines(ofVariable:))
    for (option, added) in [
      (referer, try refererFields(in: arguments)),
      (netrc, try netrcFields(in: arguments, for: pictures)),
    ] {
      if let name = added.first?.name, fields.contains(where: { $0.name == name }) {
        throw UsageError("\(option.flag) and the header \(name) exclude each other")
      }
      fields += added
    }
    return try rethrowing(try HeaderFields(fields)) { (error: InvalidFetchOption) in
      UsageError(header.flag, InvalidValue(error))
    }
  }

  /// The value of `--referer` for ``Referer/ownOrigin``.
  private static let automatic = "auto"

  private static func refererFields(
    in arguments: ArgumentReader
  ) throws(UsageError) -> [HeaderField] {
    let field = try arguments.value(of: referer) { (text) throws(InvalidValue) -> HeaderField? in
      guard text != automatic else { return nil }
      guard let url = try? ImageURL(parsing: text), !url.isLocal, !url.hasUser else {
        throw InvalidValue("not auto, and not an http or https URL without a password")
      }
      return try rethrowing(
        try HeaderField(name: "referer", value: url.text), as: InvalidValue.init)
    }
    return [field ?? nil].compactMap(\.self)
  }

  private static func netrcFields(
    in arguments: ArgumentReader, for pictures: [String]?
  ) throws(UsageError) -> [HeaderField] {
    let file = arguments.texts(of: netrcFile)?.last
    guard file != nil || arguments.contains(netrc) else { return [] }
    let option = file == nil ? netrc : netrcFile
    guard let path = file ?? Netrc.standardPath else {
      throw UsageError("\(netrc.flag): HOME is not set; use \(netrcFile.flag)")
    }
    let hosts = pictures.map { Set($0.compactMap { try? ImageURL(line: $0).host }) }
    do throws(InvalidValue) {
      let found = try Netrc(path: path)
      let fields = try rethrowing(try found.fields(for: hosts), as: InvalidValue.init)
      guard fields.count <= HeaderFields.maximumCount else {
        throw InvalidValue(
          "\(fields.count) hosts, but at most \(HeaderFields.maximumCount) can be sent; give a file "
            + "with those of the list by \(netrcFile.flag)")
      }
      return fields
    } catch {
      throw UsageError(option.flag, error)
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
    return try rethrowing(try HeaderField(name: name, value: value), as: InvalidValue.init)
  }

  private static func ignoredQuery(in arguments: ArgumentReader) throws(UsageError) -> QueryFilter {
    let patterns = arguments.texts(of: ignoreQuery) ?? []
    return try rethrowing(try QueryFilter(patterns)) { (error: InvalidFetchOption) in
      UsageError(ignoreQuery.flag, InvalidValue(error))
    }
  }
}

extension ArgumentReader {
  /// Whether the command has the option, and the user gave it. The option takes no value.
  fileprivate func isGiven(_ option: OptionDescription) -> Bool {
    lists(option) && contains(option)
  }
}

/// Reads the headers of a request from the command line, a file or an environment variable. Other
/// users can see the command line, but not the other two.
enum HeaderSource {
  /// More than all headers of a request may take together.
  private static let maximumByteCount = 8 * HeaderFields.maximumByteCount

  /// - Parameter argument: a header, or `@` and the path of a file.
  static func lines(ofArgument argument: String) throws(InvalidValue) -> [String] {
    guard argument.hasPrefix("@") else { return [argument] }
    let path = String(argument.dropFirst())
    return lines(of: try OptionFile.text(at: path, upTo: maximumByteCount))
  }

  /// Also removes the variable, so that child processes do not inherit it.
  static func lines(ofVariable name: String) throws(InvalidValue) -> [String] {
    guard let text = ThisProcess.takeVariable(name) else {
      throw InvalidValue("the variable \(Spelling.quoted(name)) is not set")
    }
    return lines(of: text)
  }

  private static func lines(of text: String) -> [String] {
    text.split(whereSeparator: \.isNewline).map(String.init)
  }
}

/// Whether a command that removes something asks the user at a terminal.
package enum Consent: Hashable, Sendable {
  case wanted
  case given

  static let option = OptionDescription(
    "--yes", short: "-y", help: "Do not ask. Without a terminal the command never asks.")

  init(_ arguments: ArgumentReader) {
    self = arguments.contains(Self.option) ? .given : .wanted
  }
}

extension CommandContext {
  /// Whether the user is asked before something is lost. Scripts are not, nor users who gave `--yes`.
  func asks(_ consent: Consent) -> Bool {
    consent == .wanted && Terminal.isTerminal(0) && Terminal.isTerminal(2)
  }

  /// Says that standard input is read, where a person has to type it.
  ///
  /// - Parameter subject: what is read.
  func noteTypedInput(_ path: String?, of subject: String = "URLs, one a line") {
    guard path == "-", Output.isInputTyped else { return }
    note("reading \(subject); end with Ctrl-D\n")
  }

  /// - Parameter loss: what is lost, a sentence without a full stop.
  /// - Throws: a ``UsageError`` unless the user agrees.
  func confirm(_ loss: String, for command: String) throws(UsageError) {
    try? messages.write("\(loss.printable); go on? [y/N] ")
    let answer = readLine()
    // Ctrl-D leaves the cursor behind the question.
    if answer == nil { try? messages.write("\n") }
    guard ["y", "yes"].contains(answer?.lowercased()) else {
      throw UsageError("\(command): nothing was removed")
    }
  }
}
