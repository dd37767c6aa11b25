import ImgSettings
import ImgSystem

/// The control socket's file, which others may remove while the coordinator runs: the end of a login
/// session removes the whole runtime directory of its user.
extension Coordinator {
  /// No client can connect in the meantime. A check is one system call.
  private static let socketCheckInterval = Duration.seconds(1)

  /// Creates the socket again, with its directory, when its file is gone. While another coordinator
  /// listens in its place, the next check tries again.
  func checkSocket(at now: ContinuousClock.Instant) {
    nextSocketCheck = now + Self.socketCheckInterval
    guard !listener.isNamed else { return }
    do {
      let successor = try ControlSocket.listen(at: settings.socketPath)
      // Those that connected while the file was still there.
      acceptClients()
      try poller.register(successor.descriptor, .read, token: Token.listener.rawValue)
      poller.unregister(listener.descriptor)
      listener = successor
      listeningResumes = nil
      socketError = nil
      log.note("the control socket \(settings.socketPath) had been removed; it is there again")
    } catch {
      let trouble = String(describing: error)
      if socketError != trouble {
        log.note("the control socket had been removed, and no client can connect: \(trouble)")
      }
      socketError = trouble
    }
  }
}
