import ImgModel
package import ImgSettings

/// Options that several commands have.
extension OptionDescription {
  static let json = OptionDescription(
    "--json", help: "Print JSON: one object, or one a line where there are many.")

  /// Whether a command line asks for JSON, also one that cannot be read otherwise: then the error is
  /// JSON as well.
  package static func isJSONWanted(in arguments: [String]) -> Bool {
    arguments.prefix { $0 != "--" }.contains(json.flag)
  }

  /// Every command has it, see ``Command/grammar``; ``CommandContext/note(_:)`` obeys it.
  static let quiet = OptionDescription(
    "--quiet", short: "-q", help: "Print results and errors only: no progress, no notes.")

  static let wait = OptionDescription(
    "--wait", help: "Wait until the job has ended, and show how far it is.")

  /// Where the coordinator and its data are: every command has them.
  static let places = [Setting.socket, .dataDirectory].map(\.option)

  /// Of commands that only look at jobs.
  static let journalNote =
    "Starts no coordinator: where none runs, the journal is read, and what waits goes on waiting."

  /// The same of commands that start a coordinator when none answers.
  static let startingPlaces = places + [Setting.autostart.option]
}

/// Operands that several commands have.
extension OperandDescription {
  static let job = OperandDescription("JOB", help: "The number that submit printed.")
}

extension RequestOptions {
  static let priorityHelp = "From -2, the least, to 2, the most urgent."

  /// Reads a priority, the only number with a sign.
  static func priority(parsing text: String) throws(InvalidValue) -> Int {
    guard let number = Int(text), priorityRange.contains(number) else {
      throw InvalidValue("\(Spelling.quoted(text)) is not from -2 to 2")
    }
    return number
  }
}

extension RawRepresentable<String> where Self: CaseIterable {
  /// Reads one of a few words.
  init(parsing text: String) throws(InvalidValue) {
    guard let choice = Self(rawValue: text) else {
      let words = Self.allCases.map(\.rawValue)
      throw InvalidValue(
        "\(Spelling.quoted(text)) is none of \(words.joined(separator: ", "))"
          + Spelling.suggestion(for: text, among: words))
    }
    self = choice
  }
}

extension JobID {
  /// Reads the number of a job.
  init(parsing text: String) throws(InvalidValue) {
    guard let job = JobID(text) else {
      throw InvalidValue("\(Spelling.quoted(text)) is no job; imgctl list shows their numbers")
    }
    self = job
  }
}

extension ArgumentReader {
  /// The job that must be named.
  func job() throws(UsageError) -> JobID {
    guard let job = try value(of: .job, JobID.init(parsing:)) else {
      preconditionFailure("only an operand that must be given is read so")
    }
    return job
  }
}
