package import ImgModel

/// Formats quantities and names for people: rounded, with a unit.
package enum HumanText {
  /// Breaks a text at spaces, and longer words anywhere, into lines of at most so many characters.
  static func lines(of text: String, within width: Int) -> [String] {
    var lines: [String] = []
    for word in text.split(separator: " ", omittingEmptySubsequences: false) {
      if let last = lines.last, last.count + 1 + word.count <= width {
        lines[lines.count - 1] = "\(last) \(word)"
        continue
      }
      var rest = word
      repeat {
        lines.append(String(rest.prefix(width)))
        rest = rest.dropFirst(width)
      } while !rest.isEmpty
    }
    return lines
  }

  /// Bytes in binary units, such as `1.4 MiB`.
  package static func size(_ byteCount: Int64) -> String {
    scaled(Double(byteCount), by: 1_024, units: ["B", "KiB", "MiB", "GiB", "TiB"])
  }

  /// A data rate in decimal units, as usual for networks, such as `1.3 MB/s`.
  package static func rate(bytesPerSecond: Double) -> String {
    scaled(bytesPerSecond, by: 1_000, units: ["B", "kB", "MB", "GB", "TB"]) + "/s"
  }

  /// A number with one decimal; none from 100 on, where it adds nothing.
  package static func number(_ value: Double) -> String {
    // Larger values have no exact tenths, and soon overflow Int.
    guard value.isFinite, abs(value) < 1e15 else { return "-" }
    let tenths = Int((abs(value) * 10).rounded())
    let sign = value < 0 && tenths > 0 ? "-" : ""
    if tenths >= 1_000 { return sign + String(Int(abs(value).rounded())) }
    return "\(sign)\(tenths / 10).\(tenths % 10)"
  }

  /// A count with a regular noun, such as `1 job` or `2 jobs`.
  package static func count(_ count: Int, of noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }

  /// A duration in its two largest units, such as `3m 12s` or `2d 4h`.
  package static func duration(_ duration: Duration) -> String {
    let milliseconds = duration.milliseconds
    if milliseconds < 1_000 { return "\(max(milliseconds, 0))ms" }
    let seconds = milliseconds / 1_000
    let parts = [
      (seconds / 86_400, "d"), (seconds / 3_600 % 24, "h"), (seconds / 60 % 60, "m"),
      (seconds % 60, "s"),
    ]
    return parts.drop { $0.0 == 0 }.prefix(2).filter { $0.0 > 0 }.map { "\($0)\($1)" }
      .joined(separator: " ")
  }

  /// A duration to the millisecond, such as `40ms`, `3.96s` or `1m 3.5s`.
  package static func exactDuration(milliseconds: Int) -> String {
    guard milliseconds >= 1_000 else { return "\(max(milliseconds, 0))ms" }
    let (minutes, rest) = milliseconds.quotientAndRemainder(dividingBy: 60_000)
    var parts = [(minutes / 60, "h"), (minutes % 60, "m")].filter { $0.0 > 0 }
      .map { "\($0)\($1)" }
    if rest > 0 { parts.append("\(Thousandths(count: rest))s") }
    return parts.joined(separator: " ")
  }

  /// The age of `moment`, such as `3m 12s ago`.
  package static func age(of moment: WallTime, at now: WallTime) -> String {
    duration(moment.duration(to: now)) + " ago"
  }

  /// A duration like on a stopwatch, such as `0:11` or `1:02:03`.
  package static func stopwatch(seconds: Int64) -> String {
    func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60)
    let end = twoDigits(seconds % 60)
    return hours > 0 ? "\(hours):\(twoDigits(minutes)):\(end)" : "\(minutes):\(end)"
  }

  /// An untrusted text on one line, without what could control a terminal and without the passwords of
  /// URLs.
  package static func printable(_ text: String) -> String { text.withoutPasswords.printable }

  /// A line of a list: the path of a file that a command reads, or the URL.
  static func listed(_ line: String) -> String { (try? ImageURL(line: line))?.localPath ?? line }

  /// The URL or path of a picture, for a sentence. A long one, such as a `data:` URL, is truncated.
  package static func source(_ text: String) -> String {
    let shown = printable(text == "-" ? "standard input" : text)
    return shown.count > sourceLength ? String(shown.prefix(sourceLength)) + "…" : shown
  }

  private static let sourceLength = 200

  private static func scaled(_ value: Double, by factor: Double, units: [String]) -> String {
    var value = max(value, 0)
    var unit = 0
    // A value that rounds up to the factor becomes 1.0 of the next unit.
    while value.rounded() >= factor, unit + 1 < units.count {
      value /= factor
      unit += 1
    }
    return unit == 0 ? "\(Int(value.rounded())) B" : "\(number(value)) \(units[unit])"
  }
}

