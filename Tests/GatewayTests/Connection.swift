import ImgHTTP
import TestHTTP

/// A connection for an array, which holds no noncopyable values.
final class Connection {
  var socket: RawClient

  init(to address: HTTPServer.Address) throws {
    socket = try RawClient(to: address)
  }
}
