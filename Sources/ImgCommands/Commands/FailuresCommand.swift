import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl failures`: lists the URLs of a job that failed, with the reason, or counts them.
package struct FailuresCommand: Command {
  /// How the failures are written.
  package enum Format: Hashable, Sendable {
    /// Code, status, URL and reason between tabs; groups as a table.
    case plain
    case table(FailureTable.Separator)
    case json
  }

  package let job: JobID
  package let format: Format
  package let selection: FailureSelection
  /// What the failures are counted by; `nil` for a list.
  package let key: FailureGroups.Key?

  private static let csv = OptionDescription(
    "--csv", help: "Comma-separated values (RFC 4180) with a header, for spreadsheets.")
  private static let tsv = OptionDescription(
    "--tsv", help: "The same columns between tabs, with a header.")
  private static let by = OptionDescription(
    "--by", "code|host",
    help: "Count the failures of each code with the HTTP statuses, or of each host with the codes; "
      + "the most frequent first.")

  package static let description = CommandDescription(
    name: "imgctl failures",
    summary: "list the failed URLs of a job: code, status, URL, reason",
    operands: [.job],
    options: [by] + FailureSelection.options + [csv, tsv, .json] + OptionDescription.startingPlaces,
    notes: [
      "The columns of --csv and --tsv are \(FailureTable.columns.joined(separator: ", ")). index "
        + "counts the URLs of the job from 0, line the lines of its list from 1, with empty lines and "
        + "comments; list tells several lists apart, from 0.",
      "--by host tells at most \(FailureGroups.hostMaximum) hosts one by one, and counts the others "
        + "together. What has no host, such as a local file, counts as \"\(FailureGroups.noHost)\".",
      "A password in a URL is shown as ***, so do not submit such a line again. imgctl retry uses "
        + "the URLs as they were submitted.",
      OptionDescription.journalNote,
    ],
    examples: [
      .init("imgctl failures 7", "One line for each URL."),
      .init("imgctl failures 7 --by host --code timeout", "Which hosts are slow."),
      .init("imgctl failures 7 --csv", "A table with the numbers of the lines."),
      .init("imgctl failures 7 --json", "With the stage and a description."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    let given = [Self.csv, Self.tsv, .json].filter(arguments.contains)
    guard given.count < 2 else {
      throw UsageError("\(given[0].flag) and \(given[1].flag) exclude each other")
    }
    format =
      switch given.first?.flag {
      case Self.csv.flag: .table(.comma)
      case Self.tsv.flag: .table(.tab)
      case nil: .plain
      default: .json
      }
    selection = try FailureSelection(in: arguments)
    key = try arguments.value(of: Self.by, FailureGroups.Key.init(parsing:))
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let jobs = try context.jobs()
    let columns = try jobs.status(of: job).columns
    if let key {
      try write(try FailureGroups(by: key) { try forEachFailure(in: jobs, $0) }, in: context)
      return .success
    }
    if case .table(let separator) = format {
      try context.output.write(FailureTable.header(separator, and: columns))
    }
    var details = FailureDetails()
    try forEachFailure(in: jobs) { line, failure in
      details.add(line)
      try write(line, failure, columns, to: context.output)
    }
    let status = try jobs.status(of: job)
    // The advice is about all failures.
    if format != .json, status.hasEnded, selection.isEverything {
      let remedies = FailureReport(status, details, context.remedyTerms(for: status))
        .remedies(areFailuresListed: true)
      (jobs.isServed ? context : context.advisingOriginal())
        .note(remedies.map { $0 + "\n" }.joined())
    }
    return .success
  }

  private func forEachFailure(
    in jobs: JobSource, _ body: (LineResult, Failure) throws -> Void
  ) throws {
    try jobs.results(of: job, isFailedOnly: true) { line in
      guard case .failed(let failure, _) = line.outcome, selection.contains(line, failure) else {
        return
      }
      try body(line, failure)
    }
  }

  private func write(
    _ line: LineResult, _ failure: Failure, _ columns: [String], to output: Output
  ) throws {
    switch format {
    case .plain:
      let status = failure.httpStatus.map(String.init) ?? "-"
      let texts = [HumanText.listed(line.url), failure.sentence].map(HumanText.printable)
      let cells = [failure.code.rawValue, status] + texts
      try output.write(cells.joined(separator: "\t") + "\n")
    case .table(let separator):
      try output.write(FailureTable.row(of: line, failure, separator, and: columns))
    case .json:
      let picture = JSONObject.picture(
        RequestedURL(line.url), index: line.index, place: line.place, failure)
      try output.write(
        json: JSONObject(
          ["columns": ColumnValues(of: line.line, in: columns), "job": job], beside: picture))
    }
  }

  private func write(_ groups: FailureGroups, in context: CommandContext) throws {
    switch format {
    case .plain: try context.output.write(groups.rendered(within: Output.columnCount))
    case .table(let separator):
      for row in groups.table { try context.output.write(FailureTable.row(row, separator)) }
    case .json:
      for group in groups.sorted {
        try context.output.write(json: JSONObject(["job": job], beside: group))
      }
    }
  }
}

/// Which failures of a job are meant.
package struct FailureSelection: Hashable, Sendable {
  /// A kind that `--code` names.
  private enum Kind: Hashable {
    case code(Failure.Code)
    case httpStatus(Int)

    private static let statuses = 100...999

    init(parsing text: String) throws(InvalidValue) {
      if let status = Int(text), Self.statuses.contains(status) {
        self = .httpStatus(status)
      } else {
        let codes = Failure.Code.allCases.filter { !$0.meansNoCoordinator }
        self = .code(try Failure.Code(parsing: text, among: codes))
      }
    }
  }

  /// Empty for all.
  private let kinds: Set<Kind>
  private let hosts: Set<String>

  private static let code = OptionDescription(
    "--code", "CODE",
    help: "Only failures with this code, such as timeout, or with this HTTP status, such as 404. "
      + "Repeatable, or several with commas.",
    isRepeatable: true)
  private static let host = OptionDescription(
    "--host", "HOST",
    help: "Only URLs of this host, on any port. Subdomains are other hosts. Repeatable, or several "
      + "with commas.",
    isRepeatable: true)

  static let options = [code, host]

  init(in arguments: ArgumentReader) throws(UsageError) {
    kinds = Set(try arguments.values(of: Self.code, Kind.init(parsing:)))
    hosts = Set(try arguments.values(of: Self.host, HostText.host(parsing:)))
  }

  var isEverything: Bool { kinds.isEmpty && hosts.isEmpty }

  package func contains(_ line: LineResult, _ failure: Failure) -> Bool {
    let isKind =
      kinds.isEmpty || kinds.contains(.code(failure.code))
      || failure.httpStatus.map { kinds.contains(.httpStatus($0)) } ?? false
    return isKind && (hosts.isEmpty || line.host.map(hosts.contains) ?? false)
  }
}

/// The failures of a job, counted by their code or their host.
package struct FailureGroups: Sendable {
  package enum Key: String, CaseIterable, Sendable {
    case code, host
  }

  /// Failures with one code or of one host, or those of all hosts that are not told one by one.
  package struct Group: Sendable {
    /// A failure code, with the HTTP status if there is one.
    fileprivate struct Kind: Hashable {
      let code: Failure.Code
      let httpStatus: Int?
    }

    /// `nil` for a host.
    fileprivate var code: Failure.Code?
    /// `nil` for several, and for what has none.
    fileprivate var host: String?
    /// How many hosts the group stands for; `nil` for a single one.
    fileprivate var hostCount: Int?
    fileprivate var count = 0
    fileprivate var temporaryCount = 0
    fileprivate var kinds: [Kind: Int] = [:]
    /// That of the first.
    fileprivate var sentence = ""

    fileprivate mutating func add(_ failure: Failure) {
      if count == 0 { sentence = HumanText.printable(failure.sentence) }
      count += 1
      if failure.isRetryable { temporaryCount += 1 }
      kinds[Kind(code: failure.code, httpStatus: failure.httpStatus), default: 0] += 1
    }

    /// The code, or the host.
    fileprivate var name: String {
      if let code { return code.rawValue }
      return host ?? hostCount.map { HumanText.count($0, of: "other host") } ?? noHost
    }

    /// The most frequent first.
    fileprivate var sortedKinds: [(kind: Kind, count: Int)] {
      kinds.map { ($0.key, $0.value) }.sorted {
        ($1.count, $0.kind.code.rawValue, $0.kind.httpStatus ?? 0)
          < ($0.count, $1.kind.code.rawValue, $1.kind.httpStatus ?? 0)
      }
    }

    /// The HTTP statuses of a code, or the codes of a host, with their numbers, such as `404 (3), 503 (1)`.
    fileprivate var kindsText: String {
      sortedKinds.compactMap { kind, count in
        let texts = [code == nil ? kind.code.rawValue : nil, kind.httpStatus.map { "\($0)" }]
        let text = texts.compactMap(\.self).joined(separator: " ")
        return text.isEmpty ? nil : "\(text) (\(count))"
      }.joined(separator: ", ")
    }
  }

  package static let hostMaximum = 4_096
  package static let noHost = "(no host)"

  private let key: Key
  private var groups: [String: Group] = [:]
  private var others = Group()

  /// Counts failures in little memory.
  ///
  /// - Parameters:
  ///   - hostMaximum: so many hosts are told one by one.
  ///   - forEachFailure: calls its argument with each failure; twice if there are more hosts.
  package init(
    by key: Key, hostMaximum: Int = Self.hostMaximum,
    _ forEachFailure: ((LineResult, Failure) throws -> Void) throws -> Void
  ) rethrows {
    self.key = key
    switch key {
    case .code:
      try forEachFailure { _, failure in
        let code = failure.code
        groups[code.rawValue, default: Group(code: code)].add(failure)
      }
    case .host:
      let frequent = try countHosts(upTo: hostMaximum, forEachFailure)
      guard let frequent else { return }
      try forEachFailure { line, failure in
        if frequent.contains(Self.hash(of: line)) {
          add(line, failure)
        } else {
          others.add(failure)
        }
      }
    }
  }

  /// Counts hosts, one by one if there are few.
  ///
  /// - Returns: the hashes of those that are to be counted one by one; `nil` if that is done.
  private mutating func countHosts(
    upTo maximum: Int, _ forEachFailure: ((LineResult, Failure) throws -> Void) throws -> Void
  ) rethrows -> Set<Int>? {
    var hosts = FrequentHosts()
    try forEachFailure { line, failure in
      hosts.add(Self.hash(of: line))
      if hosts.count <= maximum { add(line, failure) }
    }
    guard hosts.count > maximum else { return nil }
    let frequent = hosts.mostFrequent(maximum)
    groups = [:]
    others.hostCount = hosts.count - frequent.count
    return frequent
  }

  private mutating func add(_ line: LineResult, _ failure: Failure) {
    groups[line.host ?? "", default: Group(host: line.host)].add(failure)
  }

  private static func hash(of line: LineResult) -> Int { (line.host ?? "").hashValue }

  /// The most frequent first, and those of all other hosts last.
  package var sorted: [Group] {
    groups.values.sorted { ($1.count, $0.name) < ($0.count, $1.name) }
      + (others.count > 0 ? [others] : [])
  }

  /// A table for people; empty without failures.
  ///
  /// - Parameter width: see ``Table/rendered(within:)``.
  package func rendered(within width: Int?) -> String {
    guard !groups.isEmpty else { return "" }
    let texts: [Table.Column] =
      switch key {
      case .code: [.text("code").whole, .text("details").wrapped]
      case .host: [.text("host"), .text("codes").wrapped]
      }
    var table = Table([.number("failed"), .number("retryable").ifItFits] + texts)
    for group in sorted {
      let kinds = group.kindsText
      table.addRow([
        "\(group.count)", "\(group.temporaryCount)", group.name,
        kinds.isEmpty ? group.sentence : kinds,
      ])
    }
    return table.rendered(within: width)
  }

  /// The rows of a table for spreadsheets, the first of which is the header.
  package var table: [[String]] {
    switch key {
    case .code:
      [["code", "count", "retryable", "http_statuses", "detail"]]
        + sorted.map {
          [$0.name, "\($0.count)", "\($0.temporaryCount)", $0.kindsText, $0.sentence]
        }
    case .host:
      [["host", "hosts", "count", "retryable", "codes"]]
        + sorted.map { group in
          let hosts = group.hostCount.map { "\($0)" } ?? ""
          return [
            group.host.map(HumanText.printable) ?? "", hosts, "\(group.count)",
            "\(group.temporaryCount)", group.kindsText,
          ]
        }
    }
  }
}

extension FailureGroups.Group: Encodable {
  package func encode(to encoder: any Encoder) throws {
    let kinds = sortedKinds.map { kind, count in
      JSONObject([
        "code": code == nil ? kind.code : nil, "http_status": kind.httpStatus, "count": count,
      ])
    }
    let statuses = zip(sortedKinds, kinds).filter { $0.0.kind.httpStatus != nil }.map(\.1)
    try JSONObject([
      "code": code, "host": host, "hosts": hostCount, "count": count, "retryable": temporaryCount,
      "detail": code == nil ? nil : sentence,
      "http_statuses": code == nil || statuses.isEmpty ? nil : statuses,
      "codes": code == nil ? kinds : nil,
    ]).encode(to: encoder)
  }
}

/// How often each of many hosts occurs, by their hashes: names would take more memory.
private struct FrequentHosts {
  private var counts: [Int: (count: Int, rank: Int)] = [:]

  var count: Int { counts.count }

  mutating func add(_ hash: Int) {
    let rank = counts.count
    counts[hash, default: (0, rank)].count += 1
  }

  /// Of equally frequent ones, those that came first.
  func mostFrequent(_ maximum: Int) -> Set<Int> {
    let sorted = counts.sorted { ($1.value.count, $0.value.rank) < ($0.value.count, $1.value.rank) }
    return Set(sorted.prefix(maximum).map(\.key))
  }
}

/// The failed lines of a job as rows of a table, for spreadsheets and scripts.
package enum FailureTable {
  package enum Separator: Hashable, Sendable {
    /// Quotes what needs quotes, and ends rows with CR LF (RFC 4180).
    case comma
    /// No text contains a tab, see ``HumanText/printable(_:)``.
    case tab
  }

  package static let columns = [
    "index", "line", "list", "code", "http_status", "retryable", "url", "detail",
  ]

  /// - Parameter columns: those of the job, behind the others.
  package static func header(_ separator: Separator, and columns: [String] = []) -> String {
    row(self.columns + columns.map(HumanText.printable), separator)
  }

  package static func row(
    of line: LineResult, _ failure: Failure, _ separator: Separator, and columns: [String] = []
  ) -> String {
    func text(_ number: Int?) -> String { number.map(String.init) ?? "" }
    // A field in quotes may have line breaks and tabs, and a tab would end one without quotes.
    let cells = (ColumnValues(of: line.line, in: columns)?.cells ?? [])
      .map { separator == .comma ? $0.withoutControls : HumanText.printable($0) }
    return row(
      [
        "\(line.index)", text(line.place?.line), text(line.place?.list), failure.code.rawValue,
        text(failure.httpStatus), "\(failure.isRetryable)",
        HumanText.printable(HumanText.listed(line.url)), HumanText.printable(failure.sentence),
      ] + cells, separator)
  }

  fileprivate static func row(_ cells: [String], _ separator: Separator) -> String {
    switch separator {
    case .comma: cells.map(quoted).joined(separator: ",") + "\r\n"
    case .tab: cells.joined(separator: "\t") + "\n"
    }
  }

  private static func quoted(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { [",", "\"", "\r", "\n"].contains($0) }) else {
      return text
    }
    return "\"" + text.replacing("\"", with: "\"\"") + "\""
  }
}

extension String {
  /// The same with U+FFFD in the place of each control character but line breaks and tabs, which a terminal might obey.
  fileprivate var withoutControls: String {
    String(
      String.UnicodeScalarView(
        unicodeScalars.map { scalar in
          let isObeyed =
            scalar.properties.generalCategory == .control && !["\n", "\r", "\t"].contains(scalar)
          return isObeyed ? "\u{FFFD}" : scalar
        }))
  }
}