/// Describes a ``StoreShortage`` in words.
package struct ShortageText: Sendable {
  private let shortage: StoreShortage
  private let status: ImageJob
  private let isOfService: Bool

  /// - Parameter isOfService: whether the coordinator is a service, see ``ServiceAdvice``.
  /// - Returns: `nil` for a job that the store will probably hold.
  package init?(_ status: ImageJob, isOfService: Bool = false) {
    guard let shortage = status.storeShortage else { return nil }
    self.shortage = shortage
    self.status = status
    self.isOfService = isOfService
  }

  /// That the disk makes the store smaller than its budget.
  static func ofDisk(_ diskByteCount: Int64, budget budgetByteCount: Int64) -> String {
    let budget = HumanText.size(budgetByteCount)
    return diskByteCount == 0
      ? "the disk is full; the store's budget is \(budget)"
      : "the disk has room for \(HumanText.size(diskByteCount)) of the store's budget of \(budget)"
  }

  /// For the bar, such as `needs at most 480.0 MiB of a store of 400.0 MiB`.
  package var fact: String {
    "needs at most \(HumanText.size(shortage.neededByteCount)) of a store of "
      + HumanText.size(shortage.effectiveByteCount) + (shortage.isOfDisk ? " on a full disk" : "")
  }

  /// A warning with what can be done, in lines.
  package var warning: String {
    let limit =
      shortage.diskByteCount.map { Self.ofDisk($0, budget: shortage.budgetByteCount) }
      ?? "the store's budget is \(HumanText.size(shortage.budgetByteCount))"
    let consequence =
      status.pinPolicy == .none
      ? "later \(status.request.keep.noun)s may replace earlier ones"
      : status.wait?.kind == .storePinned ? "the job waits" : "the job may wait when it is full"
    return """
      job \(status.job) needs at most \(HumanText.size(shortage.neededByteCount)) of the store (\(share)), but \
      \(limit): \(consequence)
      to make room: \(remedies.joined(separator: "; or "))

      """
  }

  /// What a line takes, as measured or assumed.
  private var share: String {
    let lineCount = max(status.total - status.failed - status.cancelled, 1)
    let size = HumanText.size(shortage.neededByteCount / Int64(lineCount))
    return status.done > status.fromCache ? "\(size) each so far" : "if each has \(size)"
  }

  private var remedies: [String] {
    let export = "imgctl export \(status.job) DIR, repeatedly while the job runs"
    var remedies = shortage.isOfDisk ? ["free space on the disk", export] : [export]
    if !shortage.isOfDisk {
      remedies.append(
        isOfService
          ? ServiceAdvice.change("IMGCTL_STORE_BUDGET=\(sensibleBudget)")
          : "imgctl stop && imgctl start --store-budget \(sensibleBudget)")
    }
    if status.pinPolicy != .none {
      remedies.append("imgctl unpin \(status.job), to keep only what comes last")
    }
    return remedies
  }

  /// With a tenth for what is not pinned, see ``StoreReport/pinLimit(of:)``, and another one for the estimate.
  private var sensibleBudget: String {
    "\(shortage.neededByteCount / (8 << 20) * 10 + 10)M"
  }
}

