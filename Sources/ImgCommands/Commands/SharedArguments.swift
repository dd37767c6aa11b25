import ImgSettings
import ImgWire

/// Options that several commands have.
extension OptionDescription {
  static let json = OptionDescription(
    "--json", help: "Print JSON: one object, or one a line where there are many.")

  /// Where the coordinator and its data are: every command has them.
  static let places = [Setting.socket.option, Setting.dataDirectory.option]
}

/// Operands that several commands have.
extension OperandDescription {
  static let job = OperandDescription("JOB", help: "The number that submit printed.")
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
