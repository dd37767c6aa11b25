import ImgSystem
import ImgTransport

/// Starts a coordinator in the background when none answers.
package struct CoordinatorLauncher: Sendable {
  private let executable: String
  private let arguments: [String]
  private let environment: [String: String]
  private let socketPath: String
  private let dataDirectory: String
  private let logPath: String

  /// How long a coordinator may take to open its journal and to listen.
  private static let startTime = Duration.seconds(30)
  /// How long a coordinator that owns the data directory may take to listen, or to leave it.
  private static let patience = Duration.seconds(5)
  /// How long a coordinator that owns it is waited for at the socket before the next start.
  private static let pauseBetweenStarts = Duration.seconds(1)
  private static let pauseBetweenConnects = Duration.milliseconds(50)
  /// A log longer than this is emptied by the next start.
  private static let logMaximumByteCount = 1 << 20

  /// - Parameters:
  ///   - executable: the path of `imgcoordinator`.
  ///   - arguments: its settings.
  ///   - environment: the variables of settings that are secrets.
  ///   - dataDirectory: created when there is none, for the log.
  ///   - logPath: the file that its standard error is appended to.
  package init(
    executable: String, arguments: [String], environment: [String: String] = [:],
    socketPath: String, dataDirectory: String, logPath: String
  ) {
    self.executable = executable
    self.arguments = arguments
    self.environment = environment
    self.socketPath = socketPath
    self.dataDirectory = dataDirectory
    self.logPath = logPath
  }

  /// Connects to the coordinator at the socket, and starts one if none answers.
  ///
  /// - Returns: the client, and whether the coordinator was started for it.
  package func connect() throws(ClientError) -> (client: Client, wasStarted: Bool) {
    do throws(ClientError) {
      return (try Client(socketPath: socketPath), false)
    } catch .unreachable {
      return try start()
    }
  }

  /// Starts a coordinator until one answers. Another one may own the data directory meanwhile: one that
  /// was started just now and does not listen yet, or one that is leaving.
  private func start() throws(ClientError) -> (client: Client, wasStarted: Bool) {
    let deadline = ContinuousClock.now + Self.patience
    while true {
      let answer = startProcess()
      let isTaken = answer.hasPrefix(ReadinessMessage.taken)
      let patience = isTaken ? Self.pauseBetweenStarts : .zero
      if let client = try awaitClient(until: .now + patience) {
        return (client, answer == ReadinessMessage.ready)
      }
      guard isTaken, ContinuousClock.now < deadline else { throw .notStarted(reason: answer) }
    }
  }

  /// - Returns: `nil` when no coordinator answers up to the deadline.
  private func awaitClient(until deadline: ContinuousClock.Instant) throws(ClientError) -> Client? {
    while true {
      do throws(ClientError) {
        return try Client(socketPath: socketPath)
      } catch .unreachable {
        guard ContinuousClock.now < deadline else { return nil }
      }
      ThisProcess.pause(for: Self.pauseBetweenConnects)
    }
  }

  /// Starts the program and waits until it listens.
  ///
  /// - Returns: its readiness message, or why there is none.
  private func startProcess() -> String {
    do throws(SystemError) {
      try Directory.requireCreatable(UnixSocket.directory(of: socketPath))
    } catch {
      return "the control socket \(socketPath) cannot be opened: \(error)"
    }
    do throws(SystemError) {
      try Directory.createPrivate(dataDirectory)
    } catch {
      return "the data directory \(dataDirectory) cannot be used: \(error)"
    }
    do throws(SystemError) {
      var pair = try UnixSocket.pair()
      let ours = pair.takeFirst()
      StartedCoordinators.keep(try spawn(readyEnd: pair.takeSecond()))
      let message = try readMessage(ours)
      return message.isEmpty ? "it ended before it was ready; see \(logPath)" : message
    } catch {
      return error.description
    }
  }

  private func spawn(readyEnd: consuming OwnedDescriptor) throws(SystemError) -> ChildProcess {
    let log = try FileIO.open(log: logPath, truncatedAbove: Self.logMaximumByteCount)
    let nothing = try FileIO.open(readingFrom: "/dev/null")
    var environment = ThisProcess.environment.merging(environment) { $1 }
    environment[ReadinessMessage.variable] = String(ReadinessMessage.descriptor)
    // A service that runs a command is not told that this coordinator is ready.
    environment["NOTIFY_SOCKET"] = nil
    return try ChildProcess.spawn(
      executable: executable, arguments: arguments, environment: environment,
      descriptors: [
        (parent: nothing.rawValue, child: 0), (parent: log.rawValue, child: 1),
        (parent: log.rawValue, child: 2),
        (parent: readyEnd.rawValue, child: ReadinessMessage.descriptor),
      ], isDetached: true)
  }

  /// What the coordinator writes until it closes its end.
  private func readMessage(
    _ connection: borrowing OwnedDescriptor
  ) throws(SystemError) -> String {
    let deadline = ContinuousClock.now + Self.startTime
    var bytes: [UInt8] = []
    while try UnixSocket.waitReadable(connection.rawValue, until: deadline) {
      if case .received = try UnixSocket.receive(connection.rawValue, into: &bytes, upTo: 4_096) {
        continue
      }
      return String(decoding: bytes, as: UTF8.self)
    }
    return "it was not ready after \(Self.startTime); see \(logPath)"
  }
}