/// Rows of text below headings, in aligned columns.
package struct Table: Sendable {
  package struct Column: Sendable {
    fileprivate let heading: String
    fileprivate let isNumeric: Bool
    /// Whether a terminal that is too narrow for all columns does without it.
    fileprivate var isOptional = false
    /// The same, before a text is cut.
    fileprivate var isSpare = false
    /// When a terminal that is too narrow for texts cut to the minimum does without it: the lowest first. `nil` for never.
    fileprivate var dispensability: Int?
    fileprivate var treatment = Treatment.cut

    /// What a terminal that is too narrow does with a text.
    fileprivate enum Treatment {
      case cut, wrap, leave
    }

    /// A column of text, aligned left.
    package static func text(_ heading: String) -> Column {
      Column(heading: heading, isNumeric: false)
    }

    /// A column of numbers, aligned right.
    package static func number(_ heading: String) -> Column {
      Column(heading: heading, isNumeric: true)
    }

    /// The same, but a terminal that is too narrow for all columns does without it.
    package var ifItFits: Column {
      var column = self
      column.isOptional = true
      return column
    }

    /// The same, after all columns that are left out if they do not fit; those with low numbers first.
    package func leftOut(_ turn: Int) -> Column {
      var column = self
      column.dispensability = turn
      return column
    }

    /// The same, before the text of another column is cut.
    package var ifNothingIsCut: Column {
      var column = self
      column.isSpare = true
      return column
    }

    /// Its text goes on in the next line if it does not fit.
    package var wrapped: Column {
      var column = self
      column.treatment = .wrap
      return column
    }

    /// Its text is never cut, such as a flag.
    package var whole: Column {
      var column = self
      column.treatment = .leave
      return column
    }
  }

  private static let gap = "  "
  /// Texts are not cut shorter.
  private static let minimumTextWidth = 8
  private static let minimumLineWidth = 6
  /// A column of texts that are wrapped is not narrower while there is a column to spare.
  private static let minimumWrappedWidth = 16

  private let columns: [Column]
  private var rows: [[String]] = []

  package init(_ columns: [Column]) {
    self.columns = columns
  }

  /// Adds a row with one cell for each column. Control characters in cells are replaced.
  package mutating func addRow(_ cells: [String]) {
    precondition(cells.count == columns.count, "a row has a cell for each column")
    rows.append(cells.map(HumanText.printable))
  }

  /// All lines, each with a line feed and without trailing spaces.
  package var rendered: String { rendered(within: nil) }

  /// The same for a terminal.
  ///
  /// A narrow terminal first does without optional columns of zeros and columns to spare, then the widest texts are
  /// cut or wrapped, and at last it does without other optional columns, the last ones first. The room of a column that
  /// is left out goes to the texts.
  ///
  /// - Parameter width: of the terminal; `nil` shows everything.
  package func rendered(within width: Int?) -> String {
    let lines = [columns.map(\.heading)] + rows
    var widths = columns.indices.map { column in
      lines.map { $0[column].count }.max() ?? 0
    }
    if let width { fit(&widths, within: width) }
    return lines.flatMap { wrap($0, widths: widths) }.map { render($0, widths: widths) + "\n" }
      .joined()
  }

  /// - Parameter widths: of the columns; 0 for one that is left out.
  private func fit(_ widths: inout [Int], within width: Int) {
    let optional = columns.indices.reversed().filter { columns[$0].isOptional }
    let empty = optional.filter { column in
      rows.allSatisfy { ["", "0", "-"].contains($0[column]) }
    }
    for column in empty where Self.sum(widths) > width { widths[column] = 0 }
    for column in columns.indices.reversed() where columns[column].isSpare {
      if minimumSum(widths) > width { widths[column] = 0 }
    }
    let dispensable = columns.indices.filter { columns[$0].dispensability != nil }
      .sorted { (columns[$0].dispensability ?? 0) < (columns[$1].dispensability ?? 0) }
    var rest = (optional + dispensable)[...]
    var whole = widths
    cutTexts(&widths, within: width)
    while Self.sum(widths) > width, let column = rest.popFirst() {
      whole[column] = 0
      widths = whole
      cutTexts(&widths, within: width)
    }
  }

  /// Takes columns from the widest texts, until all fits or none is wider than ``minimumTextWidth``.
  private func cutTexts(_ widths: inout [Int], within width: Int) {
    while Self.sum(widths) > width {
      let texts = columns.indices.filter {
        !columns[$0].isNumeric && columns[$0].treatment != .leave
          && widths[$0]
            > (columns[$0].treatment == .wrap ? Self.minimumLineWidth : Self.minimumTextWidth)
      }
      guard let widest = texts.max(by: { widths[$0] < widths[$1] }) else { return }
      widths[widest] -= 1
    }
  }

  private static func sum(_ widths: [Int]) -> Int {
    let shown = widths.filter { $0 > 0 }
    return shown.reduce(0, +) + gap.count * max(0, shown.count - 1)
  }

  /// The width that is needed if all texts that can be wrapped are.
  private func minimumSum(_ widths: [Int]) -> Int {
    Self.sum(
      columns.indices.map { column in
        columns[column].treatment == .wrap
          ? min(widths[column], Self.minimumWrappedWidth) : widths[column]
      })
  }

  /// The lines of a row.
  private func wrap(_ cells: [String], widths: [Int]) -> [[String]] {
    let texts = columns.indices.map { column in
      columns[column].treatment == .wrap && widths[column] > 0
        ? HumanText.lines(of: cells[column], within: widths[column]) : [cells[column]]
    }
    return (0..<(texts.map(\.count).max() ?? 1)).map { line in
      texts.map { line < $0.count ? $0[line] : "" }
    }
  }

  private func render(_ cells: [String], widths: [Int]) -> String {
    let padded = columns.indices.filter { widths[$0] > 0 }.map { column in
      let cell =
        cells[column].count > widths[column]
        ? cells[column].prefix(widths[column] - 1) + "…" : cells[column]
      let space = String(repeating: " ", count: widths[column] - cell.count)
      return columns[column].isNumeric ? space + cell : cell + space
    }
    let line = padded.joined(separator: Self.gap)
    return String(line.reversed().drop { $0 == " " }.reversed())
  }
}
