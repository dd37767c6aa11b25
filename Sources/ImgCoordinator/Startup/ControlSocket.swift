import ImgSystem
import ImgTransport

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
