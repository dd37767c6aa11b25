import ImgSystem
import ImgTransport

/// Whoever started this coordinator and waits to hear that it listens, or why it cannot: a client
/// in the background, by way of a connection, or a person, by way of standard error.
struct Starter {
  private let descriptor: CInt?

  init(environment: [String: String]) {
    descriptor = environment[StartSignal.variable].flatMap { CInt($0) }.flatMap {
      $0 > 2 ? $0 : nil
    }
  }

  func isReady() {
    tell(StartSignal.ready)
  }

  func fail(_ reason: String) {
    // Standard error may be closed, and the starter gone; there is nobody else to tell.
    try? FileIO.writeAll(2, Array("imgcoordinator: \(reason)\n".utf8))
    tell(reason)
  }

  private func tell(_ message: String) {
    guard let descriptor else { return }
    let connection = OwnedDescriptor(adopting: descriptor)
    _ = try? UnixSocket.send(connection.rawValue, ArraySlice(message.utf8))
  }
}
