import ImgClient
import ImgSettings
import ImgSystem
import ImgWire

/// The program `imgctl`: from the command line to an exit status.
package enum CommandMain {
  /// - Parameter arguments: without the program's name.
  /// - Returns: the exit status, see ``ExitCode``.
  package static func run(arguments: [String]) -> Int32 {
    ThisProcess.forbidDumps()
    ThisProcess.ignoreBrokenPipe()
    let output = Output(descriptor: 1)
    let messages = Output(descriptor: 2, capacity: 0)
    let code: ExitCode
    do {
      code = try run(arguments, output: output, messages: messages)
      try output.flush()
    } catch {
      // What is half written belongs before the reason why it ends; both may have no reader.
      try? output.flush()
      let (failure, message) = explain(error)
      if let message { try? messages.write("\(message)\n".withoutPasswords) }
      return failure.rawValue
    }
    return code.rawValue
  }

  private static func run(
    _ arguments: [String], output: Output, messages: Output
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
        settings: settings, output: output, messages: messages, isQuiet: isQuiet)
      StoreCrash.prepare(
        for: command, arguments, environment: environment, settings: context.settings)
      return try command.run(in: context)
    }
  }

  /// How an error ends the program, and what is said about it.
  private static func explain(_ error: any Error) -> (ExitCode, String?) {
    switch error {
    case OutputError.readerLeft: (.success, nil)
    case OutputError.failed(let error):
      (.wrongUse, "imgctl: the output cannot be written: \(error)")
    case let error as UsageError: (.wrongUse, error.description)
    case ClientError.refused(let code, let message):
      (code.meansNoCoordinator ? .noCoordinator : .wrongUse, "imgctl: \(message)")
    case ClientError.otherStore: (.wrongUse, "imgctl: \(error)")
    case let error as ClientError: (.noCoordinator, "imgctl: \(error)")
    default: (.wrongUse, "imgctl: \(error)")
    }
  }
}

extension RequestRefusal.Code {
  /// Whether it is the coordinator that cannot serve, rather than the request that makes no sense.
  var meansNoCoordinator: Bool {
    switch self {
    case .stopping, .journal, .unavailable, .notPermitted: true
    case .unknownJob, .wrongState, .invalidRequest: false
    }
  }
}
