import ImgSystem
import ImgWire

/// The coordinator as many tasks use it at the same time: over one connection, which a thread of its own
/// makes when the first call needs it, and again when it is lost.
///
/// A call whose connection is lost is sent again, so calls ask for what may be asked twice. At most
/// ``CallTable/maximumSentCount`` calls are under way; further ones wait in order.
final class CoordinatorSession: Sendable {
  private let commands: Mailbox<SessionCommand>
  private let thread: ServiceThread<Never>

  /// - Parameter connect: makes a connection, on the session's thread, and may block.
  init(
    connect: @escaping @Sendable () throws(ClientError) -> CoordinatorConnection
  ) throws(SystemError) {
    let commands = try Mailbox<SessionCommand>()
    self.commands = commands
    thread = try ServiceThread(name: "imgclient", capacity: 1) { _ in
      do throws(SystemError) {
        try SessionLoop(commands: commands, connect: connect).run()
      } catch {
        preconditionFailure("a session cannot wait for events: \(error)")
      }
    }
  }

  deinit {
    commands.post(.stop)
  }

  /// Sends a call, and waits for its answer or the cancellation of the task.
  func answer(to call: SessionCall) async throws(SessionError) -> SessionCall.Answer {
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard call.wait(continuation) else {
          return continuation.resume(returning: .failure(.cancelled))
        }
        commands.post(.start(call))
      }
    } onCancel: {
      call.end(.failure(.cancelled))
      commands.post(.detach(call))
    }
    return try result.get()
  }
}
