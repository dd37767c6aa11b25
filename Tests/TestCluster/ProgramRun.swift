package import ImgSystem
package import TestFiles

/// One run of a program: a child of this process, its output caught in files, ended with this
/// object at the latest.
package final class ProgramRun {
  private let child: ChildProcess
  private let outputPath: String
  private let messagesPath: String

  /// How long a program may take when the test does not say: far longer than any does, so that only
  /// one that hangs is given up.
  package static let patience = Duration.seconds(240)

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - executable: its path.
  ///   - inputPath: the file that is its standard input.
  ///   - descriptors: further descriptors that it finds, beside its standard streams.
  package init(
    _ executable: String, _ arguments: [String], environment: [String: String],
    inputPath: String = "/dev/null", descriptors: [(parent: CInt, child: CInt)] = [],
    in directory: TestDirectory
  ) throws {
    let name = "run-\(UInt64.random(in: 0...UInt64.max))"
    outputPath = directory.file("\(name).output")
    messagesPath = directory.file("\(name).messages")
    let input = try FileIO.open(readingFrom: inputPath)
    let output = try FileIO.create(outputPath)
    let messages = try FileIO.create(messagesPath)
    let streams: [(parent: CInt, child: CInt)] = [
      (parent: input.rawValue, child: 0), (parent: output.rawValue, child: 1),
      (parent: messages.rawValue, child: 2),
    ]
    child = try ChildProcess.spawn(
      executable: executable, arguments: arguments, environment: environment,
      descriptors: streams + descriptors)
  }

  deinit {
    guard isRunning else { return }
    child.signal(9)
    _ = child.waitForExit(until: .now + Self.patience)
  }

  package var processID: Int32 { child.processID }

  package var isRunning: Bool { child.reap() == nil }

  package func signal(_ signal: CInt) {
    child.signal(signal)
  }

  /// Waits for its end.
  ///
  /// - Returns: how it ended and what it said; without a status when it still runs.
  package func wait(atMost time: Duration = patience) throws -> ProgramResult {
    let status = child.waitForExit(until: .now + time)
    return ProgramResult(
      status: status, outputBytes: try Self.bytes(of: outputPath), messages: try messages())
  }

  /// The whole lines that it has written to standard output until now.
  package func lines() throws -> [String] {
    let output = String(decoding: try Self.bytes(of: outputPath), as: UTF8.self)
    return output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
      .map(String.init)
  }

  /// What it has said on standard error until now.
  package func messages() throws -> String {
    String(decoding: try Self.bytes(of: messagesPath), as: UTF8.self)
  }

  private static func bytes(of path: String) throws -> [UInt8] {
    try FileIO.contents(of: path, upTo: 256 << 20)
  }
}

/// How a program ended, and what it said.
package struct ProgramResult {
  /// `nil` when it had not ended in time.
  package let status: ExitStatus?
  /// Standard output.
  package let outputBytes: [UInt8]
  /// Standard error.
  package let messages: String

  /// Standard output as text.
  package var output: String { String(decoding: outputBytes, as: UTF8.self) }

  /// The lines of standard output.
  package var lines: [String] { output.split(separator: "\n").map(String.init) }

  /// The exit status; `nil` when it was killed or still runs.
  package var exitCode: Int32? {
    if case .exited(let code) = status { code } else { nil }
  }
}
