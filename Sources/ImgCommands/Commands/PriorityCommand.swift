import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl priority`: sets the priority of a job.
package struct PriorityCommand: Command {
  package let job: JobID
  package let priority: Int
  package let isJSON: Bool

  private static let priorityOperand = OperandDescription("P", help: RequestOptions.priorityHelp)

  package static let description = CommandDescription(
    name: "imgctl priority", summary: "set the priority of a job",
    operands: [.job, priorityOperand],
    options: [.json] + OptionDescription.startingPlaces,
    notes: ["The priority applies to URLs that have not started. The default of a job is 0."],
    examples: [
      .init("imgctl priority 7 2", "Gives job 7 the highest priority."),
      .init("imgctl priority 7 -2", "Jobs of the default priority run first."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    let priority = try arguments.value(
      of: Self.priorityOperand, RequestOptions.priority(parsing:))
    guard let priority else {
      preconditionFailure("the operand is required, so the reader has checked it")
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
