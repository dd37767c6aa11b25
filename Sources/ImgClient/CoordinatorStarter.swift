import Glibc
import ImgModel
package import ImgSettings
package import ImgSystem
import ImgWire
import Synchronization

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
