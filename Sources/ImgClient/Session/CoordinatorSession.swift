import ImgSystem
import ImgTransport

/// The coordinator as many tasks use it at the same time: over one connection, which a thread of its own
/// makes when the first call needs it, and again when it is lost.
///
/// A call whose connection is lost is sent again, unless it may not be repeated. At most
/// ``CallTable/maximumSentCount`` calls are under way; further ones wait in order.
final class CoordinatorSession: Sendable {
  private let commands: Mailbox<SessionCommand>
  private let thread: ServiceThread<Never>

  /// - Parameters:
  ///   - patience: how long the coordinator may say nothing while calls wait for it, see ``SilenceWatch``.
  ///   - connect: makes a connection, on the session's thread, and may block.
  init(
    patience: Duration = SilenceWatch.standardPatience,
    connect: @escaping @Sendable () throws(ClientError) -> CoordinatorConnection
  ) throws(SystemError) {
    let commands = try Mailbox<SessionCommand>()
    self.commands = commands
    thread = try ServiceThread(name: "imgclient", capacity: 1) { _ in
      while true {
        do throws(SystemError) {
          return try SessionLoop(commands: commands, patience: patience, connect: connect).run()
        } catch {
          guard Self.refuse(commands, because: error) else { return }
        }
      }
    }
  }

  /// Answers for a thread that cannot wait for a connection: the process has no descriptors left.
  ///
  /// - Returns: when there is a further call, for which the thread tries again; `false` if the session has
  ///   ended.
  private static func refuse(
    _ commands: Mailbox<SessionCommand>, because error: SystemError
  ) -> Bool {
    for command in commands.takeAll() {
      switch command {
      case .start(let call): call.end(.failure(.client(.connection(.system(error)))))
      case .detach: break
      case .stop: return false
      }
    }
    // If the wait fails, the thread tries again at once.
    _ = try? UnixSocket.waitReadable(commands.descriptor, until: nil)
    return true
  }

  deinit {
    commands.post(.stop)
  }

  /// Sends a call, and waits for its answer, the deadline or the cancellation of the task.
  ///
  /// The deadline needs no task of its own, so that the answer reaches the caller without a change of threads more.
  func answer(
    to call: SessionCall, until deadline: ContinuousClock.Instant? = nil
  ) async throws(SessionError) -> SessionReply {
    let timeout = deadline.map { Timeouts.shared.add(at: $0) { self.leave(call, .timedOut) } }
    defer { timeout?.end() }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if call.wait(continuation) { commands.post(.start(call)) }
      }
    } onCancel: {
      leave(call, .cancelled)
    }
    return try result.get()
  }

  /// The task of a call no longer waits.
  private func leave(_ call: SessionCall, _ reason: SessionError) {
    call.end(.failure(reason))
    commands.post(.detach(call))
  }
}
