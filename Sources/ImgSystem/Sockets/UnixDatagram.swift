import CLinux

/// Sends datagrams to the socket of a service manager.
package enum UnixDatagram {
  /// Sends one datagram. Does not block.
  ///
  /// - Parameter address: an absolute path, or `@` and an abstract name, as in NOTIFY_SOCKET
  ///   (sd_notify(3)).
  /// - Throws: EINVAL for any other address, ENAMETOOLONG for one that is too long (unix(7)).
  package static func send(_ text: String, to address: String) throws(SystemError) {
    let socket = OwnedDescriptor(adopting: try systemCall("socket") { img_datagram_socket() })
    let bytes = Array(text.utf8)
    _ = try pathCall("send a datagram to", address) {
      unsafe bytes.withUnsafeBytes {
        unsafe img_send_datagram(socket.rawValue, address, $0.baseAddress, $0.count)
      }
    }
  }
}
