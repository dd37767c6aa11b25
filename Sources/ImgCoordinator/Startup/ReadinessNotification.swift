import ImgModel
import ImgSystem
import ImgTransport

/// Tells the process that started this coordinator that it listens, or why it cannot: a command that
/// waits at a connection, or a person who reads standard error.
final class ReadinessNotification {
  /// `nil` when no process waits, and after the one message.
  private var connection: OwnedDescriptor?

  init(environment: [String: String]) {
    guard let descriptor = environment[ReadinessMessage.variable].flatMap({ CInt($0) }),
      descriptor > 2
    else { return }
    connection = OwnedDescriptor(adopting: descriptor)
  }

  func sendReady() {
    send(ReadinessMessage.ready)
  }

  func sendFailure(_ reason: String) {
    // Standard error may be closed and the waiting process gone. No other place would be read.
    try? FileIO.writeAll(2, "imgcoordinator: \(reason.printable)\n")
    send(reason)
  }

  private func send(_ message: String) {
    guard let connection = connection.take() else { return }
    _ = try? UnixSocket.send(connection.rawValue, ArraySlice(message.utf8))
  }
}
