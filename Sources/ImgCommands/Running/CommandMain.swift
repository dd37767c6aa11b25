import ImgClient
import ImgModel
import ImgSettings
import ImgSystem

/// Runs the program `imgctl`.
package enum CommandMain {
  /// - Parameter arguments: without the program's name.
  /// - Returns: the exit code, see ``ExitCode``.
  package static func run(arguments: [String]) -> Int32 {
    ThisProcess.forbidDumps()
    ThisProcess.ignoreBrokenPipe()
    let output = Output(descriptor: 1)
    let messages = Output(descriptor: 2, capacity: 0)
    let isJSON = OptionDescription.isJSONWanted(in: arguments)
    let code: ExitCode
    do {
      code = try run(arguments, output: output, messages: messages, isJSON: isJSON)
      try output.flush()
    } catch {
      // Results come before the error. Either stream may be closed.
      try? output.flush()
      guard let report = ErrorReport(error) else { return ExitCode.success.rawValue }
      try? messages.write(report.line(isJSON: isJSON))
      return report.exitCode.rawValue
    }
    return code.rawValue
  }

  private static func run(
    _ arguments: [String], output: Output, messages: Output, isJSON: Bool
  ) throws -> ExitCode {
    let environment = ThisProcess.environment
    let invocation = try Invocation(
      arguments: arguments, environment: environment, userID: ThisProcess.userID)
    switch invocation {
    case .print(let text):
      try output.write(text)
      return .success
    case .run(let command, let settings, let isQuiet):
      let context = CommandContext(
        settings: settings, output: output, messages: messages, isQuiet: isQuiet, isJSON: isJSON)
      StoreCrash.prepare(
        for: type(of: command).storeCrashHandling, arguments, environment: environment,
        settings: context.settings, isJSON: isJSON)
      return try command.run(in: context)
    }
  }
}
