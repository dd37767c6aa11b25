import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl priority`: makes a job more or less urgent.
package struct PriorityCommand: Command {
  package let job: JobID
  package let priority: Int
  package let isJSON: Bool

  private static let priorityOperand = OperandDescription("P", help: RequestOptions.priorityHelp)

  package static let description = CommandDescription(
    name: "imgctl priority", summary: "make a job more or less urgent than others",
    operands: [.job, priorityOperand],
    options: [.json] + OptionDescription.startingPlaces,
    notes: ["It counts for what has not begun. A job has 0 unless submit said otherwise."],
    examples: [
      .init("imgctl priority 7 2", "Job 7 is as urgent as a job can be."),
      .init("imgctl priority 7 -2", "Every job that says nothing goes before it."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    let priority = try arguments.value(
      of: Self.priorityOperand, RequestOptions.priority(parsing:))
    guard let priority else {
      preconditionFailure("only an operand that must be given is read so")
    }
    self.priority = priority
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let status = try context.coordinator().change(job, .prioritise(priority))
    return try context.show(
      status, isJSON: isJSON, orSay: "job \(job) has priority \(status.priority)")
  }
}
