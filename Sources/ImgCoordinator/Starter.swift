import ImgSystem
import ImgTransport

/// Whoever started this coordinator and waits to hear that it listens, or why it cannot: a client
/// in the background, by way of a connection, or a person, by way of standard error.
final class Starter {
  /// `nil` once it has been told, which it is once.
  private var connection: OwnedDescriptor?

  init(environment: [String: String]) {
    guard let descriptor = environment[ReadinessMessage.variable].flatMap({ CInt($0) }),
      descriptor > 2
    else { return }
    connection = OwnedDescriptor(adopting: descriptor)
  }

  func isReady() {
    tell(ReadinessMessage.ready)
  }

  func fail(_ reason: String) {
    // Standard error may be closed, and the starter gone; there is nobody else to tell.
    try? FileIO.writeAll(2, Array("imgcoordinator: \(reason)\n".utf8))
    tell(reason)
  }

  private func tell(_ message: String) {
    guard let connection = connection.take() else { return }
    _ = try? UnixSocket.send(connection.rawValue, ArraySlice(message.utf8))
  }
}
