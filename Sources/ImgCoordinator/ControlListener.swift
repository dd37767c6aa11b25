import ImgModel
import ImgSystem
import ImgWire

/// The control socket: accepts clients, and is created again when its file is removed. The end of a
/// login session, for one, removes the whole runtime directory of its user.
final class ControlListener {
  private let path: String
  private let clients: ClientTable
  private let poller: Poller
  private let log: Log
  private var listener: UnixListener
  /// When clients are accepted again after that failed; `nil` while they are.
  private var resumesAt: Instant?
  /// Without the file no client can connect. A check is one system call.
  private var check: IntervalTimer
  /// Why the file cannot be created again; `nil` while it is in its place.
  private var lastError: String?

  /// Connections taken in one round of the loop.
  private static let acceptMaximum = 64
  private static let pause = Duration.seconds(1)

  init(
    _ listener: consuming UnixListener, at path: String, clients: ClientTable, poller: Poller,
    log: Log
  ) throws(SystemError) {
    self.path = path
    self.clients = clients
    self.poller = poller
    self.log = log
    self.listener = listener
    check = IntervalTimer(every: .seconds(1), from: .now)
    try poller.register(self.listener.descriptor, .read, token: Token.listener.rawValue)
  }

  /// When ``doWhatIsDue(at:)`` has something to do.
  var deadline: Instant {
    resumesAt.map { min($0, check.deadline) } ?? check.deadline
  }

  func doWhatIsDue(at now: Instant) {
    if let resumesAt, resumesAt <= now { resume() }
    if check.fires(at: now) { restore() }
  }

  func acceptClients() {
    do throws(SystemError) {
      for _ in 0..<Self.acceptMaximum {
        guard let connection = try listener.accept() else { return }
        try clients.admit(connection)
      }
    } catch {
      // Mostly because no descriptor is free. The listener stays readable, so the loop ignores it
      // for a while.
      log.note("clients cannot be accepted for a second: \(error)")
      watch([])
      resumesAt = .now + Self.pause
    }
  }

  private func resume() {
    resumesAt = nil
    watch(.read)
  }

  private func watch(_ interest: Poller.Interest) {
    // The descriptor is registered and open: a failure to change its events would be a bug here.
    try? poller.update(listener.descriptor, interest, token: Token.listener.rawValue)
  }

  /// Creates the socket again, with its directory, when its file has gone. While another coordinator
  /// listens in its place, the next check tries again.
  private func restore() {
    guard !listener.isNamed else { return }
    do {
      let successor = try ControlSocket.listen(at: path)
      // Those that connected while the file was still there.
      acceptClients()
      try poller.register(successor.descriptor, .read, token: Token.listener.rawValue)
      poller.unregister(listener.descriptor)
      listener = successor
      resumesAt = nil
      lastError = nil
      log.note("the control socket \(path) had been removed; it is there again")
    } catch {
      let reason = String(describing: error)
      if lastError != reason {
        log.note("the control socket had been removed, and no client can connect: \(reason)")
      }
      lastError = reason
    }
  }
}

/// Opens the socket for clients.
enum ControlSocket {
  /// Listens, and replaces the socket of a coordinator that has died, not of one that lives. Does not
  /// wait.
  static func listen(at path: String) throws(StartError) -> UnixListener {
    if (try? UnixSocket.hasListener(path: path)) == true {
      throw StartError("\(ReadinessMessage.taken) answers at \(path)")
    }
    do throws(SystemError) {
      let directory = UnixSocket.directory(of: path)
      if directory != "/" { try Directory.createPrivate(directory) }
      try UnixSocket.removeFile(at: path)
      return try UnixListener(path: path)
    } catch {
      throw StartError("the control socket \(path) cannot be opened: \(error)")
    }
  }
}
