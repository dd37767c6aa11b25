import Glibc
import ImgModel
package import ImgSettings
package import ImgSystem
import ImgWire
import Synchronization

/// Starts a coordinator in the background when none answers.
package struct CoordinatorLauncher: Sendable {
  private let executable: String
  /// Where the coordinator is.
  private let places: Settings
  /// What one is started with.
  private let settings: @Sendable () throws(ClientError) -> Settings

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
  ///   - places: the settings of this process, resolved. The data directory is created when there is none, for
  ///     the log.
  ///   - settings: returns what a coordinator is started with, if one is.
  package init(
    executable: String, places: Settings,
    settings: @escaping @Sendable () throws(ClientError) -> Settings
  ) {
    self.executable = executable
    self.places = places
    self.settings = settings
  }

  /// Connects to the coordinator, and starts one if none answers.
  ///
  /// - Returns: the client, and the settings of the coordinator if it was started for it.
  package func connect() throws(ClientError) -> sending (client: Client, started: Settings?) {
    do throws(ClientError) {
      return (try Client(socketPath: places.located.socketPath), nil)
    } catch .unreachable {
      return try start()
    }
  }

  /// Starts a coordinator until one answers. Another one may own the data directory meanwhile: one that
  /// was started just now and does not listen yet, or one that is leaving.
  private func start() throws(ClientError) -> sending (client: Client, started: Settings?) {
    var settings = try settings()
    settings.socketPath = places.socketPath
    let deadline = ContinuousClock.now + Self.patience
    while true {
      let answer = startProcess(settings)
      let isTaken = answer.hasPrefix(ReadinessMessage.taken)
      let patience = isTaken ? Self.pauseBetweenStarts : .zero
      if let client = try awaitClient(until: .now + patience) {
        return (client, answer == ReadinessMessage.ready ? settings : nil)
      }
      guard isTaken, ContinuousClock.now < deadline else {
        throw .notStarted(reason: Self.reason(answer, settings))
      }
    }
  }

  /// Names the settings that the caller may not know of.
  private static func reason(_ answer: String, _ settings: Settings) -> String {
    let kept = settings.changes(from: .kept)
    guard !kept.isEmpty else { return answer }
    return
      "\(answer) (with the kept settings: \(kept.joined(separator: ", ")); "
      + "imgctl config changes them)"
  }

  /// - Returns: `nil` when no coordinator answers up to the deadline.
  private func awaitClient(until deadline: ContinuousClock.Instant) throws(ClientError) -> Client? {
    while true {
      do throws(ClientError) {
        return try Client(socketPath: places.located.socketPath)
      } catch .unreachable {
        guard ContinuousClock.now < deadline else { return nil }
      }
      ThisProcess.pause(for: Self.pauseBetweenConnects)
    }
  }

  /// Starts the program and waits until it listens.
  ///
  /// - Returns: its readiness message, or why there is none.
  private func startProcess(_ settings: Settings) -> String {
    do throws(SystemError) {
      try Directory.requireCreatable(UnixSocket.directory(of: settings.socketPath))
    } catch {
      return "the control socket \(settings.socketPath) cannot be opened: \(error)"
    }
    do throws(SystemError) {
      try Directory.createPrivate(settings.dataDirectory)
    } catch {
      return
        "the data directory \(settings.dataDirectory) cannot be used: \(error.sentence); "
        + "name another --data-dir"
    }
    do throws(SystemError) {
      var pair = try UnixSocket.pair()
      let ours = pair.takeFirst()
      StartedCoordinators.keep(try spawn(settings, readyEnd: pair.takeSecond()))
      let message = try readMessage(ours)
      return message.isEmpty ? "it ended before it was ready; see \(places.logPath)" : message
    } catch {
      return error.description
    }
  }

  private func spawn(
    _ settings: Settings, readyEnd: consuming OwnedDescriptor
  ) throws(SystemError) -> ChildProcess {
    let log = try FileIO.open(log: settings.logPath, truncatedAbove: Self.logMaximumByteCount)
    let nothing = try FileIO.open(readingFrom: "/dev/null")
    var environment = ThisProcess.environment.merging(settings.environment) { $1 }
    environment[ReadinessMessage.variable] = String(ReadinessMessage.descriptor)
    // A service that runs a command is not told that this coordinator is ready.
    environment["NOTIFY_SOCKET"] = nil
    return try ChildProcess.spawn(
      executable: executable, arguments: settings.arguments, environment: environment,
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
    return "it was not ready after \(Self.startTime); see \(places.logPath)"
  }
}

extension Settings {
  /// Refuses a start that no person has asked for in a copy of a data directory.
  package func requireOriginal() throws(ClientError) {
    guard let original = LastCache.originalOfCopy(self) else { return }
    throw .copy(dataDirectory: dataDirectory, original: original)
  }
}

/// The coordinator of a data directory, found by the lock that it holds there, even if its socket was
/// removed.
package struct CoordinatorProcess: ~Copyable {
  private let process: OtherProcess

  package var processID: Int32 { process.processID }
  /// Where it listens, or listened.
  package let socketPath: String

  /// - Parameter lockPath: the lock of the data directory.
  /// - Returns: `nil` when no process holds the lock.
  package init?(lockPath: String) throws(SystemError) {
    guard let holder = FileLock.holder(path: lockPath),
      let process = try OtherProcess(holder.processID)
    else { return nil }
    // The descriptor pins the holder only if the lock still has the same holder.
    guard FileLock.holder(path: lockPath) == holder else { return nil }
    self.process = process
    socketPath = holder.note
  }

  /// Makes it finish what runs and leave.
  ///
  /// - Returns: when it has left.
  package func stop() throws(SystemError) {
    try process.signal(SIGTERM)
    _ = try process.waitForExit(until: nil)
  }

  /// Waits for its end.
  package func hasEnded(within patience: Duration) throws(SystemError) -> Bool {
    try process.waitForExit(until: .now + patience)
  }
}

/// The settings of the coordinator that a process was connected to last, which `imgctl limits` may have changed.
/// They are those of the one that the process starts in its place, so that a cluster permits the same networks and
/// has the same limits after the end of its coordinator. If other settings are kept meanwhile, those count.
final class LastCoordinator: Sendable {
  private struct Known {
    let processID: Int32
    let settings: Settings
    /// `nil` if the settings that are kept are others.
    let kept: KeptSettings?
  }

  private let record: SettingsRecord
  private let known = Mutex<Known?>(nil)

  init(_ record: SettingsRecord) {
    self.record = record
  }

  /// - Parameter kept: what is kept now.
  /// - Returns: `nil` before the first connection, and if other settings are kept since.
  func settings(ifStillKept kept: KeptSettings) -> Settings? {
    known.withLock { $0?.kept == kept ? $0?.settings : nil }
  }

  /// Whether this process was connected to one.
  var isKnown: Bool { known.withLock { $0 != nil } }

  /// Asks a coordinator for its settings, unless they are known.
  func remember(_ client: Client) {
    let processID = client.coordinatorProcessID
    guard known.withLock({ $0?.processID != processID }) else { return }
    // If the connection is lost, the next request of the client finds that out.
    guard let status = try? client.answer(.status),
      let settings = try? Settings(runningAs: status)
    else { return }
    // What was kept since it was started is for the next one.
    let kept = (try? record.kept()).flatMap { $0.agree(with: settings) ? $0 : nil }
    known.withLock { $0 = Known(processID: processID, settings: settings, kept: kept) }
  }
}

/// The coordinators that this process has started. One that leaves because it is idle would stay a zombie as
/// long as this process runs, so a thread waits for the end of each, and reaps it.
enum StartedCoordinators {
  private final class Child: Sendable {
    let process: ChildProcess

    init(_ process: consuming ChildProcess) {
      self.process = process
    }
  }

  /// The thread only waits.
  private static let stackByteCount = 256 << 10

  /// A coordinator was started, whether or not it can begin.
  static func keep(_ process: consuming ChildProcess) {
    let child = Child(process)
    // Without a thread, init reaps the coordinator after this process.
    _ = try? ServiceThread<Never>(
      name: "imgreaper", capacity: 1, stackByteCount: stackByteCount
    ) { _ in
      _ = child.process.waitForExit(until: nil)
    }
  }
}

/// How the first worker of a new coordinator started.
package enum WorkerStart: Sendable {
  case ready
  /// No worker was ready in time.
  case starting
  /// No worker can be started.
  case failed(reason: String)

  /// How long it waits for the first worker.
  private static let startTime = Duration.seconds(10)
  private static let pause = Duration.milliseconds(20)
  /// Failed starts of each worker after which the start counts as failed.
  private static let failureMaximum = 2

  /// Waits until a worker is ready or cannot be started.
  package static func outcome(client: Client) throws -> WorkerStart {
    do {
      return try firstOutcome(client)
    } catch ClientError.refused(_, let message) {
      // The coordinator has ended because no worker started.
      return .failed(reason: message)
    }
  }

  private static func firstOutcome(_ client: Client) throws -> WorkerStart {
    let deadline = ContinuousClock.now + startTime
    repeat {
      let status = try client.answer(.status)
      if status.workers.contains(where: { $0.state == .ready }) { return .ready }
      if let wait = status.wait, wait.kind == .noWorker, let reason = wait.detail,
        status.workers.allSatisfy({ $0.deaths >= failureMaximum })
      {
        return .failed(reason: reason)
      }
      ThisProcess.pause(for: pause)
    } while ContinuousClock.now < deadline
    return .starting
  }
}

/// A process that starts coordinators for one that is confined and may start no process. That one
/// launches it before it gives up its rights, and it ends when that one ends.
///
/// A request is one byte, which says nothing, and the settings are those of the launch: a process that was
/// taken over can have a coordinator started, and not choose which. An answer is the reason why no
/// coordinator runs, or no text, with a zero byte behind it.
package final class CoordinatorStarter: Sendable {
  private struct State: ~Copyable {
    /// `nil` after a request that was not answered.
    var connection: OwnedDescriptor?
    /// The coordinator that the process was last told of.
    var coordinator: Int32?
    /// Why no coordinator could be started last; `nil` if one was. Each new reason is told once.
    var refusal: String?
  }

  /// Where the process has its end of the connection.
  private static let descriptor: CInt = 3
  /// The environment variable of the process.
  private static let variable = "IMGCTL_STARTER"
  /// More than a coordinator may take to start.
  private static let answerTime = Duration.seconds(60)
  private static let answerMaximumByteCount = 1 << 16

  private static let endMessage =
    "the process that starts coordinators for this one has ended; imgctl start starts one"

  private let process: ChildProcess
  private let note: @Sendable (String) -> Void
  private let state: Mutex<State>

  // MARK: - In the process that asks

  /// Launches the process.
  ///
  /// - Parameters:
  ///   - executable: a program that calls ``serve(_:)`` if ``isRequested()``.
  ///   - arguments: its settings.
  ///   - note: takes a line for the log if the process ends, or starts none.
  package init(
    executable: String, arguments: [String], note: @escaping @Sendable (String) -> Void
  ) throws(SystemError) {
    var pair = try UnixSocket.pair()
    let ours = pair.takeFirst()
    let theirs = pair.takeSecond()
    let input = try FileIO.open(readingFrom: "/dev/null")
    let output = try FileIO.open(appendingTo: "/dev/null")
    var environment = ThisProcess.environment
    environment[Self.variable] = "yes"
    // In a session of its own, so that Ctrl-C ends only the process that asks, in order.
    process = try ChildProcess.spawn(
      executable: executable, arguments: arguments, environment: environment,
      descriptors: [
        (parent: input.rawValue, child: 0), (parent: output.rawValue, child: 1),
        (parent: theirs.rawValue, child: Self.descriptor),
      ], isDetached: true)
    self.note = note
    state = Mutex(State(connection: ours, coordinator: nil, refusal: nil))
  }

  /// Has a coordinator started if none answers. Blocks.
  ///
  /// - Returns: why none could be started; `nil` if one answers.
  func start() -> String? {
    state.withLock { state in
      let refusal = ask(&state)
      if let refusal, refusal != state.refusal, refusal != Self.endMessage {
        note("no coordinator was started: \(refusal)")
      }
      state.refusal = refusal
      return refusal
    }
  }

  /// Tells the process of a coordinator that answers, unless it knows that one. If the coordinator dies,
  /// the process gives its settings to the next one.
  func remember(_ client: Client) {
    let coordinator = client.coordinatorProcessID
    state.withLock { state in
      guard state.coordinator != coordinator, ask(&state) == nil else { return }
      state.coordinator = coordinator
    }
  }

  private func ask(_ state: inout State) -> String? {
    guard let connection = state.connection.take() else { return Self.endMessage }
    if let answer = Self.answer(on: connection) {
      state.connection = consume connection
      return answer.isEmpty ? nil : answer
    }
    // The connection closes, because a late answer would be taken for that of the next request. Without
    // it, the process ends.
    note(Self.endMessage)
    _ = process.reap()
    return Self.endMessage
  }

  /// - Returns: `nil` if there is none in time.
  private static func answer(on connection: borrowing OwnedDescriptor) -> String? {
    var bytes: [UInt8] = []
    do throws(SystemError) {
      _ = try UnixSocket.send(connection.rawValue, [1])
      let deadline = ContinuousClock.now + answerTime
      while bytes.last != 0, bytes.count < answerMaximumByteCount {
        guard try UnixSocket.waitReadable(connection.rawValue, until: deadline),
          case .received = try UnixSocket.receive(
            connection.rawValue, into: &bytes, upTo: answerMaximumByteCount)
        else { return nil }
      }
    } catch {
      return nil
    }
    return String(decoding: bytes.dropLast(), as: UTF8.self)
  }

  // MARK: - In the process

  /// Whether this process was launched to start coordinators. Call it before other threads start: the
  /// coordinators do not inherit the request.
  package static func isRequested() -> Bool { ThisProcess.takeVariable(variable) != nil }

  /// Starts coordinators with some settings until the process that asks has ended.
  package static func serve(_ settings: Settings) throws(SystemError) {
    let connection = OwnedDescriptor(adopting: descriptor)
    let places = ClusterPlaces(settings)
    var request: [UInt8] = []
    while case .received = try UnixSocket.receive(connection.rawValue, into: &request, upTo: 1) {
      request.removeAll()
      let answer = reasonForNone(at: places) ?? ""
      _ = try UnixSocket.send(connection.rawValue, Array(answer.utf8)[...] + [0])
    }
  }

  /// - Returns: `nil` if a coordinator answers, and if it does so in a way that the process that asks sees
  ///   for itself.
  private static func reasonForNone(at places: ClusterPlaces) -> String? {
    do throws(ClientError) {
      _ = try places.connect()
      return nil
    } catch .notStarted(let reason) {
      return reason
    } catch .copy(let dataDirectory, let original) {
      return ClientError.copy(dataDirectory: dataDirectory, original: original).libraryDescription
    } catch {
      return nil
    }
  }
}
