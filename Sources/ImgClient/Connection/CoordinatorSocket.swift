import Glibc
import ImgSystem
import ImgTransport

/// The control socket as a client finds it. The listener is sent URLs, headers and pictures, so the
/// client checks the place and the listener before it sends a byte.
enum CoordinatorSocket {
  /// Connects to a listener of root, of this process's user, or of the user that owns the socket's
  /// directory.
  ///
  /// The directory belongs to root or to this process's user, or root alone decided which user owns
  /// it, as for the directory of a service in /run. Other users cannot write there.
  ///
  /// - Throws: ``ClientError/unreachable(socketPath:reason:)`` when no process listens,
  ///   ``ClientError/untrusted(socketPath:reason:)`` when the place or the listener is not safe,
  ///   ``ClientError/denied(socketPath:ownerID:reason:)`` when this user may not connect,
  ///   ``ClientError/connection(_:)`` when this process can open no socket.
  static func connect(path: String) throws(ClientError) -> OwnedDescriptor {
    let owner = try ownerOfDirectory(of: path)
    do throws(SystemError) {
      let socket = try UnixSocket.connect(path: path)
      let listener = try UnixSocket.credentials(of: socket.rawValue)
      if [0, ThisProcess.userID, owner].contains(listener.userID) { return socket }
      throw SystemError(
        operation: "trust process \(listener.processID) of user \(listener.userID), which listens",
        code: EPERM)
    } catch {
      throw Self.error(error, at: path)
    }
  }

  private static func ownerOfDirectory(of path: String) throws(ClientError) -> UInt32 {
    do throws(SystemError) {
      return try Directory.requireExclusive(UnixSocket.directory(of: path), mayBeForeign: true)
    } catch {
      throw Self.error(error, at: path)
    }
  }

  /// Neither lstat(2) nor connect(2) to a path fails with EPERM on its own account (unix(7)).
  private static func error(_ error: SystemError, at path: String) -> ClientError {
    let reason = error.description
    switch error.code {
    // This process can open nothing. The coordinator may run.
    case EMFILE, ENFILE: return .connection(.system(error))
    case EPERM: return .untrusted(socketPath: path, reason: reason)
    case EACCES: return .denied(socketPath: path, ownerID: owner(nearest: path), reason: reason)
    default: return .unreachable(socketPath: path, reason: reason)
    }
  }

  /// The owner of a path or, where that cannot be seen, of the nearest directory above that can.
  private static func owner(nearest path: String) -> UInt32 {
    var names = path.split(separator: "/")
    while !names.isEmpty {
      if let status = try? FileStatus(at: "/" + names.joined(separator: "/")) {
        return status.userID
      }
      names.removeLast()
    }
    return 0
  }
}
