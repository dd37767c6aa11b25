import ImgTransport
import ImgWire

/// The coordinator as a program uses it: one request at a time, each call waits for its answer.
///
/// Calls throw ``ClientError``, and what the closures that they are given throw. Belongs to one
/// thread.
package final class Client {
  let connection: CoordinatorConnection
  let socketPath: String
  /// Where the coordinator says that its workers keep thumbnails. Only compared, never opened.
  let storeDirectory: String

  /// Connects, provided that the socket and its listener are safe, and greets.
  package init(socketPath: String) throws(ClientError) {
    connection = try CoordinatorConnection(socketPath: socketPath)
    guard let storeDirectory = connection.hello.storeDirectory else { throw .unexpectedReply }
    self.storeDirectory = storeDirectory
    self.socketPath = socketPath
  }

  /// The socket.
  var descriptor: CInt { connection.channel.descriptor }

  /// The coordinator's process.
  package var coordinatorProcessID: Int32 { connection.hello.processID }

  /// Makes sure that the coordinator keeps its thumbnails in the client's own store.
  ///
  /// - Throws: ``ClientError/otherStore(socketPath:theirs:ours:)`` when it does not.
  package func requireStore(in directory: String) throws(ClientError) {
    guard storeDirectory == directory else {
      throw .otherStore(socketPath: socketPath, theirs: storeDirectory, ours: directory)
    }
  }
}
