import ImgModel
package import ImgSettings

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

  static let wait = OptionDescription(
    "--wait", help: "Show the progress, and return when the job has ended.")

  /// The places of the coordinator and its data, which are options of every command.
  static let places = [Setting.socket, .dataDirectory].map(\.option)

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
}

extension RequestOptions {
  static let priorityHelp = "From -2 (lowest) to 2 (highest)."

  /// Reads a priority, the only number with a sign.
  static func priority(parsing text: String) throws(InvalidValue) -> Int {
    guard let number = Int(text), priorityRange.contains(number) else {
      throw InvalidValue("\(Spelling.quoted(text)) is not from -2 to 2")
    }
    return number
  }
}

extension RawRepresentable<String> where Self: CaseIterable {
  /// Reads one of the type's words.
  init(parsing text: String) throws(InvalidValue) {
    try self.init(parsing: text, among: Array(Self.allCases))
  }

  /// Reads one of some of the type's words.
  init(parsing text: String, among choices: [Self]) throws(InvalidValue) {
    let words = choices.map(\.rawValue)
    guard words.contains(text), let choice = Self(rawValue: text) else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is not one of \(words.joined(separator: ", "))"
          + Spelling.suggestion(for: text, among: words))
    }
    self = choice
  }
}

extension JobID {
  /// Reads a job's number.
  init(parsing text: String) throws(InvalidValue) {
    guard let job = JobID(text) else {
      throw InvalidValue("\(Spelling.quoted(text)) is not a job number; see imgctl list")
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
