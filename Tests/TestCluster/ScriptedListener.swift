import ImgSystem
import ImgTransport
package import ImgWire

/// A listener in a coordinator's place that answers one client as a test says.
package struct ScriptedListener: ~Copyable {
  private let listener: UnixListener

  package init(socketPath: String) throws {
    listener = try UnixListener(path: socketPath)
  }

  /// Answers the first client that connects until one end closes.
  ///
  /// - Parameters:
  ///   - hello: the answer to the client's hello; `nil` closes the connection.
  ///   - replies: to a request; the connection closes after them where `nil` ends them.
  /// - Returns: the requests after the hello.
  package borrowing func serve(
    hello: CoordinatorReply?, _ replies: (ClientMessage) -> [CoordinatorReply?]
  ) throws -> [ClientMessage] {
    var requests: [ClientMessage] = []
    guard
      try UnixSocket.waitReadable(listener.descriptor, until: .now + ProgramRun.patience),
      let connection = try listener.accept()
    else { return requests }
    let channel = try Channel<ClientMessage, CoordinatorReply>(connection.takeDescriptor())
    while let request = try? channel.next(until: .now + ProgramRun.patience) {
      var answers = [hello]
      if case .hello = request {
      } else {
        requests.append(request)
        answers = replies(request)
      }
      for answer in answers {
        guard let answer, (try? channel.send(answer)) != nil else { return requests }
      }
    }
    return requests
  }
}
